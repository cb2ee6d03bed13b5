package gsd

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shopAgain is the roadmap of a second milestone, whose phases are numbered from 1 again.
const shopAgain = `# Roadmap: Shop

<details>
<summary>✅ v1.0 Books - SHIPPED 2026-01-02</summary>

- [x] Phase 1: Ledger
- [x] Phase 2: Export

</details>

## v1.1 Pay

- [ ] **Phase 1: Cards** - Pay
- [ ] **Phase 2: Refunds** - Pay back

### Phase 1: Cards
**Goal**: Cards are charged
**Plans**: TBD

### Phase 2: Refunds
**Goal**: Money goes back
**Plans**: TBD

## Progress

| Phase | Plans Complete | Status | Completed |
|-------|----------------|--------|-----------|
| 1. Cards | 0/TBD | Not started | - |
| 2. Refunds | 0/TBD | Not started | - |
`

// GSD's own tools read what gl writes as they read their own: after each verb, from a phase that
// is carried out to one of the next milestone, both come to the same facts, except for the flaws
// that known names. It holds for phase 0, inserted phases, numbers that begin anew, and
// workstreams. GREENLIGHT_GSD_DIR names the directories, separated by colons, in which npm has put
// @opengsd/gsd-core.
func TestAgreesWithGSD(t *testing.T) {
	dirs := os.Getenv("GREENLIGHT_GSD_DIR")
	if dirs == "" {
		t.Skip("GREENLIGHT_GSD_DIR isn't set: make test-gsd")
	}
	for _, dir := range filepath.SplitList(dirs) {
		for _, test := range []struct{ name, first, workstream string }{
			{"phase 1", "1", ""}, {"phase 0", "0", ""}, {"phase 1.1", "1.1", ""}, {"workstream", "1", "web"},
		} {
			t.Run(filepath.Base(dir)+" "+test.name, func(t *testing.T) {
				p := sideBySide{long: test.name == "phase 1", tool: toolIn(dir),
					theirs: numbered(t, test.first, test.workstream), ours: numbered(t, test.first, test.workstream),
					workstream: test.workstream, home: t.TempDir(),
					countsZero: test.first == "0" && filepath.Base(dir) == "1.14.0"}
				other := p.ours.read(t, "../api/STATE.md")
				p.firstMilestone(t, test.first)
				p.nextMilestone(t)
				if p.ours.read(t, "../api/STATE.md") != other {
					t.Error("the other workstream's STATE.md has changed")
				}
			})
		}
	}
}

// GSD's own tools have the same to say of a project that gl has begun as of one of their own.
func TestAgreesWithGSDOnABeginning(t *testing.T) {
	dirs := os.Getenv("GREENLIGHT_GSD_DIR")
	if dirs == "" {
		t.Skip("GREENLIGHT_GSD_DIR isn't set: make test-gsd")
	}
	for _, dir := range filepath.SplitList(dirs) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p := sideBySide{tool: toolIn(dir), home: t.TempDir(),
				theirs: planning{"PROJECT.md": "# Shop\n"}.store(t), ours: planning{"PROJECT.md": "# Shop\n"}.store(t)}
			run := func(s *Store, args ...string) []byte {
				out, err := p.gsd(s, args...)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			run(p.theirs, "state", "milestone-switch", "--milestone", "v1.0", "--name", "Shop")
			r, err := of(p.ours).Init(ctx)
			done(t, r, err)
			theirs, ours := facts(t, run(p.theirs, "state", "validate")), facts(t, run(p.ours, "state", "validate"))
			if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) == 0 {
				t.Errorf("state validate (-GSD's, +gl's):\n%s", diff)
			}
		})
	}
}

// toolIn returns GSD's program in a directory into which npm has put it.
func toolIn(dir string) string {
	return filepath.Join(dir, "node_modules/@opengsd/gsd-core/gsd-core/bin/gsd-tools.cjs")
}

// A sideBySide is two equal projects: GSD's tool carries out each verb in one, gl in the other.
type sideBySide struct {
	tool             string
	theirs, ours     *Store
	workstream, home string
	long             bool // with the verbs that don't depend on a phase's number
	countsZero       bool // GSD 1.14 in a project with phase 0: see flaws
}

// A difference is what is said of a fact in the two projects; "" for nothing.
type difference struct{ Theirs, Ours string }

// flaws returns what GSD's tools leave wrong in STATE.md after a verb, and gl doesn't, and what of
// that they print again.
//
//   - The name of the last phase is lost when that phase is complete.
//   - After a milestone, the status isn't one of GSD's own, and "Stopped at" is out of date.
//   - Phase 0 isn't part of the total, but 1.14's phase complete counts each row of the progress
//     table that says Complete (deriveProgressFromRoadmap), and its milestone complete keeps that.
func (p sideBySide) flaws(args []string) (file, printed map[string]difference) {
	file, printed = map[string]difference{}, map[string]difference{}
	switch verb := strings.Join(args[:2], " "); {
	case verb == "phase complete" && args[2] == "2":
		file["current_phase_name"] = difference{"", "Export"}
		maps.Copy(printed, file)
	case verb == "milestone complete":
		file["stopped_at"] = staleSession()
		file["status"] = difference{"Awaiting next milestone", "completed"}
		maps.Copy(printed, file)
	}
	if !p.countsZero {
		return file, printed
	}
	switch strings.Join(args[:min(3, len(args))], " ") {
	case "phase complete 0":
		file["progress.completed_phases"], file["progress.percent"] = difference{"1", "0"}, difference{"100", "0"}
	case "phase complete 2":
		file["progress.completed_phases"] = difference{"2", "1"}
	case "milestone complete v1.0":
		file["progress.completed_phases"] = difference{"2", "1"}
		printed["progress.completed_phases"] = difference{"2", "1"}
	}
	return file, printed
}

// staleSession is what GSD's milestone complete leaves in "Stopped at", until another verb sets it.
func staleSession() difference {
	return difference{"Phase 2 complete — all phases complete", "Milestone v1.0 completed and archived"}
}

func (p sideBySide) getenv(name string) string {
	if name == "GSD_WORKSTREAM" {
		return p.workstream
	}
	return ""
}

// gsd runs GSD's tool in the project of s.
func (p sideBySide) gsd(s *Store, args ...string) ([]byte, error) {
	cmd := exec.Command("node", append([]string{p.tool}, args...)...)
	cmd.Dir, cmd.Env = s.Root, append(os.Environ(), "HOME="+p.home, "GSD_WORKSTREAM="+p.workstream)
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%q: %w\n%s", args, err, out)
	}
	return out, err
}

// both carries out a verb in both projects and compares what GSD's tool and gl then read of them.
func (p sideBySide) both(t *testing.T, f func(*Store) (Result, error), args ...string) {
	t.Helper()
	r, err := f(p.ours)
	done(t, r, err)
	if _, err := p.gsd(p.theirs, args...); err != nil {
		t.Fatal(err)
	}
	reads := [][]string{{"state", "json"}, {"roadmap", "analyze"}, {"progress", "json"}}
	out := make([][2][]byte, len(reads))
	errs := make([][2]error, len(reads))
	var wg sync.WaitGroup
	for i, read := range reads {
		for j, s := range []*Store{p.theirs, p.ours} {
			wg.Go(func() { out[i][j], errs[i][j] = p.gsd(s, read...) })
		}
	}
	wg.Wait()
	file, printed := p.flaws(args)
	said := differences(front(t, p.theirs), front(t, p.ours))
	maps.DeleteFunc(said, func(key string, d difference) bool {
		// only at the end of a phase do both recount, and GSD has no percent if no heading of the
		// roadmap names the milestone
		return strings.HasPrefix(key, "progress.") && args[1] != "complete" || key == "progress.percent" && d.Theirs == ""
	})
	forgetStale(said, file)
	if diff := cmp.Diff(file, said); diff != "" {
		t.Errorf("after %q, STATE.md differs (-known, +now):\n%s", args, diff)
	}
	for i, read := range reads {
		if errs[i][0] != nil || errs[i][1] != nil {
			t.Fatal(errs[i])
		}
		known := map[string]difference{}
		if i == 0 { // the others don't print what STATE.md says
			known = printed
		}
		said := differences(facts(t, out[i][0]), facts(t, out[i][1]))
		forgetStale(said, known)
		if diff := cmp.Diff(known, said); diff != "" {
			t.Errorf("after %q, %q differs (-known, +now):\n%s", args, read, diff)
		}
	}
	// and the other way: gl reads theirs as its own
	if diff := cmp.Diff(p.read(t, p.theirs), p.read(t, p.ours)); diff != "" {
		t.Errorf("after %q, gl reads (-GSD's, +gl's):\n%s", args, diff)
	}
}

// forgetStale removes a difference that an earlier verb has left.
func forgetStale(said, known map[string]difference) {
	if _, ok := known["stopped_at"]; !ok && said["stopped_at"] == staleSession() {
		delete(said, "stopped_at")
	}
}

// read returns what gl reads of a project.
func (p sideBySide) read(t *testing.T, s *Store) []string {
	t.Helper()
	tr := Open(s.Root)
	tr.getenv = p.getenv
	return shown(t, tr)
}

// write adds files below .planning, or the workstream, to both projects.
func (p sideBySide) write(t *testing.T, files map[string]string) {
	t.Helper()
	for _, s := range []*Store{p.theirs, p.ours} {
		write(t, s.Planning, files)
	}
}

// verified adds a phase's passed report to both projects.
func (p sideBySide) verified(t *testing.T, dir string) {
	t.Helper()
	number, _, _ := strings.Cut(dir, "-")
	p.write(t, map[string]string{"phases/" + dir + "/" + number + "-VERIFICATION.md": "---\nstatus: passed\n---\n"})
	verifyNow(t, p.theirs, number)
	verifyNow(t, p.ours, number)
}

// firstMilestone completes the phase that is carried out, carries out phase 2, and ends the
// milestone.
func (p sideBySide) firstMilestone(t *testing.T, first string) {
	p.both(t, func(s *Store) (Result, error) { return of(s).RoadmapProgress(ctx, first) }, "roadmap", "update-plan-progress", first)
	p.both(t, func(s *Store) (Result, error) { return of(s).FinishPhase(ctx, first) }, "phase", "complete", first)
	if p.long {
		p.both(t, func(s *Store) (Result, error) { return of(s).AnnotateRoadmap(ctx, "2") }, "roadmap", "annotate-dependencies", "2")
		p.both(t, func(s *Store) (Result, error) { return of(s).MarkRequirements(ctx, []string{"FILE-01"}) }, "requirements", "mark-complete", "FILE-01")
	}
	p.carryOut(t, "2", "Export", "02-export", 3)
	p.both(t, func(s *Store) (Result, error) {
		return of(s).CompleteMilestone(ctx, MilestoneEnd{Version: "v1.0", Name: "Books", Confirm: true})
	}, "milestone", "complete", "v1.0", "--name", "Books", "--confirm")
}

// nextMilestone begins a milestone whose phases are numbered from 1 again, and carries out the
// first of them.
func (p sideBySide) nextMilestone(t *testing.T) {
	p.both(t, func(s *Store) (Result, error) { return s.MilestoneSwitch(ctx, "v1.1", "Pay") },
		"state", "milestone-switch", "--milestone", "v1.1", "--name", "Pay")
	files := map[string]string{"ROADMAP.md": shopAgain}
	for plan := 1; plan <= 2; plan++ {
		files[fmt.Sprintf("phases/01-cards/01-%02d-PLAN.md", plan)] = fmt.Sprintf("---\nphase: 01-cards\nplan: %02d\nwave: 1\n---\n", plan)
	}
	p.write(t, files)
	p.both(t, func(s *Store) (Result, error) {
		return s.Patch(ctx, []Field{{"Phase", "1 of 2 (Cards)"}, {"Plan", "Not started"}, {"Status", "Ready to plan"}})
	}, "state", "patch", "--Phase", "1 of 2 (Cards)", "--Plan", "Not started", "--Status", "Ready to plan")
	two := 2
	p.both(t, func(s *Store) (Result, error) {
		return s.PlannedPhase(ctx, PlannedPhase{Phase: "1", Name: "Cards", Plans: &two})
	}, "state", "planned-phase", "--phase", "1", "--name", "Cards", "--plans", "2")
	p.carryOut(t, "1", "Cards", "01-cards", 2)
}

// carryOut begins a phase, carries out its plans as execute-phase does, and completes it.
func (p sideBySide) carryOut(t *testing.T, id, name, dir string, plans int) {
	p.both(t, func(s *Store) (Result, error) {
		return s.BeginPhase(ctx, BeginPhase{Phase: id, Name: name, Plans: plans})
	}, "state", "begin-phase", "--phase", id, "--name", name, "--plans", fmt.Sprint(plans))
	for plan := 1; plan <= plans; plan++ {
		p.write(t, map[string]string{fmt.Sprintf("phases/%s/%s-%02d-SUMMARY.md", dir, dir[:2], plan): fmt.Sprintf("---\none-liner: Did %d\n---\n", plan)})
		if plan < plans {
			p.both(t, func(s *Store) (Result, error) { return s.AdvancePlan(ctx) }, "state", "advance-plan")
		}
	}
	p.both(t, func(s *Store) (Result, error) { return of(s).RoadmapProgress(ctx, id) }, "roadmap", "update-plan-progress", id)
	if p.long {
		p.record(t, id)
	}
	p.verified(t, dir)
	p.both(t, func(s *Store) (Result, error) { return of(s).FinishPhase(ctx, id) }, "phase", "complete", id)
}

// record records what a phase's plans have led to.
func (p sideBySide) record(t *testing.T, id string) {
	p.both(t, func(s *Store) (Result, error) {
		return s.RecordMetric(ctx, Metric{Phase: id, Plan: "1", Duration: "2min", Tasks: "1", Files: "1"})
	}, "state", "record-metric", "--phase", id, "--plan", "1", "--duration", "2min", "--tasks", "1", "--files", "1")
	p.both(t, func(s *Store) (Result, error) {
		return s.AddDecision(ctx, Decision{Phase: id, Summary: "Cents, not floats"})
	}, "state", "add-decision", "--phase", id, "--summary", "Cents, not floats")
	p.both(t, func(s *Store) (Result, error) { return s.AddBlocker(ctx, Blocker{Text: "The bank is slow"}) },
		"state", "add-blocker", "--text", "The bank is slow")
	p.both(t, func(s *Store) (Result, error) {
		return s.RecordSession(ctx, Session{StoppedAt: "Phase " + id + " done"})
	},
		"state", "record-session", "--stopped-at", "Phase "+id+" done")
}

// numbered returns the shop with another number for its first phase, in the workstream or, for
// "", in the project itself. It lacks what the tools rightly treat in different ways: a status in
// the traceability table that a person wrote, and a note behind the number of plans.
func numbered(t *testing.T, first, workstream string) *Store {
	t.Helper()
	number := "0" + first
	text := strings.NewReplacer("Phase 1", "Phase "+first, "| 1. ", "| "+first+". ", "Phase: 1 ", "Phase: "+first+" ",
		"01-ledger", number+"-ledger", "Blocked by Ann", "Pending", ", and a talk with Ann", "")
	if first == "0" { // which GSD doesn't count
		text = strings.NewReplacer("Phase 1", "Phase 0", "| 1. ", "| 0. ", "Phase: 1 of 2", "Phase: 0 of 1", "01-ledger", number+"-ledger",
			"Blocked by Ann", "Pending", ", and a talk with Ann", "", "total_phases: 2", "total_phases: 1",
			"total_plans: 6", "total_plans: 3", "completed_plans: 3", "completed_plans: 0")
	}
	files := planning{}
	below := ""
	if workstream != "" {
		below = "workstreams/" + workstream + "/"
		files["PROJECT.md"], files["config.json"] = "# Shop\n", "{}"
		files["workstreams/api/STATE.md"], files["workstreams/api/ROADMAP.md"] = shopState, shopRoad
	}
	for name, content := range shop() {
		name = strings.Replace(strings.Replace(name, "01-ledger/01-", number+"-ledger/"+number+"-", 1), "01-ledger", number+"-ledger", 1)
		files[below+name] = text.Replace(content)
	}
	s := files.store(t)
	s.Now = time.Now
	if workstream != "" {
		s.Planning = filepath.Join(s.Planning, "workstreams", workstream)
	}
	verifyNow(t, s, number)
	return s
}

// verifyNow makes a phase's report newer than its summaries: GSD's own tools compare the times.
func verifyNow(t *testing.T, s *Store, phase string) {
	t.Helper()
	reports, err := filepath.Glob(filepath.Join(placeOf(s).Phases(), phase+"-*", phase+"-VERIFICATION.md"))
	if err != nil || len(reports) != 1 {
		t.Fatal(reports, err)
	}
	if now := time.Now().Add(time.Second); os.Chtimes(reports[0], now, now) != nil {
		t.Fatal(reports[0])
	}
}

// facts returns what a document of GSD's says of a project.
func facts(t *testing.T, text []byte) map[string]string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	facts := map[string]string{}
	flatten(facts, "", doc)
	return facts
}

func flatten(facts map[string]string, key string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for k, v := range v {
			flatten(facts, strings.TrimPrefix(key+"."+k, "."), v)
		}
	case []any:
		for i, v := range v {
			flatten(facts, fmt.Sprintf("%s.%d", key, i), v)
		}
	default:
		facts[key] = fmt.Sprint(v)
	}
}

// front returns what the front matter of STATE.md says.
func front(t *testing.T, s *Store) map[string]string {
	t.Helper()
	doc, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, e := range doc.Front {
		facts[e.Key] = e.Value.Text
		for _, e := range e.Value.Map {
			facts["progress."+e.Key] = e.Value.Text
		}
	}
	return facts
}

// differences returns the facts in which two projects differ. GSD's phase complete takes the
// number of the next phase from its directory, 02, gl from the roadmap, 2: that is the same phase.
func differences(theirs, ours map[string]string) map[string]difference {
	one := regexp.MustCompile(`^0+(\d)|(Phase )0+(\d)`)
	all := map[string]difference{}
	for _, facts := range []map[string]string{theirs, ours} {
		for key := range facts {
			d := difference{theirs[key], ours[key]}
			if d.Theirs != d.Ours && one.ReplaceAllString(d.Theirs, "$1$2$3") != one.ReplaceAllString(d.Ours, "$1$2$3") {
				all[key] = d
			}
		}
	}
	delete(all, "last_updated") // is the time of the write
	return all
}
