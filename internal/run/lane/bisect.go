package lane

// A bisection finds which of several attempts, tested together, are to blame when the tests fail:
// it returns what to test next on top of what has landed by then. It is pure. Groups keep the order
// of the queue. A group that passes has landed; one that fails is split, and one of a single member
// is finished either way. So n members take at most 2n-1 tests.
//
// A bisection isn't kept on disk. Verdicts are, so the next worker forms the same groups and tests
// no tree twice.
type bisection[T any] struct {
	todo [][]T // the next one last
}

func newBisection[T any](all []T) *bisection[T] { return &bisection[T]{[][]T{all}} }

// next returns the group to test now, nil when all are finished.
func (b *bisection[T]) next() []T {
	if len(b.todo) == 0 {
		return nil
	}
	return b.todo[len(b.todo)-1]
}

// passed finishes the group from next.
func (b *bisection[T]) passed() { b.todo = b.todo[:len(b.todo)-1] }

// failed splits the group from next, whose tests fail.
func (b *bisection[T]) failed() {
	group := b.next()
	b.passed()
	if half := (len(group) + 1) / 2; len(group) > 1 {
		b.todo = append(b.todo, group[half:], group[:half])
	}
}
