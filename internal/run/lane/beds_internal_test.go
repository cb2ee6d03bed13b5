package lane

import (
	"context"
	"errors"
	"testing"

	"greenlight/internal/core/train"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/testrun"
	"greenlight/internal/workspace/worktree"
)

// Tests don't begin in a worktree that is being set up, of which there may be some that workers'
// tests would be checked out in; what tests are checked out in isn't set up beside them.
func TestPreparedBedsAreTaken(t *testing.T) {
	asked, goOn := make(chan int), make(chan struct{})
	b := &beds{note: &trainNote{Manifests: map[int]string{1: "x"}}, tell: t.Logf}
	b.make = func(k int) *bed {
		return &bed{lineage: func(context.Context) (*worktree.Lineage, error) {
			asked <- k
			<-goOn
			return nil, errors.New("no worktree")
		}}
	}
	b.runs = []*run{{bed: b.bed(2), job: train.Job{Entry: "other"}}}
	b.prepare(t.Context(), 3)
	if k := <-asked; k != 3 {
		t.Errorf("%d is set up beside its tests", k)
	}
	b.runs = append(b.runs, &run{bed: b.bed(1), job: train.Job{Entry: "another"}})
	if got := b.free(3, train.Job{Entry: "S-1"}); got != nil {
		t.Error("tests begin where setup runs")
	}
	close(goOn)
	<-b.preparation.done
	if got := b.free(3, train.Job{Entry: "S-1"}); got != b.bed(3) {
		t.Error("it is never used again")
	}
}

// What is set up goes on when there is nothing left to test side by side. Otherwise it would fail
// for the turn, and what comes later in it would be tested one by one.
func TestPreparationOutlivesItsCars(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	b := &beds{note: &trainNote{}, tell: t.Logf}
	b.make = func(int) *bed {
		return &bed{lineage: func(ctx context.Context) (*worktree.Lineage, error) {
			close(asked)
			<-goOn
			return nil, errors.Join(errors.New("no worktree"), ctx.Err())
		}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.prepare(ctx, 1)
	<-asked
	cancel()
	close(goOn)
	<-b.preparation.done
	if err := b.preparation.err; errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// However the test of the target's own commits ends, nothing waits for it afterwards.
func TestDrainEndsTheTestOfTheTarget(t *testing.T) {
	pr := projectIn(t, t.TempDir())
	check(t, pr.Runs.Files.Prepare())
	b := &beds{attempts: pr.Runs, note: &trainNote{}, over: make(chan *run, 1)}
	r := &run{bed: &bed{}, cancel: func() {}}
	b.list, b.runs = []*bed{r.bed}, []*run{r}
	check(t, pr.Runs.Control.NoteQueueWork("main"))
	b.over <- r
	check(t, b.drain())
	if branch := pr.Runs.Control.QueueWork(); branch != "" {
		t.Errorf("%s is still tested", branch)
	}
}

// Tests that reach their limit beside others don't count before they have run alone. Alone, they
// aren't repeated.
func TestTimeOutBesideOthers(t *testing.T) {
	t.Parallel()
	for beside, want := range map[bool]train.Verdict{true: train.Failed, false: train.Red} {
		f := newFleet(t, "here")
		c := &cars{
			fleet: f, bench: &bench{project: f.project, tell: t.Logf},
			merging: &merging{events: &events{project: f.project, repo: f.repo}},
			known: findings{
				verdicts: map[string]train.Verdict{}, failed: map[string]*run{},
				hung: map[string]*testrun.Verdict{}, tested: map[string]train.Tested{},
			},
		}
		c.take(&run{
			rec: &attempt.Record{}, job: train.Job{Tip: train.Tip{Tree: "t"}}, beside: beside,
			verdict: &testrun.Verdict{Tree: "t", TimedOut: true},
		})
		if got := c.known.verdicts["t"]; got != want {
			t.Errorf("beside others %v: %v, want %v", beside, got, want)
		}
	}
}
