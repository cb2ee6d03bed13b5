package paths

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestProgram(t *testing.T) {
	repo, bin := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(repo, "tool"), filepath.Join(repo, "sub", "tool"),
		filepath.Join(bin, "tool")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, nil, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(repo)
	t.Setenv("PATH", ".:sub::"+filepath.Join(repo, "nothing")+":"+bin)
	for name, want := range map[string]string{
		"tool":                     filepath.Join(bin, "tool"),
		"./tool":                   filepath.Join(repo, "sub", "tool"),
		"../tool":                  filepath.Join(repo, "tool"),
		filepath.Join(bin, "tool"): filepath.Join(bin, "tool"),
	} {
		if got, err := Program(name, filepath.Join(repo, "sub")); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("PATH", ".:sub:")
	if got, err := Program("tool", repo); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("by relative directories alone: %q, %v", got, err)
	}
}
