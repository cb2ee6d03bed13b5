package runner_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/run/runner"
)

// What every runner promises: an attempt goes the same way, whatever shows it.
var promises = map[string]func(t *testing.T, s *site, r runner.Runner){
	"an agent's work is done":             promiseDone,
	"an agent's failure is told":          promiseFailure,
	"a missing program is told":           promiseMissing,
	"words arrive as they are":            promiseWords,
	"the whole environment arrives":       promiseEnvironment,
	"an agent has no terminal":            promiseNoTerminal,
	"stopping ends it":                    promiseStop,
	"a wrapper that is killed is noticed": promiseKilled,
	"a hang-up ends nothing":              promiseHangup,
	"a claim that is gone starts nothing": promiseLate,
	"starting twice starts one":           promiseTwice,
	"start doesn't wait for the agent":    promiseStart,
	"many at a time":                      promiseMany,
}

func TestConformance(t *testing.T) {
	for name, newRunner := range runners {
		for what, promise := range promises {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, `it's a.b:c #(touch x) $HOME;`)
				s.slice("S-1", "")
				promise(t, s, newRunner(s))
			})
		}
	}
}

func promiseDone(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", `echo "I work in $PWD"; echo oops >&2; gl state set S-1 status=complete tests=4 && echo done`)
	check(t, r.Start(rec))
	final := s.settled(rec)
	if final.Judged.Outcome != outcome.Done || s.status("S-1") != "complete" {
		t.Errorf("%s (%s), slice %s", final.Judged.Outcome, final.Judged.Detail, s.status("S-1"))
	}
	log := s.read(".greenlight", "runs", "log", "S-1.1.log")
	for _, want := range []string{"I work in " + s.Root + "\n", `{"gl":"stderr","text":"oops"}` + "\n", "done\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q: %q", want, log)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Root, "x")); err == nil {
		t.Error("the directory's name was run")
	}
}

func promiseFailure(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", "echo no luck >&2; exit 7")
	check(t, r.Start(rec))
	if final := s.settled(rec); final.Judged.Outcome != outcome.Failed || final.Judged.Detail != "exit 7: no luck" || s.status("S-1") != "failed" {
		t.Errorf("%s (%s), slice %s", final.Judged.Outcome, final.Judged.Detail, s.status("S-1"))
	}
}

func promiseMissing(t *testing.T, s *site, r runner.Runner) {
	a, err := agent.Find("gone", agent.Config{Custom: map[string]agent.Custom{"gone": {Command: []string{"no-such-program-here"}}}})
	check(t, err)
	rec := s.claimFor("S-1", a)
	check(t, r.Start(rec))
	if final := s.settled(rec); final.Judged.Outcome != outcome.Failed || final.Judged.Evidence.Missing != "no-such-program-here" {
		t.Errorf("%s (%s)", final.Judged.Outcome, final.Judged.Detail)
	}
}

func promiseWords(t *testing.T, s *site, r runner.Runner) {
	words := []string{"a;", ";", `\;`, "$(touch y)", "`touch y`", "#(touch y)", "two words", "new\nline", "", "ünïcödé", "'", `"`}
	rec := s.claim("S-1", `printf '%s\0' "$@" >words`, words...)
	check(t, r.Start(rec))
	s.settled(rec)
	if got := s.read("words"); got != strings.Join(words, "\x00")+"\x00" {
		t.Errorf("words %q", got)
	}
}

func promiseEnvironment(t *testing.T, s *site, r runner.Runner) {
	large := "LARGE=" + strings.Repeat("0123456789", 10_000)
	lines := "LINES_OF=one\ntwo\n\nfour"
	env := append(slices.Clone(s.env), large, lines, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_USE_BEDROCK=1",
		"GREENLIGHT_ROOT=/elsewhere", "GL_SESSION=another", "SEMICOLON=;", "EMPTY=", "TMUX=/somewhere/else,1,0", "TMUX_PANE=%7")
	switch r := r.(type) {
	case *runner.Process:
		r.Env = env
	case *runner.Tmux:
		// The server begins with another environment, and already exists.
		first := s.claim("S-1", "gl state set S-1 status=complete")
		check(t, r.Start(first))
		s.settled(first)
		s.slice("S-1", "")
		r.Env = env
	}
	rec := s.claim("S-1", `env -0 >env; ls -ld .greenlight/runs/env/* >left 2>&1; exit 1`)
	check(t, r.Start(rec))
	s.settled(rec)
	got := strings.Split(s.read("env"), "\x00")
	for _, want := range []string{large, lines, "CLAUDE_CODE_USE_BEDROCK=1", "SEMICOLON=;", "EMPTY=", "HOME=" + s.dir,
		"GREENLIGHT_ROOT=" + s.Root, "GL_SLICE=S-1", "GL_SESSION=" + rec.ID.Token} {
		if !slices.Contains(got, want) {
			t.Errorf("no %.80q in the agent's environment", want)
		}
	}
	for _, kv := range got {
		if name, _, _ := strings.Cut(kv, "="); name == "CLAUDECODE" || name == "CLAUDE_CODE_ENTRYPOINT" || name == "GL_PROGRAM" {
			t.Errorf("the agent has %.80q", kv)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(s.Runs.Files.Dir(), "env", "*")); len(left) > 0 || strings.Contains(s.read("left"), "S-1") {
		t.Errorf("the environment was left in a file: %q, while the agent ran: %q", left, s.read("left"))
	}
}

func promiseNoTerminal(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", `{ readlink /proc/$$/fd/0; (: </dev/tty) 2>/dev/null && echo a terminal; test -t 1 && echo stdout; ps -o pgid= -o sid= -p $$; echo $$; } >seen`)
	check(t, r.Start(rec))
	s.settled(rec)
	f := strings.Fields(s.read("seen"))
	if n := len(f); strings.Contains(s.read("seen"), "terminal") || n < 3 || f[n-1] != f[n-2] || f[n-1] != f[n-3] {
		t.Errorf("the agent sees %q", s.read("seen"))
	}
	if f[0] != os.DevNull && f[0][0] == '/' {
		t.Errorf("stdin is %s", f[0])
	}
}

func promiseStop(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun+"sleep 600 & exec sleep 600")
	check(t, r.Start(rec))
	rec = s.running(rec)
	settler := s.Settler()
	final, err := settler.Stop(t.Context(), rec)
	check(t, err)
	if final.Judged.Outcome != outcome.Interrupted || s.status("S-1") != "pending" || rec.Life.Process.Alive() {
		t.Errorf("%s (%s), slice %s", final.Judged.Outcome, final.Judged.Detail, s.status("S-1"))
	}
}

func promiseKilled(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun+"exec sleep 600")
	check(t, r.Start(rec))
	rec = s.running(rec)
	check(t, rec.Life.Wrapper.Signal(syscall.SIGKILL))
	until(t, "the wrapper is dead", rec.Life.Wrapper.Dead)
	settler := s.Settler()
	final, err := settler.Recover(t.Context(), rec)
	check(t, err)
	if final == nil || final.Judged.Outcome != outcome.Crashed || rec.Life.Process.Alive() {
		t.Errorf("%+v", final)
	}
}

func promiseHangup(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun+"while [ ! -e go ]; do sleep 0.02; done; gl state set S-1 status=complete")
	check(t, r.Start(rec))
	rec = s.running(rec)
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTSTP} {
		check(t, rec.Life.Wrapper.Signal(sig))
	}
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	if final := s.settled(rec); final.Judged.Outcome != outcome.Done {
		t.Errorf("%s (%s)", final.Judged.Outcome, final.Judged.Detail)
	}
}

func promiseLate(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun)
	settler := s.Settler()
	check(t, settler.GiveBack(t.Context(), rec))
	check(t, r.Start(rec))
	select {
	case e := <-r.Exits():
		if e.Slice != "S-1" || e.N != 1 || e.Token != rec.ID.Token {
			t.Errorf("exit of %s.%d", e.Slice, e.N)
		}
	case <-time.After(testfiles.Patience):
		t.Error("no exit of the wrapper that is gone")
	}
	if s.read("begun") != "" || s.status("S-1") != "pending" || s.Runs.IsOpen("S-1.1") {
		t.Errorf("it ran: %q, slice %s", s.read("begun"), s.status("S-1"))
	}
}

func promiseTwice(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun+"while [ ! -e go ]; do sleep 0.02; done; gl state set S-1 status=complete")
	check(t, r.Start(rec))
	check(t, r.Start(rec))
	s.running(rec)
	for range 2 { // of the one that came late, and, from tmux at once, from others at its end, of the other
		if _, ok := r.(*runner.Tmux); ok {
			<-r.Exits()
		}
	}
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	if final := s.settled(rec); final.Judged.Outcome != outcome.Done || strings.Count(s.read("begun"), "\n") != 1 {
		t.Errorf("%s (%s), agents: %q", final.Judged.Outcome, final.Judged.Detail, s.read("begun"))
	}
}

func promiseStart(t *testing.T, s *site, r runner.Runner) {
	rec := s.claim("S-1", begun+"while [ ! -e go ]; do sleep 0.02; done")
	check(t, r.Start(rec)) // would never return
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	s.settled(rec)
}

func promiseMany(t *testing.T, s *site, r runner.Runner) {
	ids := strings.Fields("S-1 S-2 S-3 S-4 S-5 S-6 S-7 S-8 S-9 S-10 S-11 S-12")
	for _, id := range ids {
		s.slice(id, "")
	}
	for _, id := range ids {
		check(t, r.Start(s.claim(id, begun+"while [ ! -e go ]; do sleep 0.05; done; gl state set $GL_SLICE status=complete")))
	}
	until(t, "all have begun", func() bool { return strings.Count(s.read("begun"), "\n") == len(ids) })
	check(t, os.WriteFile(filepath.Join(s.Root, "go"), nil, 0o644))
	go func() {
		for range r.Exits() { // so that sending doesn't block
		}
	}()
	for _, id := range ids {
		until(t, id+" is complete", func() bool { return s.status(id) == "complete" && !s.Runs.IsOpen(id+".1") })
	}
}

// A log is the agent's stdout byte for byte, also a line of megabytes, whatever becomes of the pane
// meanwhile.
func TestLongOutput(t *testing.T) {
	for name, newRunner := range runners {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, "shop")
			s.slice("S-1", "")
			rec := s.claim("S-1", "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end")
			check(t, newRunner(s).Start(rec))
			s.settled(rec)
			in := bufio.NewReader(strings.NewReader(s.read(".greenlight", "runs", "log", "S-1.1.log")))
			var sizes []int
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					break
				}
				sizes = append(sizes, len(line))
			}
			if len(sizes) != 3002 || sizes[3000] != 3_000_001 {
				t.Errorf("%d lines", len(sizes))
			}
		})
	}
}
