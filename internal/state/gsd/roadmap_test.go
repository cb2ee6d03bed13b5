package gsd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const milestoned = `# Roadmap: Shop

## Milestones

- ✅ **v1.0 MVP** - Phases 1-2 (shipped 2026-01-02)
- 🚧 **v1.1 Payments** - Phases 3-5 (in progress)
- 📋 **v2.0 Abroad** - Phases 6-7 (planned)

## Phases

<details>
<summary>✅ v1.0 MVP (Phases 1-2) - SHIPPED 2026-01-02</summary>

### Phase 1: Base
**Depends on**: Nothing (first phase)

### Phase 2: Cart
**Depends on**: Phase 1

</details>

### 🚧 v1.1 Payments (In Progress)

- [x] **Phase 3: Ledger** - what it does
- [ ] **Phase 3.1: Fix (INSERTED)**
- [ ] **Phase 4: ~~Stripe~~**
- [ ] ~~**Phase 4.5: Gone**~~

#### Phase 03: Ledger
**Goal**: books
**Depends on**: Phase 2

#### Phase 3.1: Fix (INSERTED)
**Depends on:** Phase 3

#### Phase 4: Stripe
Depends on: Phases 3, 3.1 and 2 (the cart, v1.0)

` + "```" + `
### Phase 44: an example
` + "```" + `
<!--
### Phase 45: hidden
-->

### 📋 v2.0 Abroad (Planned)

#### Phase 6: Currencies
**Depends on**: Phases 3-4

### Phase 999.1: Some day

## Progress

| Phase | Milestone | Plans Complete | Status | Completed |
|-------|-----------|----------------|--------|-----------|
| 3. Ledger | v1.1 | 3/3 | Complete | 2026-02-03 |
| 7. Taxes | v2.0 | 0/2 | Deferred | - |

## Phase Details

### Phase 7: Taxes
**Depends on**: the law
### Phase 10: Last
`

// outline returns a roadmap with one line per phase.
func outline(r *Roadmap) []string {
	var lines []string
	for _, p := range r.Phases {
		marks := ""
		if p.Done {
			marks += " done"
		}
		if p.Deferred {
			marks += " deferred"
		}
		if p.Unread != "" {
			marks += fmt.Sprintf(" unread %q", p.Unread)
		}
		lines = append(lines, fmt.Sprintf("%s %s [%s] <- %s%s", p.ID, p.Name, p.Milestone, strings.Join(p.Depends, ","), marks))
	}
	return lines
}

// milestones returns a roadmap's milestones, one per line.
func milestones(r *Roadmap) []string {
	lines := []string{}
	for _, m := range r.Milestones {
		line := m.Version + " " + m.Name
		if m.Shipped {
			line += " shipped"
		}
		if m.Active {
			line += " active"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRoadmap(t *testing.T) {
	want := []string{
		"1 Base [v1.0] <-  done",
		"2 Cart [v1.0] <- 1 done",
		"3 Ledger [v1.1] <- 2 done",
		"3.1 Fix [v1.1] <- 3",
		"4 Stripe [v1.1] <- 3,3.1,2",
		"6 Currencies [v2.0] <- 3,3.1,4",
		`7 Taxes [v2.0] <- 6 deferred unread "the law"`,
		"10 Last [] <- 7",
	}
	for _, eol := range []string{"\n", "\r\n"} {
		r := parseRoadmap(strings.ReplaceAll(milestoned, "\n", eol))
		if d := cmp.Diff(want, outline(r)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"v1.0 MVP shipped", "v1.1 Payments active", "v2.0 Abroad"}, milestones(r)); d != "" {
			t.Error(d)
		}
	}
}

func TestReadDepends(t *testing.T) {
	tests := map[string]string{
		"Phase 1":                          "1",
		"Phase 01, Phase 02.1":             "1 2.1",
		"Phases 1-3 and 5":                 "1..3 5",
		"Phase 1 through Phase 3":          "1..3",
		"Phase 2 (needs 3 tables) + 4":     "2 4",
		"1, 2":                             "1 2",
		"Nothing (first phase)":            "",
		"None":                             "",
		"—":                                "",
		"No dependencies":                  "",
		"**Phase 4.10**":                   "4.10",
		"[Phase 2](#phase-2), Phase 3":     "2 3",
		"Phase 2 is done, 30 days after":   "2",
		"all of Phase 2's API, in Phase 7": "2 7",
		"APP-03":                           "3",
		"All previous phases":              "*",
	}
	for text, want := range tests {
		n := readDepends(text)
		if got := strings.Join(n.keys, " "); got != want || n.unread != "" {
			t.Errorf("%q: %q unread %q, want %q", text, got, n.unread, want)
		}
	}
}

func TestPhaseKey(t *testing.T) {
	for id, want := range map[string]string{"05": "5", "5": "5", "APP-05": "5", "4.10": "4.10", "4.1": "4.1", "012a": "12A", "B07": "B7", "0": "0",
		"": "", "x": "", "1..2": "", "1.": "", "1_2": "", "../1": ""} {
		if got := PhaseKey(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

// For any roadmap, ids are safe file names, and no phase occurs twice or depends on itself.
func FuzzRoadmap(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		for _, p := range parseRoadmap(text).Phases {
			if seen[p.Key] || !validName(p.ID) || PhaseKey(p.ID) != p.Key {
				t.Errorf("%q twice, or no id", p.ID)
			}
			seen[p.Key] = true
			for _, d := range p.Depends {
				if d == p.Key || d == "" {
					t.Errorf("%s depends on %q", p.ID, d)
				}
			}
		}
	})
}

// The order of the sections and of the checklist changes nothing.
func TestRoadmapOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf("### Phase %d: P%d\n**Depends on**: Phase %d\n\n", i+1, i+1, i))
		}
		want := outline(parseRoadmap(strings.Join(parts, "")))
		got := outline(parseRoadmap("# R\n" + strings.Join(rapid.Permutation(parts).Draw(t, "parts"), "")))
		if d := cmp.Diff(want, got); d != "" || len(want) != n {
			t.Fatal(d)
		}
	})
}
