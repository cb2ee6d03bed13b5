package gsd

import (
	"context"
	"slices"
	"strings"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/state/gsd"
)

// verbOrder lists the verbs in GSD's order. set-lifecycle, which GSD lacks, comes last.
const verbOrder = "load complete-phase json get update patch begin-phase advance-plan record-metric update-progress add-decision " +
	"add-blocker resolve-blocker record-session signal-waiting signal-resume planned-phase validate sync prune rebuild " +
	"milestone-switch add-roadmap-evolution set-lifecycle"

// verbs returns the verbs in that order.
func verbs(app *cmdutil.App) []verb {
	verbs := slices.Concat(readingVerbs(), movingVerbs(), notingVerbs(), signalingVerbs(),
		keepingVerbs(app))
	order := strings.Fields(verbOrder)
	slices.SortFunc(verbs, func(a, b verb) int {
		return slices.Index(order, a.name) - slices.Index(order, b.name)
	})
	return verbs
}

func readingVerbs() []verb {
	type c = context.Context
	return []verb{
		{name: "load", short: "Print the configuration, the file, and what exists",
			run: func(_ c, s *gsd.Store, _ verbArgs) (gsd.Result, error) { return s.Load() }},
		{name: "json", short: "Print the frontmatter as a write would make it now",
			run: func(_ c, s *gsd.Store, _ verbArgs) (gsd.Result, error) { return s.JSON() }},
		{name: "get", example: `"Current Position" --raw`,
			args: "[FIELD|SECTION]", short: "Print the file, or a field or section of it",
			run: func(_ c, s *gsd.Store, a verbArgs) (gsd.Result, error) { return s.Get(a.at(0)) }},
		{name: "update", example: `Status "Ready to plan"`,
			args: "FIELD VALUE", short: "Set a field of the body", run: update},
		{name: "patch", example: `--Status "Ready to plan" --Plan "0 of 3"`,
			args: "--FIELD VALUE...", short: "Set several fields in one write",
			flags: []string{"context", "system"}, // here, names of fields
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				fields, err := patchFields(a)
				if err != nil {
					return gsd.Result{}, err
				}
				return s.Patch(ctx, fields)
			}},
		{name: "validate", short: "Compare STATE.md with the disk",
			run: func(_ c, s *gsd.Store, _ verbArgs) (gsd.Result, error) { return s.Validate() }},
	}
}

func update(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	if len(a) < 2 {
		return gsd.Result{}, &gsd.UsageError{Message: "field and value required for state update"}
	}
	return s.Update(ctx, a[0], a[1])
}

func movingVerbs() []verb {
	type c = context.Context
	return []verb{
		{name: "begin-phase", example: `--phase 4 --name Observability --plans 3`,
			args: "--phase N [--name TEXT] [--plans COUNT]", short: "Record that a phase has begun",
			flags: []string{"phase", "name", "plans"}, run: beginPhase},
		{name: "advance-plan", short: "Advance to the next plan of the phase",
			run: func(ctx c, s *gsd.Store, _ verbArgs) (gsd.Result, error) {
				return s.AdvancePlan(ctx)
			}},
		{name: "planned-phase", example: `--phase 4 --plans 3`,
			args:  "--phase N [--name TEXT] [--plans COUNT]",
			short: "Record that a phase's plans are written",
			flags: []string{"phase", "name", "plans"}, run: plannedPhase},
		{name: "complete-phase", example: `--phase 4`,
			args: "[--phase N]", short: "Record that a phase is complete", flags: []string{"phase"},
			run: completePhase},
		{name: "milestone-switch", example: `--milestone v2.0 --name "Code Quality"`,
			args: "--milestone vX.Y [--name TEXT]", short: "Begin a new milestone",
			flags: []string{"milestone", "name"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.MilestoneSwitch(ctx, a.value("milestone"), a.value("name"))
			}},
		{name: "set-lifecycle", example: `--next-action execute-phase --next-phases 4.5,4.6`,
			args:  "--active-phase N | --next-action NAME --next-phases N,N | --clear | --paused TEXT | --resumed",
			short: "Set what is happening now, for the status line",
			flags: []string{"active-phase", "next-action", "next-phases", "clear",
				"paused", "resumed"}, run: setLifecycle},
		{name: "update-progress", short: "Recount plans and phases and redraw the bar",
			run: func(ctx c, s *gsd.Store, _ verbArgs) (gsd.Result, error) {
				return s.UpdateProgress(ctx)
			}},
		{name: "sync", example: `--verify`,
			args: "[--verify]", short: "Update STATE.md from the files on disk",
			flags: []string{"verify"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.Sync(ctx, a.has("verify"))
			}},
	}
}

func beginPhase(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	plans, err := a.number("plans")
	if err != nil {
		return gsd.Result{}, err
	}
	b := gsd.BeginPhase{Phase: a.value("phase"), Name: a.value("name")}
	if plans != nil {
		b.Plans = *plans
	}
	return s.BeginPhase(ctx, b)
}

func plannedPhase(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	plans, err := a.number("plans")
	if err != nil {
		return gsd.Result{}, err
	}
	return s.PlannedPhase(ctx,
		gsd.PlannedPhase{Phase: a.value("phase"), Name: a.value("name"), Plans: plans})
}

func completePhase(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	phase := a.value("phase")
	if phase == "" && !strings.HasPrefix(a.at(0), "--") {
		phase = a.at(0)
	}
	return s.CompletePhase(ctx, phase)
}

func setLifecycle(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	l := gsd.Lifecycle{ActivePhase: a.value("active-phase"), NextAction: a.value("next-action"),
		Clear: a.has("clear"), Paused: a.value("paused"), Resumed: a.has("resumed")}
	for _, id := range strings.Split(a.value("next-phases"), ",") {
		if id = strings.TrimSpace(id); id != "" {
			l.NextPhases = append(l.NextPhases, id)
		}
	}
	return s.SetLifecycle(ctx, l)
}

func notingVerbs() []verb {
	type c = context.Context
	return []verb{
		{name: "record-metric", example: `--phase 4 --plan 2 --duration 12min --tasks 3 --files 7`,
			args:  "--phase N --plan N --duration TEXT [--tasks COUNT] [--files COUNT]",
			short: "Record what a plan cost",
			flags: []string{"phase", "plan", "duration", "tasks", "files"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.RecordMetric(ctx, gsd.Metric{Phase: a.value("phase"),
					Plan: a.value("plan"), Duration: a.value("duration"), Tasks: a.value("tasks"),
					Files: a.value("files")})
			}},
		{name: "add-decision",
			example: `--phase 4 --summary "Tokens are hashed" --rationale "never stored"`, args: "--summary TEXT|--summary-file PATH [--phase N] [--rationale TEXT|--rationale-file PATH]",
			short: "Add a decision",
			flags: []string{"summary", "summary-file", "phase", "rationale", "rationale-file"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.AddDecision(ctx,
					gsd.Decision{Phase: a.value("phase"), Summary: a.value("summary"),
						SummaryFile: a.value("summary-file"), Rationale: a.value("rationale"),
						RationaleFile: a.value("rationale-file")})
			}},
		{name: "add-blocker", example: `--phase 4 --text "API key for staging"`,
			args: "--text TEXT|--text-file PATH [--phase N]", short: "Add a blocker",
			flags: []string{"text", "text-file", "phase"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.AddBlocker(ctx, gsd.Blocker{Phase: a.value("phase"), Text: a.value("text"),
					TextFile: a.value("text-file")})
			}},
		{name: "resolve-blocker", example: `--text "API key"`,
			args: "--text TEXT [--all]", short: "Remove the blocker that contains the text",
			flags: []string{"text", "all"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.ResolveBlocker(ctx, a.value("text"), a.has("all"))
			}},
		{name: "record-session", example: `--stopped-at "Plan 2 done" --resume-file None`,
			args:  "[--stopped-at TEXT] [--resume-file PATH]",
			short: "Record where the work stopped", flags: []string{"stopped-at", "resume-file"},
			run: recordSession},
	}
}

func signalingVerbs() []verb {
	type c = context.Context
	return []verb{
		{name: "signal-waiting",
			example: `--question "Which database?" --options "Postgres|SQLite" --phase 4`,
			args:    "[--type TEXT] [--question TEXT] [--options A|B] [--phase N]",
			short:   "Write WAITING.json: a person is needed",
			flags:   []string{"type", "question", "options", "phase"},
			run: func(_ c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.SignalWaiting(gsd.Signal{Type: a.value("type"),
					Question: a.value("question"), Options: a.value("options"),
					Phase: a.value("phase")})
			}},
		{name: "signal-resume", short: "Remove WAITING.json",
			run: func(_ c, s *gsd.Store, _ verbArgs) (gsd.Result, error) {
				return s.SignalResume()
			}},
	}
}

func keepingVerbs(app *cmdutil.App) []verb {
	type c = context.Context
	return []verb{
		{name: "prune", example: `--keep-recent 3 --dry-run`,
			args:  "[--keep-recent COUNT] [--dry-run]",
			short: "Move old entries to STATE-ARCHIVE.md",
			flags: []string{"keep-recent", "dry-run"}, run: prune},
		{name: "rebuild", example: `--dry-run --verbose`,
			args:  "[--dry-run] [--verbose]",
			short: "Repair the body's structure and log the changes",
			flags: []string{"dry-run", "verbose"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				tell := func(line string) { app.IO.Message("%s", line) }
				if !a.has("verbose") {
					tell = nil
				}
				return s.Rebuild(ctx, a.has("dry-run"), tell)
			}},
		{name: "add-roadmap-evolution",
			example: `--phase 4.5 --action inserted --after 4 --note "Load tests first" --urgent`, args: "--note TEXT|--note-file PATH [--phase N] [--action TEXT] [--after N] [--urgent]",
			short: "Record a change of the roadmap",
			flags: []string{"note", "note-file", "phase", "action", "after", "urgent"},
			run: func(ctx c, s *gsd.Store, a verbArgs) (gsd.Result, error) {
				return s.AddRoadmapEvolution(ctx,
					gsd.Evolution{Phase: a.value("phase"), Action: a.value("action"),
						After: a.value("after"), Note: a.value("note"),
						NoteFile: a.value("note-file"), Urgent: a.has("urgent")})
			}},
	}
}

func recordSession(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	session := gsd.Session{StoppedAt: a.value("stopped-at")}
	if file, ok := a.given("resume-file"); ok {
		session.ResumeFile = &file
	}
	return s.RecordSession(ctx, session)
}

func prune(ctx context.Context, s *gsd.Store, a verbArgs) (gsd.Result, error) {
	keep, err := a.number("keep-recent")
	if err != nil {
		return gsd.Result{}, err
	}
	if keep == nil || *keep == 0 {
		three := 3
		keep = &three
	}
	return s.Prune(ctx, *keep, a.has("dry-run"))
}
