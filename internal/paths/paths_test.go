package paths

import (
	"os"
	"path/filepath"
	"testing"
)

func TestExists(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir: true, link: true, filepath.Join(dir, "nowhere"): false} {
		if got := Exists(path); got != want {
			t.Errorf("%s: %v", path, got)
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

// Whatever a directory is called, the files in it are found, and no others.
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
		if got, err := filepath.Glob(filepath.Join(EscapeGlob(filepath.Join(root, name)), "*")); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
