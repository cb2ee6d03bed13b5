package gsd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"greenlight/internal/base/durable"
)

// stateTemplate is the STATE.md of a project without a roadmap, in GSD's sections. Its argument
// is the day. The phase is what GSD's milestone-switch writes, and what its own validate can't
// compare with anything (S002) until the first phase has a directory.
const stateTemplate = `---
gsd_state_version: '1.0'
status: planning
progress:
  total_phases: 0
  completed_phases: 0
  total_plans: 0
  completed_plans: 0
  percent: 0
---

# Project State

## Project Reference

See: .planning/PROJECT.md

**Core value:** not written yet
**Current focus:** Defining requirements

## Current Position

Phase: Not started (defining requirements)
Plan: —
Status: Defining requirements
Last activity: %[1]s — Project begun

Progress: [░░░░░░░░░░] 0%%

## Performance Metrics

**Velocity:**

- Total plans completed: 0
- Average duration: 0 min
- Total execution time: 0.0 hours

**By Phase:**

| Phase | Plans | Total | Avg/Plan |
|-------|-------|-------|----------|
| - | - | - | - |

**Recent Trend:**

- Last 5 plans: -
- Trend: Stable

## Accumulated Context

### Decisions

None yet.

### Pending Todos

None yet.

### Blockers/Concerns

None yet.

## Session Continuity

Last session: %[1]s
Stopped at: Project begun
Resume file: None
`

type initDoc struct {
	Created bool   `json:"created"`
	File    string `json:"file"` // relative to the project's root
}

// Init creates an empty project: .planning with a STATE.md whose requirements are to be defined.
func (p *Project) Init(ctx context.Context) (r Result, err error) {
	s := p.Store
	if err := durable.MkdirAll(s.Planning, 0o755); err != nil {
		return Result{}, err
	}
	doc := initDoc{true, placeOf(s).rel(s.Path())}
	err = locked(ctx, s, func() error {
		if _, err := os.Stat(s.Path()); err == nil {
			r = failed("%s already exists: run gl gsd line", doc.File)
			return nil
		}
		r = result(doc, doc.File)
		return durable.Replace(s.Path(), nil, fmt.Appendf(nil, stateTemplate, localDate(s.Now())))
	})
	if errors.Is(err, durable.ErrChanged) {
		return failed("%s already exists: run gl gsd line", doc.File), nil
	}
	return r, err
}
