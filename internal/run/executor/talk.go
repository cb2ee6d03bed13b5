package executor

import (
	"os"
	"sync"
)

// talkRoom is how many lines may be on their way to one program.
const talkRoom = 200

// A talk is the stdin of a program that gets lines while it works; nil for one that doesn't.
type talk struct {
	mu     sync.Mutex
	lines  chan []byte
	closed bool
}

// newTalk writes lines into the pipe. A program that doesn't read holds up nothing else.
func newTalk(in *os.File) *talk {
	t := &talk{lines: make(chan []byte, talkRoom)}
	go func() {
		defer in.Close()
		for line := range t.lines {
			if _, err := in.Write(line); err != nil { // the program has ended
				break
			}
		}
		for range t.lines {
		}
	}()
	return t
}

func (t *talk) Talk(line []byte) error {
	if t == nil {
		return ErrHungUp
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrHungUp
	}
	select {
	case t.lines <- line:
		return nil
	default:
		return ErrNoRoom
	}
}

func (t *talk) CloseTalk() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.lines)
	}
}
