package rehearsal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The steps of a slice before it is complete.
var walk = [...]string{"tests", "implementing", "security", "verifying"}

// Command is the hidden command of gl that runs this agent.
const Command = "rehearsal-agent"

const (
	exitFailed     = 1
	exitUsage      = 2
	exitFail       = 7 // exit code of the fault "fail"; gl itself never uses it
	exitTerminated = 143
)

// Main is the agent. args is what follows "gl rehearsal-agent": [--spec SPEC] [--prompt PROMPT]
// [SLICE]; self is the path of gl, with which it changes the state of projects that aren't
// Greenlight's own. The environment gives GREENLIGHT_ROOT (required), GL_SLICE (default: the
// argument), GL_ATTEMPT (default 1) and GL_SESSION. It writes its stream to stdout and returns
// the exit code; the fault "crash" doesn't return. When ctx ends or SIGTERM arrives, it returns
// 143 at once, without a result event.
func Main(ctx context.Context, self string, args []string, env func(string) string,
	stdout, stderr io.Writer) int {
	start := time.Now()
	j, err := readJob(args, env, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "gl rehearsal-agent: %v\n", err)
		return exitUsage
	}
	j.gl = runGL(self, j.root)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	p := player{
		job:    j,
		fate:   j.spec.Fate(j.slice, j.attempt),
		start:  start,
		work:   newWorker(ctx, &j),
		out:    &stream{w: stdout, session: j.session, start: start, cost: j.spec.Cost},
		stderr: stderr,
	}
	return p.play(ctx)
}

// A job is what the command line and the environment ask for.
type job struct {
	spec    Spec
	root    string
	slice   string
	session string
	attempt int
	prompt  string // the slash command; "" counts as Greenlight's
	gl      glCommand
}

// isTask reports whether the job is a task rather than a slice: gl quick and the like.
func (j *job) isTask() bool { return strings.HasPrefix(j.slice, "@") }

func readJob(args []string, env func(string) string, stderr io.Writer) (job, error) {
	flags := flag.NewFlagSet("gl rehearsal-agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the caller reports the error
	text := flags.String("spec", "", "what happens, such as seed=1,step=200ms,crash=5%")
	prompt := flags.String("prompt", "", "the slash command that the agent is given")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(stderr,
				"usage: gl rehearsal-agent [--spec SPEC] [--prompt PROMPT] [SLICE]")
		}
		return job{}, err
	}
	spec, err := ParseSpec(*text)
	if err != nil {
		return job{}, err
	}
	j := job{spec: spec, root: env("GREENLIGHT_ROOT"), slice: env("GL_SLICE"),
		session: env("GL_SESSION"), attempt: 1, prompt: *prompt}
	if j.slice == "" {
		j.slice = flags.Arg(0)
	}
	if flags.NArg() > 1 || j.slice == "" {
		return job{}, errors.New("which slice? give one id, or set GL_SLICE")
	}
	if j.root == "" {
		return job{}, errors.New("GREENLIGHT_ROOT isn't set: run gl slice --agent rehearsal, which sets it")
	}
	if n := env("GL_ATTEMPT"); n != "" {
		if j.attempt, err = strconv.Atoi(n); err != nil || j.attempt < 1 {
			return job{}, fmt.Errorf("GL_ATTEMPT is %q, not a number from 1", n)
		}
	}
	return j, nil
}

// A player is a running attempt.
type player struct {
	job    job
	fate   Fate
	start  time.Time
	work   worker
	out    *stream
	stderr io.Writer
}

func (p *player) play(ctx context.Context) int {
	p.out.init(p.job.root, p.commands())
	for i, step := range walk {
		// Each step begins at its own time from the start, so that the cost of writing state
		// doesn't accumulate.
		if !p.waitUntil(ctx, p.fate.Step*time.Duration(i)) {
			return exitTerminated
		}
		if err := p.enter(ctx, i, step); err != nil {
			return p.broken(ctx, err)
		}
		if i == p.fate.AtStep {
			break
		}
	}
	if !p.waitUntil(ctx, p.fate.Duration) {
		return exitTerminated
	}
	code, err := p.end(ctx)
	if err != nil {
		return p.broken(ctx, err)
	}
	return code
}

func (p *player) commands() []string {
	if p.fate.Kind == NoCommand {
		return []string{"clear", "compact"}
	}
	return []string{"gl:slice", "gl:quick", "gl:wrap", "gl:assess", "gl:map", "gl:ship",
		"clear", "compact"}
}

// waitUntil waits until the attempt has run for age. It returns false if the attempt must end
// now.
func (p *player) waitUntil(ctx context.Context, age time.Duration) bool {
	timer := time.NewTimer(age - time.Since(p.start))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// enter begins a step: text, and a tool call that writes the state.
func (p *player) enter(ctx context.Context, i int, step string) error {
	if p.fate.Kind == NoCommand { // it never learned that there is state to write
		p.out.say("I don't know what /gl:slice means.")
		return p.out.err
	}
	p.out.say(fmt.Sprintf("%s: %s", p.job.slice, step))
	return p.do(ctx)(p.work.enter(ctx, i))
}

// do returns a function that makes tool calls.
func (p *player) do(ctx context.Context) func([]call, error) error {
	return func(calls []call, err error) error {
		for _, c := range calls {
			if err != nil {
				break
			}
			id := p.out.call(c.command)
			if c.do != nil {
				err = c.do(ctx)
			}
			if err == nil {
				p.out.answer(id, "ok", false)
				err = p.out.err
				continue
			}
			p.out.answer(id, err.Error(), true)
			if seen := (toolError{}); errors.As(err, &seen) {
				err = p.out.err
			}
		}
		if err != nil && !errors.Is(err, p.out.err) {
			err = fmt.Errorf("write the state of %s: %w", p.job.slice, err)
		}
		return err
	}
}

// end plays the end of the fate, after all steps.
func (p *player) end(ctx context.Context) (code int, err error) {
	switch p.fate.Kind {
	case Complete, Red, Clash:
		err = p.complete(ctx)
	case Crash:
		err = kill()
	case Hang:
		<-ctx.Done()
		code = exitTerminated
	case Fail:
		fmt.Fprintf(p.stderr, "rehearsal: %s fails in attempt %d, as asked\n", p.job.slice,
			p.job.attempt)
		code = exitFail
	case Turns:
		p.out.turnLimit()
		code = exitFailed
	case Limit:
		reset := p.job.spec.Reset
		p.out.rateLimit(time.Now().Add(reset), reset%time.Second == 0)
		code = exitFailed
	case Outage:
		p.out.outage()
		code = exitFailed
	case Park:
		err = p.park(ctx)
	case Refuse:
		p.out.denied("go test ./...")
	default: // Quit, NoCommand
		p.out.result(object{"result": "That is all for now."})
	}
	return code, errors.Join(err, p.out.err)
}

func (p *player) complete(ctx context.Context) error {
	err := p.do(ctx)(p.work.complete(ctx, p.fate))
	if err == nil {
		p.out.result(object{"result": p.job.slice + " is complete"})
	}
	return err
}

func (p *player) park(ctx context.Context) error {
	err := p.do(ctx)(p.work.park(ctx))
	if err == nil {
		p.out.result(object{"result": p.job.slice + " waits for a person"})
	}
	return err
}

// kill ends this process the way the kernel does when memory is short.
func kill() error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill: %w", err)
	}
	select {} // the signal is on its way
}

// broken returns the exit code after an error that the spec didn't ask for.
func (p *player) broken(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return exitTerminated
	}
	fmt.Fprintf(p.stderr, "gl rehearsal-agent: %v\n", err)
	return exitFailed
}
