package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/testfiles"
)

// commands are the script commands beyond testscript's own.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"within":  within,
	"signal":  signalPID,
	"noprocs": noprocs,
	"crlf":    crlf,
	"rewrite": rewrite,
	"unheard": unheard,
	"beside":  beside,
}

// within DURATION command…: repeats the command until it succeeds (with "!", until it fails),
// at most for that time. It is for what other processes do in their own time.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: within DURATION command…")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	deadline := time.Now().Add(limit)
	builtin := args[1] == "exists" || args[1] == "grep"
	for pause := 10 * time.Millisecond; ; time.Sleep(pause) {
		out, err := output(ts, args[1:])
		if (err == nil) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v for %s: %v\n%s", args[1:], limit, err, out)
		}
		if !builtin { // a program takes more processor time than the pause
			pause = min(2*pause, 100*time.Millisecond)
		}
	}
}

// output runs a program, or one of a few built-in checks: "exists FILE…", "grep REGEXP FILE".
func output(ts *testscript.TestScript, args []string) (string, error) {
	switch args[0] {
	case "exists":
		for _, f := range args[1:] {
			if _, err := os.Stat(ts.MkAbs(f)); err != nil {
				return "", err
			}
		}
		return "", nil
	case "grep":
		data, err := os.ReadFile(ts.MkAbs(args[2]))
		if err != nil {
			return "", err
		}
		re, err := regexp.Compile("(?m)" + args[1])
		ts.Check(err)
		if !re.Match(data) {
			return string(data), os.ErrNotExist
		}
		return "", nil
	}
	cmd := exec.Command(lookPath(ts, args[0]), args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environ(ts)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// environ returns the part of the script's environment that the tests' programs need.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, key := range []string{"PATH", "HOME", "P", "LC_ALL", "TMUX_TMPDIR", "TMPDIR", "WORK", "GREENLIGHT_ROOT", "GL_SESSION", "GL_SLICE", "TERM",
		"FAKE_DIR", "FAKE_CLAUDE", "GORACE", "CLAUDECODE", "CLAUDE_CODE"} {
		if value := ts.Getenv(key); value != "" {
			env = append(env, key+"="+value)
		}
	}
	return env
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 && !info.IsDir() {
			return path
		}
	}
	ts.Fatalf("%s is not on PATH", name)
	return ""
}

// signal SIG FILE [KEY]: signals the process whose pid is in the file; in a JSON file, the
// first "pid" after the key ("signal KILL FILE process"). KILL returns once the process is
// dead, which takes a while on a busy machine.
func signalPID(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: signal SIG FILE [KEY]")
	}
	pid := pidIn(ts, args[1:])
	sig := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "TERM": syscall.SIGTERM,
		"INT": syscall.SIGINT, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
		"HUP": syscall.SIGHUP}[args[0]]
	id, _ := proc.Of(pid) // before the signal, while the pid certainly belongs to this process
	if err := syscall.Kill(pid, sig); (err != nil) != neg {
		ts.Fatalf("signal %s to %d: %v", args[0], pid, err)
	}
	if sig == syscall.SIGKILL && id.PID != 0 {
		awaitDeath(ts, id)
	}
}

// awaitDeath waits until the process has ended. A zombie, which its parent has yet to reap, has
// ended.
func awaitDeath(ts *testscript.TestScript, id proc.ID) {
	for deadline := time.Now().Add(Patience); !id.Dead(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("process %d is still %v after %s", id.PID, id.State(), Patience)
		}
	}
}

// pidIn returns the pid that FILE [KEY] names, for signal and gone.
func pidIn(ts *testscript.TestScript, args []string) int {
	text := ts.ReadFile(args[0])
	if len(args) > 1 {
		_, after, ok := strings.Cut(text, `"`+args[1]+`"`)
		if !ok {
			ts.Fatalf("%s has no %q", args[0], args[1])
		}
		_, text, _ = strings.Cut(after, `"pid":`)
	}
	pid, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(text))
	ts.Check(err)
	return pid
}

// noprocs WORD fails if a process on this machine has the word in its command line or its
// environment. With $WORK it checks that no process started by the script is left; the $WORK of
// quick.txtar isn't part of quick_kill.txtar's, which may run at the same time.
func noprocs(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(Patience); ; time.Sleep(20 * time.Millisecond) {
		left, err := testfiles.Processes(args[0])
		ts.Check(err)
		if (len(left) == 0) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("processes with %q: %s", args[0], left)
		}
	}
}

// crlf FILE…: gives the files Windows line endings.
func crlf(ts *testscript.TestScript, _ bool, args []string) {
	for _, f := range args {
		text := strings.ReplaceAll(ts.ReadFile(f), "\n", "\r\n")
		ts.Check(os.WriteFile(ts.MkAbs(f), []byte(text), 0o644))
	}
}

// rewrite FILE OLD NEW: replaces the only occurrence of OLD; \e stands for the escape
// character.
func rewrite(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if strings.Count(text, args[1]) != 1 {
		ts.Fatalf("%q stands %d times in %s", args[1], strings.Count(text, args[1]), args[0])
	}
	text = strings.Replace(text, args[1], strings.ReplaceAll(args[2], `\e`, "\x1b"), 1)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}
