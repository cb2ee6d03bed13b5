package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/first-run.md anew")

// docs/first-run.md shows what a terminal shows when docs/first-run.sh is typed into it.
func TestFirstRun(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	docs := filepath.Join("..", "..", "docs")
	script, err := os.ReadFile(filepath.Join(docs, "first-run.sh"))
	if err != nil {
		t.Fatal(err)
	}
	prose, commands := readSession(string(script))
	page := writeSession(prose, commands, typeSession(t, commands))
	path := filepath.Join(docs, "first-run.md")
	if *updateDocs {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) != page {
		t.Errorf("docs/first-run.md isn't what is seen today (go test ./cmd/gl -run TestFirstRun -update-docs writes it anew):\n%s", page)
	}
}

// readSession splits the script into its commands and the prose before some of them.
func readSession(script string) (prose map[int]string, commands []string) {
	_, script, _ = strings.Cut(script, "\n\n") // its head is about the script
	prose = map[int]string{}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "# "); ok {
			prose[len(commands)] = words
		} else if line != "" {
			commands = append(commands, line)
		}
	}
	return prose, commands
}

// typeSession runs the commands in one shell on a terminal of its own and returns the output of
// each.
func typeSession(t *testing.T, commands []string) []string {
	t.Helper()
	// A socket's path has at most 107 bytes, and t.TempDir is long.
	dir, err := os.MkdirTemp("/tmp", "glf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	var b strings.Builder
	for i, c := range commands {
		b.WriteString("echo @@" + strconv.Itoa(i) + "\n" + c + "\n")
	}
	b.WriteString("echo @@end\nexec sleep 600\n")
	work, home, temp := filepath.Join(dir, "work"), filepath.Join(dir, "home"),
		filepath.Join(dir, "tmp")
	for _, d := range []string{work, home, temp} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "typed"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	tmux := func(args ...string) (string, error) {
		c := exec.Command("tmux", append([]string{"-L", "user", "-f", "/dev/null"}, args...)...)
		c.Dir = work
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMUX_TMPDIR=" + dir, "TMPDIR=" + temp, "TERM=xterm", "GORACE=" + raceOptions, "LANG=C.UTF-8",
			"GIT_AUTHOR_NAME=you", "GIT_AUTHOR_EMAIL=you@localhost", "GIT_COMMITTER_NAME=you", "GIT_COMMITTER_EMAIL=you@localhost"}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	t.Cleanup(func() { tmux("kill-server") })
	if out, err := tmux("new-session", "-d", "-x", "130", "-y", "300", "env", "-u", "TMUX", "-u", "TMUX_PANE", "sh", filepath.Join(dir, "typed")); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	screen := ""
	for deadline := time.Now().Add(2 * time.Minute); !strings.Contains(screen,
		"@@end\n"); time.Sleep(50 * time.Millisecond) {
		if screen, err = tmux("capture-pane", "-p", "-S", "-", "-J", "-t", ":"); err != nil ||
			time.Now().After(deadline) {
			t.Fatalf("%v, and on the screen is\n%s", err, screen)
		}
	}
	return parseScreen(screen, len(commands), work, temp)
}

// parseScreen splits the screen at the marks and replaces what differs from run to run.
func parseScreen(screen string, n int, work, temp string) []string {
	outputs := make([]string, n)
	socket := regexp.MustCompile(`-L gl-[0-9a-f]{12}`)
	copied := regexp.MustCompile(`greenlight-rehearsal-\d+`)
	clock := regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d`)
	stamp := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `)
	age := regexp.MustCompile(`(after |, )[\d.]+m?s\b`)
	for part := range strings.SplitSeq(screen, "@@") {
		number, text, _ := strings.Cut(part, "\n")
		i, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil {
			continue
		}
		text = strings.ReplaceAll(text, work, "/home/you")
		text = copied.ReplaceAllString(strings.ReplaceAll(text, temp, "/tmp"),
			"greenlight-rehearsal-1")
		text = socket.ReplaceAllString(text, "-L gl-1c9b3a7d20ef")
		text = clock.ReplaceAllString(text, "2026-11-21 09:30")
		text = stamp.ReplaceAllString(text, "09:30:00 ")
		text = age.ReplaceAllString(text, "${1}2s")
		outputs[i] = sortEnds(text)
	}
	return outputs
}

// sortEnds sorts neighboring lines of slices that completed at about the same time.
func sortEnds(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \n"), "\n")
	plain := regexp.MustCompile(`^(\d\d:\d\d:\d\d )?S-\d+ complete \(verified\)$|^Land S-\d+`)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	for i := 0; i < len(lines); i++ {
		j := i
		for j < len(lines) && plain.MatchString(lines[j]) {
			j++
		}
		slices.Sort(lines[i:j])
		i = max(i, j-1)
	}
	return strings.Join(lines, "\n")
}

func writeSession(prose map[int]string, commands, outputs []string) string {
	var b strings.Builder
	b.WriteString("# A first run\n\nEverything here was typed and printed as it stands, by [first-run.sh](first-run.sh); a test runs it again.\n")
	for i, c := range commands {
		if words := prose[i]; words != "" {
			b.WriteString("\n" + words + "\n\n")
		}
		b.WriteString("    $ " + c + "\n")
		for line := range strings.SplitSeq(outputs[i], "\n") {
			if line != "" {
				line = "    " + line
			}
			if outputs[i] != "" {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}
