package lane

import (
	"context"
	"fmt"
	"slices"

	"greenlight/internal/core/gate"
	"greenlight/internal/run/testrun"
)

// fewer finds whether fewer tests ran than without the work, or more were skipped. It adds nothing
// to what names tell already, and finds nothing if the runner doesn't count.
func (b *bench) fewer(ctx context.Context, base string, v *testrun.Verdict,
	found []gate.Item) ([]gate.Item, error) {
	named := slices.ContainsFunc(found, func(i gate.Item) bool {
		return i.Kind == gate.Removed || i.Kind == gate.Skips
	})
	if v == nil || v.Passed == nil || named {
		return nil, nil
	}
	tree, err := b.trees.contentOf(ctx, base)
	if err != nil {
		return nil, err
	}
	if err := b.bed.make(ctx); err != nil {
		return nil, err
	}
	_, was := b.recorded(tree)
	if was == nil || was.Passed == nil {
		return nil, nil
	}
	var items []gate.Item
	if now, then := ran(v), ran(was); now < then {
		items = append(items, gate.Item{Kind: gate.Fewer,
			Name: fmt.Sprintf("%d, and %d without the work", now, then)})
	}
	if now, then := number(v.Skipped), number(was.Skipped); now > then {
		items = append(items, gate.Item{Kind: gate.Skips,
			Name: fmt.Sprintf("%d, and %d without the work", now, then)})
	}
	return items, nil
}

// ran is how many tests ran.
func ran(v *testrun.Verdict) int { return number(v.Passed) + number(v.Failed) }

func number(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
