package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/run/attempt"
)

// program is a stand-in for gl: it shows what it was given.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gl.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func exit(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case e := <-p.Exits():
		return e
	case <-time.After(4 * time.Minute):
		t.Fatal("no word of the wrapper's end")
		return Exit{}
	}
}

func TestProcess(t *testing.T) {
	root := t.TempDir()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	self := program(t, `pwd; echo "$@"; echo "NAME=$NAME, HOME=$HOME"; exit 3`)
	p := NewProcess(self, root, []string{"NAME=value", "PATH=" + os.Getenv("PATH")}, out, 1)
	rec := &attempt.Record{ID: attempt.Identity{Slice: "S-1.2", N: 3, Token: "tok"}}
	if err := p.Start(rec); err != nil {
		t.Fatal(err)
	}
	e := exit(t, p)
	if e.Slice != "S-1.2" || e.N != 3 || e.Token != "tok" || e.Err == nil || !strings.Contains(e.Err.Error(), "3") {
		t.Errorf("%+v", e)
	}
	data, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := filepath.EvalSymlinks(root)
	for _, want := range []string{dir + "\n", "attempt --root " + root + " --slice S-1.2 --n 3 --token tok\n", "NAME=value, HOME=\n"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %q in %s", want, data)
		}
	}
}

// A wrapper is no part of gl's session and group, so that what ends gl doesn't end it.
func TestProcessHasItsOwnSession(t *testing.T) {
	p := NewProcess(program(t, "exec sleep 600"), t.TempDir(), os.Environ(), nil, 1)
	if err := p.Start(&attempt.Record{ID: attempt.Identity{Slice: "S-1", N: 1}}); err != nil {
		t.Fatal(err)
	}
	children, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,pgid=").Output()
	if err != nil {
		t.Skip("no ps here")
	}
	pid := ""
	for _, line := range strings.Split(string(children), "\n") {
		f := strings.Fields(line)
		if len(f) == 3 && f[1] == strconv.Itoa(os.Getpid()) && f[0] == f[2] {
			pid = f[0]
		}
	}
	if pid == "" {
		t.Fatalf("no child leads a group of its own:\n%s", children)
	}
	if err := exec.Command("kill", "-TERM", pid).Run(); err != nil {
		t.Fatal(err)
	}
	if e := exit(t, p); !strings.Contains(e.Err.Error(), syscall.SIGTERM.String()) {
		t.Errorf("%v", e.Err)
	}
}

func TestProcessCantStart(t *testing.T) {
	p := NewProcess(filepath.Join(t.TempDir(), "none"), t.TempDir(), nil, nil, 1)
	err := p.Start(&attempt.Record{ID: attempt.Identity{Slice: "S-1", N: 2}})
	if err == nil || !strings.Contains(err.Error(), "S-1.2") {
		t.Errorf("%v", err)
	}
}
