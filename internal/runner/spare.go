package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"greenlight/internal/attempt"
)

// A spare is a wrapper that is started before there is an attempt for it, since that takes longer than all else between two agents. It waits
// on a pipe for its attempt, with its gate, and has nothing that anybody could lose: when it is killed, the next wrapper is started as any
// is, and when its drain is gone, the pipe is closed and it ends.
type spare struct {
	cmd    *exec.Cmd
	orders *os.File
	rec    *attempt.Record // once it has one
}

// An Assignment is the attempt that a spare is for.
type Assignment struct {
	Slice   string   `json:"slice"`
	N       int      `json:"n"`
	Token   string   `json:"token"`
	Environ []string `json:"environ,omitempty"` // attempt.Record.Environ
}

const (
	pause      = 20 * time.Millisecond // until the next spare is started: the new agent has the processors first
	ordersFD   = 3
	ordersSize = 32 << 10 // bytes, which a pipe takes even if nobody reads
)

// SpareFlag tells a wrapper that it gets its assignment from the file descriptor that TakeAssignment reads.
const SpareFlag = "--spare"

// TakeAssignment waits for the assignment of a spare. The error is io.EOF where its drain needs it no more.
func TakeAssignment() (a Assignment, err error) {
	syscall.CloseOnExec(ordersFD)
	orders := os.NewFile(ordersFD, "orders")
	defer orders.Close()
	data, err := io.ReadAll(orders)
	if err == nil && len(data) == 0 {
		err = io.EOF
	}
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	return a, err
}

// KeepSpares has so many wrappers ready for each Start but the first, until Close.
func (p *Process) KeepSpares(n int) { p.keep = n }

// restock starts the spares that are missing.
func (p *Process) restock() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.spares) < p.keep {
		s := p.startSpare()
		if s == nil {
			return
		}
		p.spares = append(p.spares, s)
	}
}

// Close ends the spares.
func (p *Process) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.spares {
		s.orders.Close()
	}
	p.keep, p.spares = 0, nil
}

// startSpare starts one; nil where that fails: whoever needs a wrapper then says why.
func (p *Process) startSpare() *spare {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer theirs.Close()
	cmd := p.command(WithAgentEnv(p.Env, &attempt.Record{}), WrapperCommand, "--root", p.Root, SpareFlag)
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil
	}
	s := &spare{cmd: cmd, orders: ours}
	go p.awaitSpare(s)
	return s
}

func (p *Process) awaitSpare(s *spare) {
	err := s.cmd.Wait()
	p.mu.Lock()
	rec := s.rec
	if i := slices.Index(p.spares, s); i >= 0 {
		p.spares = slices.Delete(p.spares, i, i+1)
		s.orders.Close()
	}
	p.mu.Unlock()
	if rec != nil {
		p.exits <- Exit{Slice: rec.Slice, N: rec.N, Token: rec.Token, Err: err}
	}
}

// assign gives the spare the attempt, and says whether there was one that takes it.
func (p *Process) assign(r *attempt.Record) bool {
	order, err := json.Marshal(Assignment{r.Slice, r.N, r.Token, r.Environ})
	if err != nil || len(order) > ordersSize {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.spares) == 0 {
		return false
	}
	s := p.spares[0] // which has waited longest, so it is ready
	p.spares = p.spares[1:]
	_, err = s.orders.Write(order)
	if err = errors.Join(err, s.orders.Close()); err != nil { // it is gone
		return false
	}
	s.rec = r
	return true
}

// command is one that runs in a session of its own.
func (p *Process) command(env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(p.Self, args...)
	cmd.Args[0] = "gl"
	cmd.Dir = p.Root
	cmd.Env = env
	if p.Stdout != nil { // a nil *os.File would be taken for a writer
		cmd.Stdout = p.Stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// Expect does nothing: there are spares.
func (p *Process) Expect() {}

// Start starts the wrapper.
func (p *Process) Start(r *attempt.Record) error {
	if !p.assign(r) {
		cmd := p.command(WithAgentEnv(p.Env, r), WrapperArgs(p.Root, r)...)
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start the wrapper of %s: %w", r.Name(), err)
		}
		go func() {
			err := cmd.Wait()
			p.exits <- Exit{Slice: r.Slice, N: r.N, Token: r.Token, Err: err}
		}()
	}
	time.AfterFunc(pause, p.restock)
	return nil
}
