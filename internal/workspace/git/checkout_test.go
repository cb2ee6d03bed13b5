package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/base/testfiles"

	"github.com/google/go-cmp/cmp"
)

// Every layout that git has: where a linked worktree's shared git directory is, and where the main
// checkout.
func TestMainCheckout(t *testing.T) {
	t.Parallel()
	top := repo(t, nil)
	base := filepath.Join(top, "w")
	at := func(path ...string) string { return filepath.Join(append([]string{base}, path...)...) }
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(dir string, args ...string) {
		t.Helper()
		git(t, dir, append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=t", "-c",
			"user.email=t@t"}, args...)...)
	}
	run(top, "clone", "-q", top, at("plain"))
	run(at("plain"), "worktree", "add", "-q", "-b", "a", at("plain-linked"))
	run(top, "clone", "-q", "--bare", top, at("bare.git"))
	run(at("bare.git"), "worktree", "add", "-q", "-b", "a", at("bare-linked"))
	run(at("bare.git"), "worktree", "add", "-q", "-b", "b", at("bare-state"))
	run(top, "clone", "-q", "--bare", top, at("hidden", ".bare"))
	testfiles.Write(t, at("hidden"), map[string]string{".git": "gitdir: ./.bare\n"})
	run(at("hidden"), "worktree", "add", "-q", "-b", "a", at("hidden", "main"))
	run(top, "clone", "-q", "--separate-git-dir="+at("sep.git"), top, at("sep"))
	run(at("sep"), "worktree", "add", "-q", "-b", "a", at("sep-linked"))
	run(at("plain"), "submodule", "--quiet", "add", top, "module")
	run(at("plain", "module"), "worktree", "add", "-q", "-b", "a", at("module-linked"))
	run(at("plain"), "worktree", "add", "-q", "-b", "pruned", at("pruned"))
	if err := os.RemoveAll(at("plain", ".git", "worktrees", "pruned")); err != nil {
		t.Fatal(err)
	}
	check := func(name, common, main string) {
		t.Helper()
		got := CommonOf(at(name))
		if common == "" {
			if got != "" {
				t.Errorf("%s is linked to %s", name, got)
			}
			return
		}
		if got != at(common) {
			t.Errorf("%s: common %q, want %q", name, got, at(common))
		}
		if main != "" {
			main = at(main)
		}
		if got := MainCheckout(got); got != main {
			t.Errorf("%s: main %q, want %q", name, got, main)
		}
	}
	for _, name := range []string{"plain", "plain/module", "sep", "bare.git", "hidden", "nowhere"} {
		check(name, "", "")
	}
	check("plain-linked", "plain/.git", "plain")
	check("bare-linked", "bare.git", "")
	check("hidden/main", "hidden/.bare", "hidden")
	check("sep-linked", "sep.git", "") // git itself doesn't know
	check("module-linked", "plain/.git/modules/module", "plain/module")
	check("pruned", "plain/.git", "plain") // a copy, although git has forgotten it

	// gl-root says it in every layout, where it names a checkout of the repository.
	name := func(common, text string) {
		testfiles.Write(t, at(common), map[string]string{RootFile: text})
	}
	name("bare.git", at("bare-state")+"\n")
	check("bare-linked", "bare.git", "bare-state")
	check("bare-state", "bare.git", "bare-state")
	name("sep.git", at("sep")+"\n")
	check("sep-linked", "sep.git", "sep")
	for _, text := range []string{at("bare-state") + "\n", at("nowhere") + "\n", at("plain"),
		"plain\n", at("plain") + "/\n", at("plain") + "\n\n", "\n", ""} {
		name("plain/.git", text)
		check("plain-linked", "plain/.git", "plain")
	}

	for common, want := range map[string]bool{"bare.git": true, "hidden/.bare": true,
		"plain/.git": false, "sep.git": false, "nowhere": false} {
		if got := Bare(at(common)); got != want {
			t.Errorf("%s is bare: %v", common, got)
		}
	}
}

// Filters of the repository are told, by whatever file of its own they come; the person's aren't.
func TestFilters(t *testing.T) {
	dir := repo(t, nil)
	home(t, dir)
	git(t, dir, "config", "--global", "filter.mine.smudge", "git-lfs smudge")
	git(t, dir, "config", "filter.a.b.clean", "first")
	git(t, dir, "config", "--add", "filter.a.b.clean", "x --y=z\nw")
	git(t, dir, "config", "filter.off.smudge", "")
	git(t, dir, "config", "filter.a.required", "true")
	testfiles.Write(t, dir, map[string]string{"more": "[filter \"inc\"]\n\tprocess = p\n"})
	git(t, dir, "config", "include.path", "../more")
	got, err := Filters(t.Context(), dir)
	want := []Setting{{"filter.a.b.clean", "x --y=z\nw"}, {"filter.inc.process", "p"}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Error(err, d)
	}
	t.Setenv("PATH", "") // where nothing can be a repository, git isn't asked
	if _, err := Filters(t.Context(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := Filters(t.Context(), filepath.Join(dir, ".git")); !errors.Is(err, ErrMissing) {
		t.Error(err)
	}
}

func TestCoreSetting(t *testing.T) {
	t.Parallel()
	const file = "# [core]\n[Core]\n\tBare = yes ; a comment\n\tworktree = \"../a # b\" # c\n[core \"x\"]\n\tworktree = no\n[other]\n\tworktree = no\n[core] filemode\n"
	for key, want := range map[string]string{"bare": "yes", "worktree": "../a # b",
		"filemode": "true", "none": ""} {
		if got := coreSetting(file, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// Where nothing can be a repository, git isn't asked for the place of a directory, nor for files
// and commits there. It is asked below anything that could be one.
func TestNowhere(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	asked := filepath.Join(bin, "asked")
	if err := os.WriteFile(filepath.Join(bin, "git"),
		[]byte("#!/bin/sh\n: >"+asked+"\necho 'fatal: not a git repository' >&2\nexit 128\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	below := filepath.Join(dir, "a", "b")
	testfiles.Write(t, below, map[string]string{"f": ""})
	for name, ask := range map[string]func() error{
		"Root":         func() error { _, err := Root(t.Context(), below); return err },
		"FindCheckout": func() error { _, err := FindCheckout(t.Context(), below); return err },
		"Place":        func() error { _, _, err := Place(t.Context(), below); return err },
		"Tracked":      func() error { _, err := Tracked(t.Context(), below, "f"); return err },
		"Unignored":    func() error { _, err := Unignored(t.Context(), below, "f"); return err },
		"Log":          func() error { _, err := Log(t.Context(), below, 1); return err },
	} {
		for _, mark := range []string{"", ".git", "HEAD"} {
			if mark != "" {
				testfiles.Write(t, dir, map[string]string{mark: ""})
			}
			if err := ask(); !errors.Is(err, ErrNone) {
				t.Errorf("%s below %q: %v", name, mark, err)
			}
			if got := os.Remove(asked) == nil; got != (mark != "") {
				t.Errorf("%s below %q: git was asked: %v", name, mark, got)
			}
			if mark != "" {
				if err := os.Remove(filepath.Join(dir, mark)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
