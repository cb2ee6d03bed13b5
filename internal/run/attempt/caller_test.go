package attempt

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"greenlight/internal/base/proc"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/testrun"

	"github.com/google/go-cmp/cmp"
)

// live puts the record of an attempt at S-1 into the store, whose wrapper is the process.
func live(t *testing.T, b *bench, wrapper proc.ID) {
	t.Helper()
	must(t, b.store.unlocked().Put(&Record{
		ID:            Identity{Slice: "S-1", N: 2, Token: "2031-05-06T12:00:00Z-abcdef"},
		Job:           Job{Agent: "x", Program: "x", Argv: []string{"x"}, Stream: "auto", Dir: b.root, Runner: "process"},
		Life:          Life{Phase: plan.Started, Launcher: proc.Self(), Wrapper: &wrapper, ClaimedAt: noon, StartedAt: &noon},
		SchemaVersion: schemaVersion,
	}))
}

// An attempt's processes are told from a person's by what is above them, by the environment of
// that, and by their own.
func TestCaller(t *testing.T) {
	above := proc.Ancestors()
	if len(above) == 0 {
		t.Fatal("nothing is above this process")
	}
	other := above[0]
	other.Start += "0"
	b := newBench(t, t.TempDir(), map[string]string{"S-1": "in_progress"})
	mine := &Caller{ID: "S-1", N: 2, Token: "2031-05-06T12:00:00Z-abcdef"}
	for _, tt := range []struct {
		name    string
		wrapper proc.ID
		env     []string
		want    *Caller
	}{
		{"a person", proc.Self(), []string{"CLAUDECODE=1"}, nil},
		{"below the wrapper, without any variable", above[0], nil, mine},
		{"below the wrapper, with another slice's", above[0], []string{"GL_SESSION=x", "GL_SLICE=S-9", "GREENLIGHT_ROOT=" + b.root}, mine},
		{"a pid that another process has by now", other, nil, nil},
		{"its token alone", proc.Self(), []string{"GL_SESSION=" + mine.Token, "GREENLIGHT_ROOT=" + b.root}, mine},
		{"a token of nobody", proc.Self(), []string{"GL_SESSION=x", "GL_SLICE=S-9", "GL_ATTEMPT=3"}, &Caller{ID: "S-9", N: 3, Token: "x", Alone: true}},
		{"tests of this project", proc.Self(), []string{testrun.MarkOf(b.root, "lane")}, &Caller{Tests: true}},
		{"tests of another", proc.Self(), []string{testrun.MarkOf(b.root+"/other", "lane")}, nil},
	} {
		live(t, b, tt.wrapper)
		if diff := cmp.Diff(tt.want, CallerOf(b.store, tt.env)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A process whose own environment is empty is told by that of its ancestors.
func TestCallerByAncestors(t *testing.T) {
	if root := os.Getenv("CALLER_ROOT"); root != "" {
		if c := CallerOf(OpenStore(filepath.Join(root, ".greenlight", "runs")), nil); c != nil {
			os.Stdout.WriteString("\ncaller " + c.ID + "\n")
		}
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("ps shows the environment of few processes here")
	}
	root := t.TempDir()
	cmd := exec.Command("sh", "-c", `env -i PATH="$PATH" CALLER_ROOT="$GREENLIGHT_ROOT" "$0" -test.run=TestCallerByAncestors; true`, os.Args[0])
	cmd.Env = append(os.Environ(), "GL_SESSION=t", "GL_SLICE=S-4", "GREENLIGHT_ROOT="+root)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\ncaller S-4\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// Its own slice an agent may change as long as it is at work.
func TestMayWorkOn(t *testing.T) {
	b := newBench(t, t.TempDir(), map[string]string{"S-1": "in_progress"})
	live(t, b, proc.Self())
	me := &Caller{ID: "S-1", N: 2, Token: "2031-05-06T12:00:00Z-abcdef"}
	if err := me.MayWorkOn(b.store, "S-1"); err != nil {
		t.Error(err)
	}
	for c, id := range map[*Caller]string{me: "S-2", {Tests: true}: "S-1", {Token: "x"}: "S-1"} {
		if err := c.MayWorkOn(b.store, id); err == nil {
			t.Errorf("%s may change %s", c, id)
		}
	}
	for _, phase := range []plan.Phase{plan.Ended, plan.Queued} {
		r, err := b.store.Get("S-1", 2)
		must(t, err)
		r.Life.Phase, r.Judged.Seen, r.Life.EndedAt, r.Judged.Outcome = phase, &plan.Mark{}, &noon, outcome.Done
		if phase == plan.Queued {
			r.Landing, r.Place.Lineage, r.Place.Branch, r.Judged.Outcome = &Landing{Queued: noon}, 1, "refs/heads/gl/s/_/greenlight/S-1/1", ""
		}
		must(t, b.store.unlocked().Put(r))
		if err := me.MayWorkOn(b.store, "S-1"); err == nil {
			t.Errorf("%s: it may still change its slice", phase)
		}
	}
}

func BenchmarkCaller(b *testing.B) {
	y := newBench(b, b.TempDir(), map[string]string{"S-1": "in_progress"})
	for b.Loop() {
		if c := CallerOf(y.store, []string{"CLAUDECODE=1"}); c != nil {
			b.Fatal(c)
		}
	}
}
