package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"greenlight/cmd/gl/scripts"
	"greenlight/internal/state/slice"
)

// newProject writes a project of one slice, S-1, and returns its root.
func newProject(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, ".greenlight", "slices")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "---\nid: S-1\nstatus: pending\nstep: none\nsession:\n---\n\n# S-1: One\n"
	if err := os.WriteFile(filepath.Join(dir, "S-1.md"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// gl returns a command line of the program in the project; TestMain has put gl on PATH.
func gl(root string, args ...string) *exec.Cmd {
	cmd := exec.Command("gl", append([]string{"-C", root}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GORACE=" + scripts.RaceOptions}
	return cmd
}

func readSlice(t *testing.T, root string) *slice.File {
	t.Helper()
	f, err := slice.Open(root).Read("S-1")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// together runs n command lines that all start at the same moment.
func together(n int, run func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			<-begin
			run(i)
		}()
	}
	close(begin)
	all.Wait()
}

func TestOneOfManyClaimsWins(t *testing.T) {
	root := newProject(t)
	const n = 32
	codes, tokens := make([]int, n), make([]string, n)
	together(n, func(i int) {
		cmd := gl(root, "state", "claim", "S-1")
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Errorf("claim %d: %v", i, err)
			return
		}
		codes[i], tokens[i] = cmd.ProcessState.ExitCode(), strings.TrimSpace(string(out))
	})
	var won []string
	for i, code := range codes {
		switch code {
		case 0:
			won = append(won, tokens[i])
		case 3:
			if tokens[i] != "" {
				t.Errorf("the refused claim %d printed %q", i, tokens[i])
			}
		default:
			t.Errorf("claim %d: exit code %d", i, code)
		}
	}
	session, _ := readSlice(t, root).Get("session")
	if len(won) != 1 || won[0] != session {
		t.Errorf("the slice's session is %q; these claims won: %q", session, won)
	}
}

func TestManyChangesLoseNothing(t *testing.T) {
	root := newProject(t)
	const n = 20
	together(n, func(i int) {
		out, err := gl(root, "state", "set", "S-1", fmt.Sprintf("key%d=%d", i, i)).CombinedOutput()
		if err != nil {
			t.Errorf("set %d: %v\n%s", i, err, out)
		}
	})
	f := readSlice(t, root)
	for i := range n {
		if v, _ := f.Get(fmt.Sprintf("key%d", i)); v != fmt.Sprint(i) {
			t.Errorf("key%d is %q", i, v)
		}
	}
}
