package lane

// A bisection finds out which of several, tested together, are to blame when the tests fail: what to test next, on top of what has landed by
// then. It is pure. Groups keep the order of the queue. A group that passes has landed; one that doesn't is split, and one of a single
// member is through either way. So of n members at most 2n-1 groups are tested.
// A bisection isn't kept on disk. Verdicts are, so the next worker forms the same groups and tests
// no tree twice.
type bisection[T any] struct {
	todo [][]T // the next one last
}

func newBisection[T any](all []T) *bisection[T] { return &bisection[T]{[][]T{all}} }

// next is the group to test now, nil when all are through.
func (b *bisection[T]) next() []T {
	if len(b.todo) == 0 {
		return nil
	}
	return b.todo[len(b.todo)-1]
}

// passed says that the group from next is through.
func (b *bisection[T]) passed() { b.todo = b.todo[:len(b.todo)-1] }

// failed says that the group's tests fail.
func (b *bisection[T]) failed() {
	group := b.next()
	b.passed()
	if half := (len(group) + 1) / 2; len(group) > 1 {
		b.todo = append(b.todo, group[half:], group[:half])
	}
}
