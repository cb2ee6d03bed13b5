package executortest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"greenlight/internal/run/executor"
)

func promiseApart(t *testing.T, s *Subject) {
	j := s.shell(t, `echo one; echo oops >&2; echo two; printf three; printf 'no end' >&2`)
	j.Apart = true
	out, stderr := "one\ntwo\nthree", "oops\nno end"
	if s.Worker { // whose log has whole lines
		out, stderr = out+"\n", stderr+"\n"
	}
	if got := s.run(t, j); got.out != out || got.stderr != stderr {
		t.Errorf("%+v", got)
	}
}

func promiseOneStream(t *testing.T, s *Subject) {
	if got := s.run(t, s.shell(t, `for i in 1 2 3; do echo $i; echo -$i >&2; done`)); got.out != "1\n-1\n2\n-2\n3\n-3\n" || got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

func promiseLongOutput(t *testing.T, s *Subject) {
	j := s.shell(t, `printf 'a\377\000b\n'; head -c 10000000 /dev/zero | tr '\0' x; printf '\nend'; head -c 3000000 /dev/zero | tr '\0' y >&2`)
	j.Apart = true
	got := s.run(t, j)
	want := "a\xff\x00b\n" + strings.Repeat("x", 10_000_000) + "\nend"
	if s.Worker { // whose log has whole lines, and cuts those of stderr
		want += "\n"
		got.stderr = strings.ReplaceAll(got.stderr, "\n", "")
	}
	if got.out != want || len(got.stderr) != 3_000_000 {
		t.Errorf("%d bytes, want %d; stderr %d bytes", len(got.out), len(want), len(got.stderr))
	}
}

// The program is stuck in its write. Its end isn't.
func promiseUnread(t *testing.T, s *Subject) {
	for _, leaves := range []executor.Leaves{executor.Services, executor.Nothing} {
		j := s.shell(t, `: > up; while :; do head -c 1000000 /dev/zero; done`)
		j.Leaves = leaves
		run := s.start(t, j)
		until(t, "its output is full", func() bool { return len(run.Output()) == cap(run.Output()) })
		run.End()
		if res, err := run.Wait(); err != nil || res.Signal != "terminated" {
			t.Errorf("%+v, %v", res, err)
		}
		for range run.Output() {
		}
	}
}

// A process that nothing finds holds the program's stdout open.
func promiseHeldOpen(t *testing.T, s *Subject) {
	j := s.shell(t, `setsid sh -c 'echo $$ > stranger; exec sleep 600' & until test -s stranger; do sleep 0.01; done; echo done`)
	j.Leaves = executor.Services
	begun := time.Now()
	got := s.run(t, j)
	if got.out != "done\n" || !got.OK() || time.Since(begun) > patience/2 {
		t.Errorf("%+v", got)
	}
	if id, ok := identity(t, j.Dir, "stranger"); !ok || !id.Alive() {
		t.Error("the stranger was ended")
	} else {
		_ = id.SignalGroup(9)
	}
}

func promiseLastOutput(t *testing.T, s *Subject) {
	for range 5 {
		j := s.shell(t, `(trap 'echo last; exit' TERM; echo up > up; while :; do sleep 0.01; done) & until test -s up; do sleep 0.01; done; echo first`)
		j.Apart = true // the shell tells of its child's signal
		if got := s.run(t, j); got.out != "first\nlast\n" {
			t.Errorf("%+v", got)
		}
	}
}

func promiseTalk(t *testing.T, s *Subject) {
	j := s.shell(t, `while read line; do echo "heard $line"; done; echo over`)
	j.Talks, j.Apart = true, true
	run := s.start(t, j)
	check(t, run.Talk([]byte("one\n")))
	out := ""
	for out != "heard one\n" {
		c, ok := <-run.Output()
		if c.Note {
			continue
		}
		if out += string(c.Data); !ok || !strings.HasPrefix("heard one\n", out) {
			t.Fatalf("%q", out)
		}
	}
	check(t, run.Talk([]byte("two\n")))
	check(t, run.Talk([]byte(strings.Repeat("x", 200_000)+"\n")))
	run.CloseTalk()
	run.CloseTalk()
	if err := run.Talk([]byte("too late\n")); !errors.Is(err, executor.ErrHungUp) {
		t.Errorf("%v", err)
	}
	if got := finish(run); got.out != "heard two\nheard "+strings.Repeat("x", 200_000)+"\nover\n" || !got.OK() {
		t.Errorf("%.200q, %v", got.out, got.err)
	}

	ended := s.start(t, executor.Job{Argv: []string{"true"}, Dir: j.Dir, Env: j.Env, Talks: true})
	finish(ended)
	for range 3 { // nothing is there to hear it, and nothing is stuck
		if err := ended.Talk([]byte("hello\n")); err != nil {
			t.Errorf("%v", err)
		}
	}
	ended.CloseTalk()
}

func promiseDeafToTalk(t *testing.T, s *Subject) {
	j := s.shell(t, `: > up; exec sleep 600`)
	j.Talks, j.Apart = true, true
	run := s.start(t, j)
	until(t, "it runs", func() bool { return exists(j.Dir, "up") })
	line := []byte(strings.Repeat("x", 100_000) + "\n")
	var err error
	for range 1000 {
		if err = run.Talk(line); err != nil {
			break
		}
	}
	if !errors.Is(err, executor.ErrNoRoom) {
		t.Errorf("%v", err)
	}
	run.End()
	if got := finish(run); got.Signal != "terminated" {
		t.Errorf("%+v", got)
	}
}

func promiseNoTalk(t *testing.T, s *Subject) {
	run := s.start(t, s.shell(t, `read x; echo $?`))
	if err := run.Talk([]byte("hello\n")); !errors.Is(err, executor.ErrHungUp) {
		t.Errorf("%v", err)
	}
	run.CloseTalk()
	if got := finish(run); got.out != "1\n" {
		t.Errorf("%+v", got)
	}
}
