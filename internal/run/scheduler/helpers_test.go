package scheduler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/run/rehearsal"
	"greenlight/internal/run/runner"
	"greenlight/internal/run/scheduler"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/tracker"
)

// The test binary is gl when it is called so: runs, wrappers, gates and agents are real
// processes.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(testfiles.RunInNewHome(m))
}

var check, until = testfiles.Check, testfiles.Until

// run goes through the run to its end. It fails the test where nothing is launched and nothing ends
// for too long: how long the whole takes depends on the machine.
func run(t testing.TB, cfg scheduler.Config) *scheduler.Result {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stuck := time.AfterFunc(testfiles.Patience, func() { cancel(fmt.Errorf("nothing has happened for %v", testfiles.Patience)) })
	defer stuck.Stop()
	report := cfg.Output.Report
	cfg.Output.Report = func(r scheduler.Report) {
		if r.Locked == "" && r.Max != cfg.Slots.Max {
			t.Errorf("a report of %d slots: %+v", r.Max, r)
		}
		if len(r.Launched)+len(r.Ended)+len(r.Adopted) > 0 {
			stuck.Reset(testfiles.Patience)
		}
		report(r)
	}
	res, err := scheduler.Run(ctx, cfg)
	if err != nil {
		t.Fatalf("%v (%v)\n%s", err, context.Cause(ctx), scene(cfg.Project))
	}
	return res
}

// A graph is what the slices of a project need: only ones that stand before them in ids.
type graph struct {
	ids  []string
	deps map[string][]string
}

// randomGraph makes n slices with up to three needs each.
func randomGraph(random *rand.Rand, n int) graph {
	g := graph{deps: map[string][]string{}}
	for i := range n {
		id := fmt.Sprintf("S-%d", i+1)
		if i%7 == 3 {
			id = fmt.Sprintf("S%d.%d", i/7, i+1)
		}
		var deps []string
		for range random.IntN(4) {
			if i > 0 {
				if d := g.ids[max(0, i-1-random.IntN(20))]; !slices.Contains(deps, d) {
					deps = append(deps, d)
				}
			}
		}
		g.ids, g.deps[id] = append(g.ids, id), deps
	}
	return g
}

// write makes a project of the graph in a directory of its own; every third slice is in GRAPH.json
// only.
func (g graph) write(t testing.TB, config string) *project.Project {
	t.Helper()
	return g.writeTo(t, t.TempDir(), config)
}

func (g graph) writeTo(t testing.TB, root, config string) *project.Project {
	t.Helper()
	dir := filepath.Join(root, ".greenlight")
	check(t, os.MkdirAll(filepath.Join(dir, "slices"), 0o755))
	entries := map[string]any{}
	for i, id := range g.ids {
		entries[id] = map[string]any{"name": "Slice " + id, "depends_on": append([]string{}, g.deps[id]...)}
		if i%3 == 2 {
			continue
		}
		text := fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nmilestone: m\nsession:\ndeps: %s\n---\n\n# %s\n", id, strings.Join(g.deps[id], ","), id)
		check(t, os.WriteFile(filepath.Join(dir, "slices", id+".md"), []byte(text), 0o644))
	}
	data, err := json.Marshal(map[string]any{"slices": entries})
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "GRAPH.json"), data, 0o644))
	check(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644))
	return open(t, root)
}

func open(t testing.TB, root string) *project.Project {
	t.Helper()
	pr, err := project.Open(root)
	check(t, err)
	check(t, pr.ConfigErr)
	return pr
}

// config runs the project here, with wrappers and agents as processes.
func config(t testing.TB, pr *project.Project, agentName string, max int) scheduler.Config {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	if gl := os.Getenv("GREENLIGHT_GL"); gl != "" {
		self = gl
	}
	a, err := agent.Find(agentName, agent.Config{Self: self, Custom: pr.Config.Agents})
	check(t, err)
	store := trust.Open(func(string) string { return t.TempDir() })
	commands, err := pr.MustAllow().ForAgents(t.Context(), a)
	check(t, err)
	check(t, store.Allow(t.Context(), pr.Root, commands))
	return scheduler.Config{
		Project: pr,
		Slots:   scheduler.Slots{Max: max},
		Mode:    scheduler.Mode{Refill: true, Lead: true},
		Tools:   scheduler.Tools{Runner: runner.NewProcess(self, pr.Root, os.Environ(), nil, max)},
		Builders: scheduler.Builders{
			Agents: []scheduler.Agent{{Agent: a, Job: agent.Job{Dir: pr.Root}}},
			Trust:  store, TrustRoot: pr.Root,
		},
		Pace:   scheduler.Pace{Interval: 30 * time.Second},
		Output: scheduler.Output{Report: func(scheduler.Report) {}, Trace: func(string, ...any) {}},
	}
}

// expect plays the run through in thought: what becomes of each slice follows from the graph and
// its fate alone. It returns the class of each, and how many attempts it has.
func expect(spec rehearsal.Spec, g graph) (map[string]plan.Class, map[string]int) {
	classes, attempts := map[string]plan.Class{}, map[string]int{}
	for _, id := range g.ids {
		if slices.ContainsFunc(g.deps[id], func(d string) bool { return classes[d] != plan.Done }) {
			classes[id] = plan.Available
			continue
		}
		n := 1
		for spec.Fate(id, n).Kind == rehearsal.Limit {
			n++
		}
		attempts[id] = n
		switch spec.Fate(id, n).Kind {
		case rehearsal.Complete:
			classes[id] = plan.Done
		case rehearsal.Fail, rehearsal.Crash, rehearsal.Hang:
			classes[id] = plan.Failed
		case rehearsal.Park:
			classes[id] = plan.Waiting
		default: // Turns, Quit, Refuse, NoCommand
			classes[id] = plan.Stalled
		}
	}
	return classes, attempts
}

// history reads all records, by slice, oldest first; none may be open, damaged or missing.
func history(t testing.TB, pr *project.Project) map[string][]*attempt.Record {
	t.Helper()
	index, err := pr.Runs.Index()
	check(t, err)
	all := map[string][]*attempt.Record{}
	for id, entries := range index {
		for i, e := range entries {
			r, err := pr.Runs.Get(e.Slice, e.N)
			check(t, err)
			if r.ID.N != i+1 || r.Life.Phase != plan.Settled {
				t.Errorf("%s: attempt %d in place %d, phase %s", id, r.ID.N, i+1, r.Life.Phase)
			}
			all[id] = append(all[id], r)
		}
	}
	return all
}

// checkOrder checks what must be true of any run's records: no two attempts of a slice at a time,
// none before what it needs is complete, and never more than max at a time.
func checkOrder(t testing.TB, g graph, all map[string][]*attempt.Record, limit int) {
	t.Helper()
	type event struct {
		at    time.Time
		delta int
	}
	var events []event
	for id, records := range all {
		for i, r := range records {
			if i > 0 && r.Life.ClaimedAt.Before(*records[i-1].Life.SettledAt) {
				t.Errorf("%s was claimed before %s was settled", r.ID.Name(), records[i-1].ID.Name())
			}
			for _, d := range g.deps[id] {
				needed := all[d]
				if len(needed) == 0 || needed[len(needed)-1].Judged.Outcome != outcome.Done || r.Life.ClaimedAt.Before(*needed[len(needed)-1].Life.SettledAt) {
					t.Errorf("%s was claimed before %s was complete", r.ID.Name(), d)
				}
			}
			events = append(events, event{r.Life.ClaimedAt, 1}, event{*r.Life.SettledAt, -1})
		}
	}
	sort.Slice(events, func(i, j int) bool {
		if !events[i].at.Equal(events[j].at) {
			return events[i].at.Before(events[j].at)
		}
		return events[i].delta < events[j].delta
	})
	now, most := 0, 0
	for _, e := range events {
		now += e.delta
		most = max(most, now)
	}
	if most > limit {
		t.Errorf("%d attempts at a time, at most %d were allowed", most, limit)
	}
}

// checkClasses checks the state that the project is in.
func checkClasses(t testing.TB, pr *project.Project, want map[string]plan.Class) {
	t.Helper()
	p, err := pr.Plan(time.Now(), pr.Options())
	check(t, err)
	if len(p.States) != len(want) {
		t.Errorf("%d slices, want %d", len(p.States), len(want))
	}
	for i := range p.States {
		if st := &p.States[i]; st.Class != want[st.ID] || st.Session != "" {
			t.Errorf("%s is %s, session %q (%s); want %s", st.ID, st.Class, st.Session, p.Why(st.ID, time.Now()), want[st.ID])
		}
	}
}

// checkTidy checks that nothing is left over: no open record, no process, and a STATE.md that is up
// to date.
func checkTidy(t testing.TB, pr *project.Project) {
	t.Helper()
	live, err := os.ReadDir(pr.Runs.Files.LiveDir())
	check(t, err)
	if len(live) > 0 {
		t.Errorf("left in live: %v", live)
	}
	path := filepath.Join(pr.Root, ".greenlight", "STATE.md")
	was, err := os.ReadFile(path)
	check(t, err)
	check(t, open(t, pr.Root).Tracker.Refresh(t.Context()))
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(was, now) {
		t.Errorf("STATE.md was behind: %v\n%s\nis now\n%s", err, was, now)
	}
	until(t, "the project's processes are gone", func() bool { return len(processes(pr.Root)) == 0 })
	for _, dir := range []string{".greenlight", ".greenlight/slices", ".greenlight/runs/live", ".greenlight/runs/done"} {
		temps, err := filepath.Glob(filepath.Join(pr.Root, dir, "*.tmp"))
		check(t, err)
		hidden, err := filepath.Glob(filepath.Join(pr.Root, dir, ".*.tmp"))
		check(t, err)
		if temps = append(temps, hidden...); len(temps) > 0 {
			t.Logf("temps of killed writers: %v", temps)
		}
	}
}

// processes are those that work on the project: wrappers, by their command line, and agents, by
// their environment.
func processes(root string) (pids []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		args, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if bytes.Contains(env, []byte("GREENLIGHT_ROOT="+root+"\x00")) || bytes.Contains(args, []byte("\x00"+root+"\x00")) {
			pids = append(pids, filepath.Base(p))
		}
	}
	return pids
}

func claimFor(id, session string) func(tracker.Tx) error {
	return func(tx tracker.Tx) error { return tx.Claim(id, session) }
}

// scene describes a project whose run doesn't end: what is open, and which processes are there.
func scene(pr *project.Project) string {
	var b strings.Builder
	live, bad, err := pr.Runs.Live()
	fmt.Fprintf(&b, "bad records %v %v\n", bad, err)
	for _, r := range live {
		fmt.Fprintf(&b, "%s: %s, launcher %s, claimed %v, started %v\n", r.ID.Name(), r.Life.Phase, r.Life.Launcher.State(), r.Life.ClaimedAt, r.Life.StartedAt)
		if log, err := os.ReadFile(pr.Runs.Files.Log(r.ID.Slice, r.ID.N)); err == nil {
			fmt.Fprintf(&b, "  its log ends in %s\n", log[max(0, len(log)-500):])
		}
	}
	for _, pid := range processes(pr.Root) {
		args, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
		stack, _ := os.ReadFile(filepath.Join("/proc", pid, "wchan"))
		fmt.Fprintf(&b, "process %s in %s: %q\n", pid, stack, args)
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err == nil {
		fmt.Fprintf(&b, "done %d of %d, ready %v, running %v, taken %d, hold %v\n", p.Done, p.Total, p.Lists.Ready, p.Lists.Running, p.Taken, p.Hold)
	}
	return b.String()
}

// A losing runner does something to a claimed attempt before its wrapper starts.
type losing struct {
	runner.Runner
	lose func(*attempt.Record)
}

// A replaced runner calls start in the wrapper's place; start reports whether it started something.
type replaced struct {
	runner.Runner
	start func(*attempt.Record) bool
}

func (p *replaced) Start(r *attempt.Record) error {
	if p.start(r) {
		return nil
	}
	go func() {
		for range p.Runner.Exits() { // so that sending doesn't block
		}
	}()
	return p.Runner.Start(r)
}

// Exits is nil, as a tmux runner's: the run can't tell whether a wrapper lives.
func (p *replaced) Exits() <-chan runner.Exit { return nil }

func (l *losing) Start(r *attempt.Record) error {
	l.lose(r)
	return l.Runner.Start(r)
}

// checkJournal compares the journal with the records: each attempt has its events once, in order,
// and nothing else has any. What was claimed and never started was given back.
func checkJournal(t testing.TB, pr *project.Project, all map[string][]*attempt.Record) {
	t.Helper()
	told := map[string][]string{} // by attempt and token
	for e, err := range pr.Runs.Journal().Events(time.Time{}) {
		check(t, err)
		if e.Key != "" && e.Attempt > 0 && e.Kind != journal.Stopped {
			claim := strings.TrimSuffix(e.Key, "."+string(e.Kind))
			told[claim] = append(told[claim], string(e.Kind))
		}
	}
	for _, recs := range all {
		for _, r := range recs {
			want := []string{"claimed", "launched", "ended", "settled"}
			if r.Judged.Outcome == outcome.Waiting {
				want = append(want, "needs_you")
			}
			claim := strings.TrimSuffix(r.ID.Event(journal.Ended).Key, ".ended")
			if got := told[claim]; !slices.Equal(got, want) {
				t.Errorf("the journal has of %s (%s): %q, want %q", r.ID.Name(), r.Judged.Outcome, got, want)
			}
			delete(told, claim)
		}
	}
	for claim, got := range told {
		if !slices.Equal(got, []string{"claimed", "given_back"}) {
			t.Errorf("the journal has %q of %s, which has no record", got, claim)
		}
	}
}
