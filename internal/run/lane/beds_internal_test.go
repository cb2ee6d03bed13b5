package lane

import (
	"context"
	"errors"
	"testing"

	"greenlight/internal/core/train"
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
