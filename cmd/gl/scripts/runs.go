package scripts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"greenlight/internal/base/proc"
)

// runs are the script commands that start gl and check the results; they are added to commands.
var runs = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"project":   makeProject,
	"code":      code,
	"start":     start,
	"finish":    finish,
	"gone":      gone,
	"is":        is,
	"tree":      tree,
	"order":     order,
	"atmost":    atMost,
	"accounted": accounted,
	"numbers":   numbers,
	"estimated": estimated,
}

// project DIR SLICE…: creates a project; a SLICE is "S-3" or, with its dependencies,
// "S-3:S-1,S-2".
func makeProject(ts *testscript.TestScript, _ bool, args []string) {
	dir := filepath.Join(ts.MkAbs(args[0]), ".greenlight", "slices")
	ts.Check(os.MkdirAll(dir, 0o755))
	for _, s := range args[1:] {
		id, deps, _ := strings.Cut(s, ":")
		text := fmt.Sprintf("---\nid: %s\nstatus: pending\nstep: none\nmilestone: m1\nstarted:\nupdated: 2026-01-02T03:04:05Z\n"+
			"tests: 0\nsecurity_tests: 0\nsession:\ndeps: %s\n---\n\n# %s: Name of %s\n", id, deps, id, id)
		ts.Check(os.WriteFile(filepath.Join(dir, id+".md"), []byte(text), 0o644))
	}
}

// code N PROGRAM ARG…: runs a program, which must end with that exit code. stdout and stderr
// are the program's.
func code(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// start NAME PROGRAM ARG…: starts a program beside the script. Its output and pid are in
// NAME.out, NAME.err and NAME.pid in $WORK.
func start(ts *testscript.TestScript, _ bool, args []string) {
	base := filepath.Join(ts.Getenv("WORK"), args[0])
	out, err := os.Create(base + ".out")
	ts.Check(err)
	errs, err := os.Create(base + ".err")
	ts.Check(err)
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environ(ts), out, errs
	ts.Check(cmd.Start())
	out.Close()
	errs.Close()
	ts.Check(os.WriteFile(base+".pid", []byte(strconv.Itoa(cmd.Process.Pid)+"\n"), 0o644))
	started := ts.Value(startedKey{}).(map[string]*background)
	b := &background{cmd: cmd, done: make(chan struct{})}
	started[args[0]] = b
	go func() {
		cmd.Wait()
		close(b.done)
	}()
	ts.Defer(func() {
		cmd.Process.Kill()
		<-b.done
	})
}

type startedKey struct{}

type background struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// finish NAME CODE: waits until the program has ended; it must end with the exit code, -1 for a
// signal.
func finish(ts *testscript.TestScript, _ bool, args []string) {
	b := ts.Value(startedKey{}).(map[string]*background)[args[0]]
	base := filepath.Join(ts.Getenv("WORK"), args[0])
	select {
	case <-b.done:
	case <-time.After(Patience):
		ts.Fatalf("%s is still there\n%s%s", args[0], ts.ReadFile(base+".out"),
			ts.ReadFile(base+".err"))
	}
	if got := strconv.Itoa(b.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, not %s\n%s%s", got, args[1], ts.ReadFile(base+".out"),
			ts.ReadFile(base+".err"))
	}
}

// gone FILE [KEY]: the process has ended, or ends soon. FILE and KEY name it as for signal.
func gone(ts *testscript.TestScript, _ bool, args []string) {
	id, err := proc.Of(pidIn(ts, args))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	ts.Check(err)
	awaitDeath(ts, id)
}

// is ID KEY=VALUE…: the slice's file in the current directory's project has these values.
// "status=" is for none.
func is(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(filepath.Join(".greenlight", "slices", args[0]+".md"))
	for _, a := range args[1:] {
		key, want, _ := strings.Cut(a, "=")
		_, after, _ := strings.Cut("\n"+text, "\n"+key+":")
		got, _, _ := strings.Cut(after, "\n")
		if got = strings.Trim(got, " \r\""); got != want {
			ts.Fatalf("%s: %s is %q, not %q\n%s", args[0], key, got, want, text)
		}
	}
}

// tree DIR FILE: writes every file below DIR with its mode, time and content's hash, so that
// two states can be compared.
func tree(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(&b, "%s %s %d %x\n", path, info.Mode(), info.ModTime().UnixNano(),
			sha256.Sum256(data))
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o644))
}

// order FILE LINE…: each of these lines is in the file once, and in this order.
func order(ts *testscript.TestScript, _ bool, args []string) {
	lines := strings.Split(ts.ReadFile(args[0]), "\n")
	at := -1
	for _, want := range args[1:] {
		found := -1
		for i, l := range lines {
			if l != want {
				continue
			}
			if found >= 0 {
				ts.Fatalf("%q stands twice in %q", want, lines)
			}
			found = i
		}
		if found <= at {
			ts.Fatalf("%q is not where it should be in %q", want, lines)
		}
		at = found
	}
}

// atmost N FILE: by this ledger, at most N fake agents ran at any time, and N of them did.
func atMost(ts *testscript.TestScript, _ bool, args []string) {
	most, now := 0, 0
	for _, l := range strings.Split(ts.ReadFile(args[1]), "\n") {
		switch word, _, _ := strings.Cut(l, " "); word {
		case "begin":
			now++
			most = max(most, now)
		case "end":
			now--
		}
	}
	if strconv.Itoa(most) != args[0] {
		ts.Fatalf("%d at a time, not %s\n%s", most, args[0], ts.ReadFile(args[1]))
	}
}
