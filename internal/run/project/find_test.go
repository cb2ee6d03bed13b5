package project

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree creates directories (names that end in /) and files with their content, and returns the
// root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = os.WriteFile(path, []byte(strings.ReplaceAll(content, "ROOT", root)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	root := tree(t, map[string]string{
		"plain/.greenlight/":              "",
		"plain/a/b/":                      "",
		"plain/nested/.greenlight/":       "",
		"plain/repo/.git/":                "",
		"plain/repo/sub/":                 "",
		"main/.greenlight/":               "",
		"main/.git/worktrees/w/commondir": "../..\n",
		"main/.git/worktrees/x/commondir": "ROOT/main/.git\n",
		"linked/.git":                     "gitdir: ROOT/main/.git/worktrees/w\n",
		"linked/deep/er/":                 "",
		"linked/.greenlight/":             "",
		"relative/.git":                   "gitdir: ../main/.git/worktrees/x\n",
		"main/module/.git":                "gitdir: ../.git/modules/module\n",
		"main/.git/modules/module/":       "",
		"bare/.git/worktrees/v/commondir": "../..\n",
		"stateless/.git":                  "gitdir: ROOT/bare/.git/worktrees/v\n",
		"home/.greenlight/":               "",
		"home/me/work/":                   "",
		"file/.greenlight":                "not a directory",

		// A repository with projects in subdirectories; its linked worktree has copies of them.
		"mono/.git/worktrees/m/commondir": "../..\n",
		"mono/apps/web/.greenlight/":      "",
		"mono/.planning/":                 "",
		"copy/.git":                       "gitdir: ROOT/mono/.git/worktrees/m\n",
		"copy/apps/web/.greenlight/":      "",
		"copy/apps/web/src/":              "",
		"copy/apps/new/.greenlight/":      "", // only on the branch
		"copy/own/.git/":                  "",
		"copy/own/.greenlight/":           "",

		// A bare repository: the state is where gl-root says, else in the worktree itself.
		"b.git/config":                    "[core]\n\tbare = true\n",
		"b.git/worktrees/x/commondir":     "../..\n",
		"b.git/worktrees/y/commondir":     "../..\n",
		"bx/.git":                         "gitdir: ROOT/b.git/worktrees/x\n",
		"bx/.greenlight/":                 "",
		"bx/sub/":                         "",
		"named.git/config":                "[core]\n\tbare = true\n",
		"named.git/gl-root":               "ROOT/nx\n",
		"named.git/worktrees/x/commondir": "../..\n",
		"named.git/worktrees/y/commondir": "../..\n",
		"nx/.git":                         "gitdir: ROOT/named.git/worktrees/x\n",
		"nx/.greenlight/":                 "",
		"nx/sub/":                         "",
		"ny/.git":                         "gitdir: ROOT/named.git/worktrees/y\n",
		"ny/.greenlight/":                 "",
		"ny/sub/":                         "",

		// For a separate git directory, git doesn't tell where the main checkout is.
		"sep.git/worktrees/x/commondir": "../..\n",
		"sx/.git":                       "gitdir: ROOT/sep.git/worktrees/x\n",
		"sx/.greenlight/":               "",
	})
	for _, tt := range []struct{ dir, home, want string }{
		{"plain", "", "plain"},
		{"plain/a/b", "", "plain"},
		{"plain/nested", "", "plain/nested"},
		{"plain/repo/sub", "", ""}, // not beyond the git root
		{"linked", "", "main"},     // its own .greenlight belongs to a branch
		{"linked/deep/er", "", "main"},
		{"relative", "", "main"},
		{"main/module", "", ""}, // a submodule is a repository of its own
		{"stateless", "", ""},
		{"home/me/work", "home/me", ""}, // not beyond home
		{"home/me/work", "", "home"},
		{"file", "file", ""},

		{"copy/apps/web", "", "mono/apps/web"},
		{"copy/apps/web/src", "", "mono/apps/web"},
		{"copy/apps/web/not/there", "", "mono/apps/web"},
		{"copy/apps", "", "mono"},
		{"copy/apps/new", "", "mono"},
		{"copy/own", "", "copy/own"}, // a repository of its own
		{"bx/sub", "", "bx"},
		{"nx/sub", "", "nx"},
		{"ny/sub", "", "nx"},
		{"sx", "", ""},
		{"sx", "sx", ""},
		{"linked/deep/er", "linked/deep", ""}, // home is below the top
	} {
		env := func(key string) string {
			if key == "HOME" && tt.home != "" {
				return filepath.Join(root, tt.home)
			}
			return ""
		}
		got, err := Find(filepath.Join(root, tt.dir), env)
		switch {
		case tt.want == "" && !errors.Is(err, ErrNoProject):
			t.Errorf("%s: %q, %v; want none", tt.dir, got, err)
		case tt.want != "" && (err != nil || got != filepath.Join(root, tt.want)):
			t.Errorf("%s: %q, %v; want %s", tt.dir, got, err, tt.want)
		}
	}
}

// The search ends at HOME, by any of its paths.
func TestFindEndsAtHome(t *testing.T) {
	root := tree(t, map[string]string{"above/.greenlight/": "", "above/me/work/": ""})
	if err := os.Symlink(filepath.Join(root, "above", "me"), filepath.Join(root, "home")); err != nil {
		t.Fatal(err)
	}
	env := func(key string) string { return map[string]string{"HOME": filepath.Join(root, "home")}[key] }
	if got, err := Find(filepath.Join(root, "above", "me", "work"), env); !errors.Is(err, ErrNoProject) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTrustedOwner(t *testing.T) {
	for _, tt := range []struct {
		owner, user int
		sudo        string
		want        bool
	}{
		{1000, 1000, "", true}, {0, 1000, "", true}, {0, 0, "", true},
		{1001, 1000, "", false}, {1000, 0, "", false}, {1000, 0, "1001", false},
		{1000, 0, "1000", true}, {1001, 1000, "1001", false}, {1000, 0, "me", false},
	} {
		if got := trustedOwner(tt.owner, tt.user, tt.sudo); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// A project that another user put above a person's directory isn't found, nor one behind
// another user's link.
func TestFindForeign(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of other users")
	}
	root := tree(t, map[string]string{
		"a/.greenlight/": "", "a/work/": "", "b/work/": "", "mine/.greenlight/": "", "c/.planning/": "", "d/.greenlight/": "", "d/.planning/": "",
	})
	link := filepath.Join(root, "b", ".greenlight")
	if err := os.Symlink(filepath.Join(root, "mine", ".greenlight"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a/.greenlight", "b/.greenlight", "c/.planning", "d/.planning"} {
		if err := os.Lchown(filepath.Join(root, path), 54321, -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"a", "a/work", "b/work", "c", "d"} {
		var foreign *ForeignError
		got, err := Find(filepath.Join(root, dir), func(string) string { return "" })
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "GREENLIGHT_ROOT="+foreign.Root) {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
		if got, err = Find(filepath.Join(root, dir), func(key string) string {
			return map[string]string{"GREENLIGHT_ROOT": foreign.Root}[key]
		}); err != nil || got != foreign.Root {
			t.Errorf("%s, by its name: %q, %v", dir, got, err)
		}
		if _, err := Find(filepath.Join(root, dir), func(key string) string { return map[string]string{"SUDO_UID": "54321"}[key] }); err != nil {
			t.Errorf("%s, under sudo: %v", dir, err)
		}
	}
}

func TestFindByEnvironment(t *testing.T) {
	root := tree(t, map[string]string{"here/.greenlight/": "", "there/": ""})
	for dir, ok := range map[string]bool{"here": true, "there": false, "nowhere": false} {
		got, err := Find("/", func(key string) string {
			return map[string]string{"GREENLIGHT_ROOT": filepath.Join(root, dir)}[key]
		})
		if (err == nil) != ok || ok && got != filepath.Join(root, dir) || !ok && !strings.Contains(err.Error(), "GREENLIGHT_ROOT") {
			t.Errorf("%s: %q, %v", dir, got, err)
		}
	}
}

// If a linked worktree has state and its main checkout has none, the error lists where gl
// looked.
func TestFindSaysWhyACopyDoesNotCount(t *testing.T) {
	root := tree(t, map[string]string{
		"main/.git/worktrees/w/commondir": "../..\n", "linked/.git": "gitdir: ROOT/main/.git/worktrees/w\n", "linked/.greenlight/": "",
		"sep.git/worktrees/x/commondir": "../..\n", "sx/.git": "gitdir: ROOT/sep.git/worktrees/x\n", "sx/.greenlight/": "",
	})
	for dir, want := range map[string]string{"linked": filepath.Join(root, "main"), "sx": "GREENLIGHT_ROOT"} {
		_, err := Find(filepath.Join(root, dir), func(string) string { return "" })
		if !errors.Is(err, ErrNoProject) || !strings.Contains(err.Error(), "linked worktree") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// Locate also returns the place in the worktree: the directory whose state files are copies.
func TestLocate(t *testing.T) {
	root := tree(t, map[string]string{
		"main/.git/worktrees/w/commondir": "../..\n", "main/apps/web/.greenlight/": "", "linked/.git": "gitdir: ROOT/main/.git/worktrees/w\n",
	})
	for dir, here := range map[string]string{"linked/apps/web/src": "linked/apps/web", "main/apps/web/src": "main/apps/web"} {
		got, err := Locate(filepath.Join(root, dir), func(string) string { return "" })
		want := Place{filepath.Join(root, "main/apps/web"), filepath.Join(root, here)}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", dir, got, err, want)
		}
	}
	// An agent is given the root and works in a worktree.
	for dir, here := range map[string]string{"linked/apps/web": "linked/apps/web", "linked": "linked/apps/web", "main": "main/apps/web", "elsewhere": "main/apps/web"} {
		named := filepath.Join(root, "main/apps/web")
		got, err := Locate(filepath.Join(root, dir), func(key string) string { return map[string]string{"GREENLIGHT_ROOT": named}[key] })
		if want := (Place{named, filepath.Join(root, here)}); err != nil || got != want {
			t.Errorf("%s, by its name: %+v, %v, want %+v", dir, got, err, want)
		}
	}
}
