package lane_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/crashtest"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/lane"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/worktree"
)

// The test binary is gl if it is called so: the gate before tests is a real process. With a root in
// its environment it is a worker to be killed.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	if root := os.Getenv("GREENLIGHT_TEST_ROOT"); root != "" {
		crashtest.Begin()
		run := func() error { return worker(context.Background(), root, os.Environ(), nil) }
		if id := os.Getenv("GREENLIGHT_TEST_UNDO"); id != "" {
			run = func() error { return undoer(context.Background(), root, id) }
		}
		if err := run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(testfiles.RunInNewHome(m))
}

// worker does what gl land does.
func worker(ctx context.Context, root string, env []string, told func(string)) error {
	l, err := open(ctx, root, env, told)
	if err != nil {
		return err
	}
	if err := l.Work(ctx); err != nil {
		return err
	}
	return l.Deliver(ctx)
}

func open(ctx context.Context, root string, env []string, told func(string)) (*lane.Queue, error) {
	pr, err := project.Open(root)
	if err == nil {
		err = pr.ConfigErr
	}
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	l, err := lane.Open(ctx, pr, self, env)
	if err != nil {
		return nil, err
	}
	l.Trust, l.TrustRoot, l.Told = trust.Open(os.Getenv), root, told
	l.PlentyOfMemory()
	return l, nil
}

// A site is a project in a git repository, whose tests say that every line of list has its file in
// src, and the other way round.
type site struct {
	t    testing.TB
	top  string   // of the repository
	root string   // of the project
	env  []string // of workers
	said []string
}

const testScript = `#!/bin/sh
[ -z "$TEST_LOG" ] || echo "run in $PWD" >>"$TEST_LOG"
fail=0
for r in $(cat list); do [ -f src/$r ] && echo "ok $r" || { echo "FAIL $r"; fail=1; }; done
for f in src/*; do b=${f#src/}; [ "$b" = '*' ] || grep -qx "$b" list || { echo "FAIL $b isn't listed"; fail=1; }; done
[ -f test.extra ] && { sh ./test.extra || fail=1; }
exit $fail
`

func newSite(t *testing.T, config string) *site {
	t.Helper()
	t.Parallel()
	return newSiteAt(t, filepath.Join(t.TempDir(), "p"), "", config)
}

// newSiteAt makes a repository at top with the project at a directory in it.
func newSiteAt(t testing.TB, top, dir, config string) *site {
	t.Helper()
	s := &site{t: t, top: top, root: filepath.Join(top, dir), env: os.Environ()}
	check(t, os.MkdirAll(top, 0o755))
	check(t, testfiles.EmptyRepository(top, "main"))
	s.addProject(s.root, config)
	s.write(".gitignore", "*.ignored\n.env\n.greenlight/runs/\n.greenlight/.lock\n.greenlight/*.lock\n")
	s.write("notes", "1\n2\n3\n")
	s.git("add", "-A")
	s.git("commit", "-qm", "start")
	return s
}

// addProject makes a project's files.
func (s *site) addProject(root, config string) {
	s.t.Helper()
	if config == "" {
		config = `"test": {"command": "./test.sh"}`
	}
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(root, name)
		check(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(s.t, os.WriteFile(path, []byte(text), mode))
	}
	put("test.sh", testScript, 0o755)
	put("list", "", 0o644)
	for n := 1; n <= 5; n++ {
		put(fmt.Sprintf(".greenlight/slices/S-%d.md", n), fmt.Sprintf(
			"---\nid: S-%d\nstatus: pending\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# Slice %d\n", n, n), 0o644)
	}
	git := `"git": {"isolation": "worktree", "commit_state": false}`
	if strings.Contains(config, `"git"`) {
		git = ""
	} else if config != "" {
		git += ", "
	}
	put(".greenlight/config.json", "{"+git+config+"}", 0o644)
	pr := s.projectAt(root)
	commands, err := pr.MustAllow().ForQueue(s.t.Context())
	check(s.t, err)
	check(s.t, trust.Open(os.Getenv).Allow(s.t.Context(), root, commands))
}

func (s *site) projectAt(root string) *project.Project {
	s.t.Helper()
	pr, err := project.Open(root)
	check(s.t, err)
	check(s.t, pr.ConfigErr)
	return pr
}

func (s *site) project() *project.Project { s.t.Helper(); return s.projectAt(s.root) }

var check = testfiles.Check

// write writes a file of the project in the person's checkout.
func (s *site) write(name, text string) {
	s.t.Helper()
	testfiles.Put(s.t, s.root, name, text)
}

func (s *site) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.root, name))
	check(s.t, err)
	return string(data)
}

func (s *site) git(args ...string) string { s.t.Helper(); return gitIn(s.t, s.top, args...) }

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("git %q: %v: %s", args, err, exit.Stderr)
		}
		t.Fatalf("git %q: %v", args, err)
	}
	return strings.TrimRight(string(out), "\n")
}

// queueSeveral queues S-1 to S-n, each with the work that makes for it.
func (s *site) queueSeveral(n int,
	makes func(testing.TB, string) func(string)) (recs []*attempt.Record) {
	s.t.Helper()
	for i := range n {
		id := fmt.Sprintf("S-%d", i+1)
		recs = append(recs, s.queue(id, makes(s.t, id)))
	}
	return recs
}

// queue has a stand-in for an agent work at a slice and call it complete.
func (s *site) queue(id string, work func(dir string)) *attempt.Record {
	s.t.Helper()
	return s.claim(stint{id: id, work: func(dir string, _ *worktree.Lineage) {
		if work != nil {
			work(dir)
		}
	}})
}

// A stint is an attempt of a stand-in for an agent.
type stint struct {
	id    string
	task  *attempt.Task
	terms *attempt.Terms
	base  string // at which its branch begins; "" for where new work does
	work  func(dir string, l *worktree.Lineage)
	later func(dir string) // what it has left running; nil for nothing
}

// claim has a stand-in for an agent work at a slice, or a task, and call it complete.
func (s *site) claim(as stint) *attempt.Record {
	s.t.Helper()
	ctx, pr := s.t.Context(), s.project()
	repo, err := pr.OpenWorktrees(ctx)
	check(s.t, err)
	base, err := repo.Queue.Base(ctx)
	check(s.t, err)
	base = cmp.Or(as.base, base)
	a, err := agent.Find("x", agent.Config{Custom: map[string]agent.Custom{"x": {Command: []string{"true", "{slice}"}}}})
	check(s.t, err)
	var r *attempt.Record
	var l *worktree.Lineage
	check(s.t, pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		req := attempt.Request{System: pr.Key(), ID: as.id, Task: as.task, Terms: as.terms, Agent: a, Runner: "process"}
		work, err := pr.Runs.WorkOf(req)
		if err != nil {
			return err
		}
		if l, err = repo.Lineages.Plan(ctx, pr.Key(), work, base, false); err != nil {
			return err
		}
		req.Place.Lineage, req.Job.Dir = l, repo.Layout.Dir(l)
		r, err = pr.Runs.Within(tx.Held()).Claim(tx, req, time.Now())
		return err
	}))
	hold, err := repo.Make(ctx, l, worktree.Making{})
	check(s.t, err)
	as.work(repo.Layout.Dir(l), l)
	if as.later != nil {
		r.Place.Tree, r.Place.Head = s.treeOf(repo.Layout.Dir(l)), gitIn(s.t, repo.Layout.Dir(l), "rev-parse", "HEAD")
		as.later(repo.Layout.Dir(l))
	}
	check(s.t, hold.Release())
	if as.task == nil {
		s.set(as.id, "status", "complete")
	}
	gone, at, zero := proc.Self(), time.Now().UTC(), 0
	gone.Start = "before this one"
	r.Life.Phase, r.Life.Wrapper, r.Life.Process, r.Life.StartedAt = plan.Started, &gone, &gone, &at
	r.Judged.Evidence = &attempt.Evidence{ExitCode: &zero}
	data, err := json.Marshal(r)
	check(s.t, err)
	check(s.t, os.WriteFile(filepath.Join(pr.Runs.Files.LiveDir(), r.ID.Name()+".json"), data, 0o600))
	settler := pr.Settler()
	r, err = settler.Settle(ctx, r)
	check(s.t, err)
	if r.Life.Phase != plan.Queued {
		s.t.Fatalf("%s is %s: %s %s", r.ID.Name(), r.Life.Phase, r.Judged.Outcome, r.Judged.Detail)
	}
	return r
}

// treeOf is what is in a worktree, in which everything is committed.
func (s *site) treeOf(dir string) string {
	s.t.Helper()
	return gitIn(s.t, dir, "rev-parse", "HEAD^{tree}")
}

// countTests has the tests note where they run. runs returns how often they have.
func (s *site) countTests() (runs func() int) {
	s.t.Helper()
	log := s.logTests()
	return func() int { return strings.Count(log(), "run in ") }
}

// logTests has the tests note where they run. log returns the notes, each a line: run in DIR.
func (s *site) logTests() (log func() string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "tests")
	s.env = append(s.env, "TEST_LOG="+path)
	return func() string {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Fatal(err)
		}
		return string(data)
	}
}

// list is an agent that adds its slice to the list, with its file, and commits that.
func list(t testing.TB, id string) func(dir string) {
	return func(dir string) {
		t.Helper()
		testfiles.Put(t, dir, "src/"+id, id+"\n")
		data, err := os.ReadFile(filepath.Join(dir, "list"))
		check(t, err)
		testfiles.Put(t, dir, "list", id+"\n"+string(data))
		gitIn(t, dir, "add", "-A", ".")
		gitIn(t, dir, "commit", "-qm", id)
	}
}

// apart returns an agent whose work conflicts with no other: a file that isn't tested.
func apart(t testing.TB, id string) func(dir string) {
	return func(dir string) {
		t.Helper()
		testfiles.Put(t, dir, "doc/"+id, id+"\n")
		gitIn(t, dir, "add", "-A", ".")
		gitIn(t, dir, "commit", "-qm", id)
	}
}

func (s *site) set(id string, pairs ...string) {
	s.t.Helper()
	check(s.t, slice.Open(s.root).Edit(s.t.Context(), id, func(f *slice.File) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := f.Set(pairs[i], pairs[i+1]); err != nil {
				return err
			}
		}
		return nil
	}))
}

// work runs a worker to its end.
func (s *site) work() {
	s.t.Helper()
	check(s.t, worker(s.t.Context(), s.root, s.env, s.told))
}

// workAfterKill runs a worker after one that was killed, whose git may still hold a lock.
func (s *site) workAfterKill() {
	s.t.Helper()
	s.untilDone(func() error { return worker(s.t.Context(), s.root, s.env, s.told) })
}

// untilDone repeats work after a kill until it succeeds and nothing is left to do.
func (s *site) untilDone(work func() error) {
	s.t.Helper()
	var err error
	testfiles.Until(s.t, "the work after a kill", func() bool {
		if now := work(); now == nil || err == nil || now.Error() != err.Error() {
			if err = now; err != nil {
				s.t.Logf("after a kill: %v", err)
			}
		}
		return err == nil && !s.busy()
	})
}

func (s *site) told(line string) { s.said = append(s.said, line) }

func (s *site) lane() *lane.Queue {
	s.t.Helper()
	l, err := open(s.t.Context(), s.root, s.env, s.told)
	check(s.t, err)
	return l
}

func (s *site) get(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	r, err := s.project().Runs.Get(r.ID.Slice, r.ID.N)
	check(s.t, err)
	return r
}

// field is a field of a slice's file.
func (s *site) field(id, key string) string {
	s.t.Helper()
	for line := range strings.Lines(s.read(".greenlight/slices/" + id + ".md")) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (s *site) class(id string) plan.Class {
	s.t.Helper()
	pr := s.project()
	p, err := pr.Plan(time.Now(), pr.Options())
	check(s.t, err)
	return p.State(id).Class
}

// landed checks that a slice has landed and nothing is left of the way there.
func (s *site) landed(r *attempt.Record) *attempt.Record {
	s.t.Helper()
	final := s.get(r)
	if final.Life.Phase != plan.Settled || final.Judged.Outcome != outcome.Done {
		s.t.Fatalf("%s: %s %s: %s; said:\n%s", r.ID.Name(), final.Life.Phase, final.Judged.Outcome, final.Judged.Detail+final.Landing.Text(), strings.Join(s.said, "\n"))
	}
	if st, se := s.field(r.ID.Slice, "status"), s.field(r.ID.Slice, "session"); st != "complete" || se != "" {
		s.t.Errorf("%s: status %q, session %q", r.ID.Slice, st, se)
	}
	return final
}

// settled checks how an attempt has ended.
func (s *site) settled(r *attempt.Record, want outcome.Outcome, detail string) *attempt.Record {
	s.t.Helper()
	final := s.get(r)
	if final.Life.Phase != plan.Settled || final.Judged.Outcome != want || !strings.Contains(final.Judged.Detail, detail) {
		s.t.Fatalf("%s: %s %s: %s, want %s: %s; said:\n%s", r.ID.Name(), final.Life.Phase, final.Judged.Outcome, final.Judged.Detail+final.Landing.Text(), want, detail,
			strings.Join(s.said, "\n"))
	}
	return final
}

// queued checks that an attempt awaits the lane, and why.
func (s *site) queued(r *attempt.Record, why string) *attempt.Record {
	s.t.Helper()
	now := s.get(r)
	if now.Life.Phase != plan.Queued || !strings.Contains(now.Landing.Text(), why) {
		s.t.Fatalf("%s: %s %s: %s, want queued: %s", r.ID.Name(), now.Life.Phase, now.Judged.Outcome, now.Judged.Detail+now.Landing.Text(), why)
	}
	return now
}

// landings returns the slices in the first-parent history of a branch, the newest first.
func (s *site) landings(branch string) []string {
	s.t.Helper()
	return strings.Fields(s.git("log", "--first-parent", "--format=%(trailers:key=Slice,valueonly)", branch))
}

func (s *site) laneTip() string {
	s.t.Helper()
	return s.git("rev-parse", strings.TrimPrefix(s.lane().Repo.Queue.Ref(), "refs/heads/"))
}

func (s *site) status() lane.Status { return lane.ReadStatus(s.project().Runs.Files.Dir()) }

// undelivered checks that slices wait, and why.
func (s *site) undelivered(reason string, ids ...string) {
	s.t.Helper()
	st := s.status()
	if !slices.Equal(st.Undelivered, ids) || !strings.Contains(st.Reason, reason) {
		s.t.Errorf("undelivered: %q: %s; want %q: %s", st.Undelivered, st.Reason, ids, reason)
	}
}

// delivered checks that nothing waits.
func (s *site) delivered() {
	s.t.Helper()
	s.undelivered("")
	if left := s.git("rev-list", "main.."+s.laneTip()); left != "" { // main may have state besides
		s.t.Errorf("main hasn't got %s", left)
	}
}

// green runs the tests on every commit of a branch's first-parent history.
func (s *site) green(branch string) {
	s.t.Helper()
	for _, c := range strings.Fields(s.git("rev-list", "--first-parent", branch)) {
		dir := s.t.TempDir()
		cmd := exec.Command("sh", "-c", `git archive "$1" | tar -x -C "$2" && { cd "$2/$3" 2>/dev/null || exit 0; } && ./test.sh`, "sh", c, dir, s.prefix())
		cmd.Dir = s.top
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Errorf("%s isn't green: %v\n%s", c, err, out)
		}
	}
}

func (s *site) prefix() string {
	rel, err := filepath.Rel(s.top, s.root)
	check(s.t, err)
	return rel
}

func jsonOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}
