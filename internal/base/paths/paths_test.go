package paths

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(at("dir"), 0o755))
	must(os.WriteFile(at("file"), nil, 0o644))
	must(syscall.Mkfifo(at("pipe"), 0o644))
	must(os.Symlink("dir", at("to-dir")))
	must(os.Symlink("file", at("to-file")))
	must(os.Symlink("nothing", at("to-nothing")))
	for name, want := range map[string][3]bool{
		"dir": {true, true, false}, "file": {true, false, true}, "pipe": {true, false, false},
		"to-dir":  {true, true, false},
		"to-file": {true, false, true}, "to-nothing": {true, false, false}, "nothing": {},
		"file/below": {},
	} {
		if got := [3]bool{Exists(at(name)), IsDir(at(name)), IsFile(at(name))}; got != want {
			t.Errorf("%s: exists, is a directory, is a file: %v, want %v", name, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	tests := []struct{ root, path, want string }{
		{"/a", "/a/b/c", "b/c"}, {"/a", "/a", "."}, {"/a/b", "/a/c", "../c"}, {"/a", "b", "b"},
	}
	for _, tt := range tests {
		if got := Relative(tt.root, tt.path); got != tt.want {
			t.Errorf("%q below %q: %q, want %q", tt.path, tt.root, got, tt.want)
		}
	}
}

func TestShort(t *testing.T) {
	tests := []struct{ path, dir, home, want string }{
		{"/home/me/p/.claude", "/home/me/p", "/home/me", ".claude"},
		{"/home/me/.claude", "/home/me/p", "/home/me", "~/.claude"},
		{"/etc", "/home/me/p", "/home/me", "/etc"},
		{"/home/me/.claude", "/home/me/p", "", "/home/me/.claude"},
		{"/home/me/.claude", "", "/home/me", "~/.claude"},
	}
	for _, tt := range tests {
		if got := Short(tt.path, tt.dir, tt.home); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

// For any name of a directory, the pattern finds the files in it and no others.
func TestEscapeGlob(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a*", "ab", "[a]", "a", `\a`, "?"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a*", "[a]", `\a`, "?"} {
		want := filepath.Join(root, name, "f")
		if got, err := filepath.Glob(filepath.Join(EscapeGlob(filepath.Join(root, name)),
			"*")); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
