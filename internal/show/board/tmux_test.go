package board_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli"
	"greenlight/internal/run/project/projecttest"
)

// TestMain makes the test binary act as gl when it is called as gl.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "gl" || os.Getenv("GREENLIGHT_TEST_GL") == "1" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}

// A screen is gl board in a tmux of its own.
type screen struct {
	t      testing.TB
	socket string
	dir    string // of the project
	gl     string
}

func slice(id, status, more string) string {
	return fmt.Sprintf("---\nid: %s\nname: Name of %s\nstatus: %s\nstep: none\n%s---\n\n# %s\n", id, id, status, more, id)
}

func open(t testing.TB, files map[string]string, env ...string) *screen {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &screen{t, filepath.Join(dir, "tmux"), projecttest.Write(t, files), filepath.Join(dir, "gl")}
	if err := os.Symlink(self, s.gl); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", s.socket, "kill-server").Run() })
	// The shell stays when the board closes, and prints a line.
	argv := []string{"-f", os.DevNull, "new-session", "-d", "-x", "100", "-y", "30", "-c", s.dir}
	for _, e := range append([]string{"HOME=" + dir, "GREENLIGHT_ROOT=", "GREENLIGHT_TEST_GL=1", "GL_PAGER=cat", "CLAUDECODE=", "CLAUDE_CODE=", "LC_ALL=C.UTF-8"}, env...) {
		argv = append(argv, "-e", e)
	}
	s.tmux(append(argv, s.gl+" board; echo closed with $?; exec sleep 1000")...)
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (s *screen) press(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

func (s *screen) text() string { s.t.Helper(); return s.tmux("capture-pane", "-p") }

// shows waits until the screen matches the pattern.
func (s *screen) shows(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	text := ""
	for end := time.Now().Add(testfiles.Patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if text = s.text(); re.MatchString(text) {
			return
		}
	}
	s.t.Fatalf("never %q on the screen:\n%s", pattern, text)
}

// command returns a gl command on the project, beside the board.
func (s *screen) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.gl, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "GREENLIGHT_TEST_GL=1", "HOME="+filepath.Dir(s.gl), "CLAUDECODE=", "CLAUDE_CODE=")
	return cmd
}

func (s *screen) run(args ...string) string {
	out, _ := s.command(args...).CombinedOutput()
	return string(out)
}

// A board in a real terminal follows the files, runs gl for keys, follows the terminal's size,
// and restores the terminal.
func TestInTerminal(t *testing.T) {
	s := open(t, map[string]string{
		"slices/S-1.md": slice("S-1", "complete", "tests: 3\n"), "slices/S-2.md": slice("S-2", "failed", ""),
		"slices/S-3.md": slice("S-3", "pending", "deps: S-2\n"), "slices/S-4.md": slice("S-4", "verifying", "waiting_for: a look\n"),
	})
	s.shows(`(?s)^1/4 done \| 0 running \| 1 failed \| 1 needs you \| no run.*Needs you \(1\).*> S-4 .*waiting for a look.*Blocked \(1\).*Failed \(1\).*Done \(1\)`)
	s.run("add-slice", "Another one") // another process changes the project
	s.shows(`^1/5 done`)
	s.press("Right")
	s.shows(`> S-0?5 `)
	s.press("/", "f", "a", "i", "l", "e", "d", "Enter")
	s.shows(`filter "failed": 1 row`)
	s.press("w")
	s.shows(`(?s)─ S-2 Name of S-2: why ─.*\nS-2 failed`)
	s.press("q")
	s.shows(`> S-2 `)
	s.press("r")
	s.shows(`(?s)0 running \| 1 needs you.*gl slice --watch starts it`) // what it says doesn't come later
	s.press("Escape")
	s.shows(`Ready \(2\)`)
	s.press("g", "a")
	s.shows(`(?s)^2/5 done.*\nS-4 is complete`) // until the next key
	s.press("Tab")
	s.shows(`(?m)^Layer 1`)
	s.tmux("resize-window", "-x", "40", "-y", "10")
	s.shows(`(?m)…  \? help  q quit$`)
	s.press("?")
	s.shows(`The selected slice`)
	s.press("G")
	s.shows(`J K +the same of the next slice`)
	s.press("q", "q")
	s.shows(`closed with 0`)
	if strings.Contains(s.text(), "Layer 1") {
		t.Errorf("the board is still on the screen:\n%s", s.text())
	}
}

// socketDir returns the directory for the sockets of the servers that gl starts; they end with the
// test.
func socketDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "glb") // t.TempDir's names are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		list, _ := filepath.Glob(filepath.Join(dir, "tmux-*", "*"))
		for _, socket := range list {
			_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
		}
		os.RemoveAll(dir)
	})
	t.Setenv("TMUX_TMPDIR", dir)
	t.Setenv("TMUX", "")
	return dir
}

// n starts a run that goes on when the board is closed, and : completes as a shell does.
func TestStartFromBoard(t *testing.T) {
	s := open(t, map[string]string{
		"config.json":   `{"git": {"isolation": "shared"}, "parallel": {"agent": "rehearsal:here,step=600s"}}`,
		"slices/S-1.md": slice("S-1", "pending", ""),
	}, "TMUX_TMPDIR="+socketDir(t))
	t.Cleanup(func() {
		s.run("stop", "--all")
		testfiles.Until(t, "the run's end", func() bool { // or it writes while the project is removed
			out, err := exec.Command("ps", "axeww", "-o", "command").Output()
			testfiles.Check(t, err)
			return !regexp.MustCompile("slice --watch.*" + regexp.QuoteMeta(s.dir)).Match(out)
		})
	})
	s.shows(`> S-1 `)
	s.press(":")
	s.press("-l", "wh")
	s.shows(`(?s)why +Explain.*gl> wh█`)
	s.press("Tab")
	s.shows(`(?s)S-1 +Name of S-1\s.*gl> why █`)
	s.press("Tab", "Enter")
	s.shows(`(?s)─ S-1 Name of S-1: why|S-1 is ready`)
	s.press("Escape")
	s.shows(`q quit`) // the panel is closed; sooner, the terminal would read Escape and n as one key
	s.press("n")
	s.shows(`start 1 ready slice with rehearsal, .*\[y/n\]`)
	s.press("y")
	s.shows(`(?m)^Running \(1\)`)
	s.press("q")
	s.shows(`closed with 0`)
	if text := s.run("status"); !strings.Contains(text, "Running:") {
		t.Errorf("closing the board ended the run:\n%s", text)
	}
}

// Without colors and on the smallest terminal the board shows the same facts.
func TestSmallAndPlain(t *testing.T) {
	s := open(t, map[string]string{"slices/S-1.md": slice("S-1", "failed", "")}, "NO_COLOR=1")
	s.tmux("resize-window", "-x", "40", "-y", "10")
	s.shows(`(?s)^0/1 done \| 0 running \| 1 failed.*> S-1  Name of S-1  failed`)
	s.tmux("resize-window", "-x", "24")
	s.shows(`(?s)^0/1 \| 1 failed\n.*> S-1`)
	if text := s.tmux("capture-pane", "-p", "-e"); regexp.MustCompile(`\x1b\[(3\d|1|2)m`).MatchString(text) {
		t.Errorf("there are colors: %q", text)
	}
	s.press("C-c")
	s.shows(`closed with`)
}

// With 500 slices, a run is killed while the board is open, and another one takes over.
func TestRunComesBack(t *testing.T) {
	if !testfiles.Long() {
		t.Skip("in make pages")
	}
	files := map[string]string{}
	for i := range 500 {
		files[fmt.Sprintf("slices/S-%d.md", i+1)] = slice(fmt.Sprint("S-", i+1), "pending", "")
	}
	s := open(t, files)
	s.shows(`0/500 done \| 0 running \| no run`)
	begin := func() *exec.Cmd {
		cmd := s.command("slice", "--watch", "--runner", "process", "--max", "2", "--agent", "rehearsal:here,step=600s")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	t.Cleanup(func() { s.run("stop", "--all") })
	first := begin()
	s.shows(`0/500 done \| 2 running \| run active`)
	_ = first.Process.Kill()
	_ = first.Wait()
	s.shows(`0/500 done \| 2 running \| no run`)
	second := begin()
	s.shows(`0/500 done \| 2 running \| run active`)
	s.press("G")
	s.shows(`> S-500 `)
	s.press("g", "Space")
	s.shows(`S-\d+: tests`)

	s.run("stop", "--all")
	s.shows(`0 running`)
	_ = second.Wait()
	s.press("Space")

	// The board's cost while nothing happens is logged, not asserted: it depends on the
	// machine.
	pid, err := strconv.Atoi(strings.TrimSpace(s.tmux("display-message", "-p", "#{pane_pid}")))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second) // until the last files have been read
	before := ticks(t, pid)
	time.Sleep(20 * time.Second)
	t.Logf("idle: %.2f %% of a processor in 20 s", float64(ticks(t, pid)-before)/20)
	s.press("q")
	s.shows(`closed with 0`)
}

// ticks returns the processor time of a shell's children, in hundredths of a second.
func ticks(t *testing.T, shell int) (sum int) {
	list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", shell, shell))
	for _, child := range strings.Fields(string(list)) {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
		user, _ := strconv.Atoi(f[12])
		system, _ := strconv.Atoi(f[13])
		sum += user + system
	}
	return sum
}

// pick selects a slice by the filter, and closes the filter.
func (s *screen) pick(id string) {
	s.t.Helper()
	s.press("/")
	s.shows(`filter> █`)
	s.press("-l", "of "+id)
	s.press("Enter")
	s.shows(`(?m)^> ` + id + ` `)
	s.press("Escape")
	s.shows(`(?s)> ` + id + ` .*\? help`)
}

// click clicks the mouse at a column and a row, counted from 1.
func (s *screen) click(x, y int) {
	s.t.Helper()
	s.press("-l", fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x, y, x, y))
}

// TestEveryKey types every key of the board during a run.
func TestEveryKey(t *testing.T) {
	if !testfiles.Long() {
		t.Skip("in make pages")
	}
	sockets := socketDir(t)
	s := open(t, map[string]string{
		"config.json":   `{"git": {"isolation": "shared"}, "parallel": {"max": 1}}`,
		"slices/S-1.md": slice("S-1", "complete", "tests: 3\n"), "slices/S-2.md": slice("S-2", "failed", ""), "slices/S-3.md": slice("S-3", "pending", "deps: S-2\n"),
		"slices/S-4.md": slice("S-4", "verifying", "waiting_for: a look\n"), "slices/S-5.md": slice("S-5", "tests", "waiting_for: which color?\n"),
		"slices/S-6.md": slice("S-6", "pending", ""), "slices/S-7.md": slice("S-7", "verifying", "waiting_for: a look\n"), "slices/S-8.md": slice("S-8", "pending", ""),
	}, "TMUX_TMPDIR="+sockets)
	t.Cleanup(func() { s.run("stop", "--all") })
	run := s.command("slice", "--watch", "--runner", "tmux", "--agent", "rehearsal:here,step=600s")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	s.shows(`1 running .*run active \| up to 1 agent`)

	s.pick("S-6")
	s.press("Space")
	s.shows(`(?s)S-6: tests.*m> say something`)
	s.press("m")
	s.shows(`say> █`)
	s.press("-l", "use cents")
	s.shows(`(?s)S-6: tests.*say> use cents█.*enter sends it`)
	s.press("Enter")
	// a rehearsal reads no messages
	s.shows(`(?s)m> say something.*S-6 gets this one when it starts again`)
	s.press("Space")
	s.press("Enter") // no client is attached to this tmux, so the session is nested
	s.shows(` S-6 Name of S-6 `)
	s.press("C-b", "d")
	s.shows(`back from gl attach S-6`)
	s.press("l")
	s.shows(`(?m)^─ S-6: log of attempt 1, rehearsal ─`)
	s.press("t")
	s.shows(`(?s)─ S-6: tests of attempt 1 ─.*its tests haven't run yet`)
	s.press("d")
	s.shows(`(?s)─ S-6 Name of S-6: diff ─.*git diff shows`)
	s.press("w")
	s.shows(`(?s)─ S-6 Name of S-6: why ─.*S-6 is running`)
	s.press("q")
	s.shows(`(?m)^> S-6 `)
	s.press("+")
	s.shows(`(?s)2 running .*run active \| up to 2 agents.*parallel.max is now 2`)
	s.press("-")
	s.shows(`(?s)run active \| up to 1 agent\n.*parallel.max is now 1`)
	s.pick("S-8")
	s.press("s", "n")
	s.shows(`2 running`)
	s.press("s", "y")
	s.shows(`(?s)1 running.*S-8 stopped`)
	s.press("h")
	s.shows(`hold until`)
	s.press("2", "h", "Enter")
	s.shows(`(?s)held until .*gl hold --lift ends the hold`)
	s.press("H")
	s.shows(`(?m)^lifted`)
	s.pick("S-4")
	s.press("a")
	s.shows(`(?s)^2/8 done.*S-4 is complete`)
	s.pick("S-5")
	s.press("a")
	s.shows(`answer> █`)
	s.press("-l", "blue")
	s.press("Enter")
	s.shows(`S-5 is answered`)
	s.pick("S-7")
	s.press("x", "n", "o", "Enter")
	s.shows(`S-7 is pending again`)
	s.pick("S-2")
	s.press("r")
	s.shows(`S-2 is pending again`)
	s.pick("S-1")
	s.press("u", "y")
	s.shows(`(?m)^.*S-1 .*$`)
	s.press(":")
	s.shows(`gl> █`)
	s.press("-l", "remove S-3")
	s.press("Enter")
	s.shows(`gl remove S-3 at .*: u takes it back`)
	s.press("u")
	s.shows(`gl remove S-3 isn't run`)
	s.press(":")
	s.press("-l", "status")
	s.press("Enter")
	s.shows(`(?s)─ gl status ─.*Progress`)
	s.press("q")
	s.shows(`(?m)^Running \(1\)`)
	s.press("?")
	s.shows(`j k ↓ ↑ +select`)
	s.press("Escape")
	s.shows(`(?m)^Running \(1\)`) // otherwise Escape and Tab would be one key
	for _, view := range []string{`(?m)^Layer 1`, `S-6\.1`, `In the merge queue \(0\)`, `Last 24 hours`, `Needs you|Running`} {
		s.press("Tab")
		s.shows(view)
	}
	s.click(10, 2) // graph
	s.shows(`(?m)^Layer 1`)
	s.click(3, 2)
	s.shows(`(?m)^Running`)
	row := 0
	for i, line := range strings.Split(s.text(), "\n") {
		if strings.HasPrefix(line, "  S-6 ") || strings.HasPrefix(line, "> S-6 ") {
			row = i + 1
		}
	}
	s.click(5, row)
	s.shows(`(?m)^> S-6 `)
	s.press("-l", "\x1b[<65;5;5M") // the wheel
	s.shows(`(?m)^  S-6 `)
	s.press("q")
	s.shows(`closed with 0`)
	if text := s.run("status"); !strings.Contains(text, "Running:") {
		t.Errorf("closing the board stopped what runs:\n%s", text)
	}
}
