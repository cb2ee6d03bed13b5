package notify

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is also the program in a pane of TestTmux.
func TestMain(m *testing.M) {
	if os.Getenv("NOTIFY_PANE") != "" {
		t := Terminal{Tmux: os.Getenv("TMUX") != "", Write: func(s string) { os.Stderr.WriteString(s) }}
		_ = t.Send(context.Background(), Message{Title: "S-3 needs you", Text: "a look"}.clean("shop"))
		time.Sleep(time.Minute)
	}
	os.Exit(m.Run())
}

// Text written in a tmux pane reaches the outer terminal: here the pane of another tmux, whose
// output is a file.
func TestTmux(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	run := func(args ...string) {
		t.Helper()
		if text, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, text)
		}
	}
	inner, outer := filepath.Join(dir, "inner"), filepath.Join(dir, "outer")
	t.Cleanup(func() {
		exec.Command("tmux", "-S", inner, "kill-server").Run()
		exec.Command("tmux", "-S", outer, "kill-server").Run()
	})
	run(inner, "new-session", "-d", "-x", "100", "-y", "20", "sleep 600", ";", "set", "-g", "allow-passthrough", "on")
	run(outer, "new-session", "-d", "-x", "100", "-y", "20", "sleep 600", ";", "pipe-pane", "cat >>"+out)
	run(outer, "respawn-pane", "-k", "env -u TMUX tmux -f /dev/null -S "+inner+" attach")
	for !strings.Contains(clients(t, inner), "/dev/") {
		time.Sleep(10 * time.Millisecond)
	}
	run(inner, "respawn-pane", "-k", "-e", "NOTIFY_PANE=1", os.Args[0])
	want := "\x1b]777;notify;shop: S-3 needs you;a look\x1b\\"
	deadline := time.Now().Add(60 * time.Second)
	for {
		data, _ := os.ReadFile(out)
		if strings.Contains(string(data), want) && strings.Contains(string(data), "\a") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the terminal outside got %q", data)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func clients(t *testing.T, socket string) string {
	out, err := exec.Command("tmux", "-S", socket, "list-clients").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
