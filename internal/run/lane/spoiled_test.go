package lane

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"greenlight/internal/base/rapidtest"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/gate"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// A treeBench is a repository in which work is made of trees alone: nothing is checked out.
type treeBench struct {
	t       fataler
	dir     string
	repo    *worktree.Repo
	inspect *inspector
	base    string // of the lineage
	ref     string // of what was handed over

	unlocks bool // the slice replaces wrapped code
}

// A fataler is *testing.T or *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// files are contents by path; a link begins with "-> ".
type files map[string]string

func (f files) with(other files) files {
	all := files{}
	for _, m := range []files{f, other} {
		for p, text := range m {
			if all[p] = text; text == "" {
				delete(all, p)
			}
		}
	}
	return all
}

func newBench(t fataler, root, sub string, first files) *treeBench {
	t.Helper()
	b := &treeBench{t: t, dir: root}
	if err := os.MkdirAll(filepath.Join(root, sub, ".greenlight"), 0o755); err != nil {
		t.Fatalf("%v", err)
	}
	if err := testfiles.EmptyRepository(root, "main"); err != nil {
		t.Fatalf("%v", err)
	}
	b.base = b.commit(first)
	b.git("", "update-ref", "refs/heads/main", b.base)
	repo, err := worktree.Open(context.Background(), filepath.Join(root, sub), worktree.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	b.repo, b.inspect = repo, &inspector{repo: repo, trees: &trees{repo: repo}}
	project := "_"
	if sub != "" {
		project = sub
	}
	b.ref = "refs/gl/tests/" + project + "/greenlight/S-1/1"
	return b
}

func (b *treeBench) git(in string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = b.dir, strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit of nothing but the files.
func (b *treeBench) commit(all files, parents ...string) string {
	b.t.Helper()
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/made\nmark :1\ncommitter t <t@t> 1 +0000\ndata 1\nm\n")
	for i, p := range parents {
		fmt.Fprintf(&in, "%s %s\n", []string{"from", "merge"}[min(i, 1)], p)
	}
	in.WriteString("deleteall\n")
	for _, p := range sorted(all) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", p, len(all[p]), all[p])
	}
	in.WriteString("get-mark :1\nreset refs/heads/made\nfrom 0000000000000000000000000000000000000000\n\n")
	return b.git(in.String(), "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force")
}

func (b *treeBench) handOver(all files) {
	b.t.Helper()
	var parents []string
	if old, err := b.repo.Snapshots.HandedOver(context.Background(), b.lineage()); err != nil {
		b.t.Fatalf("%v", err)
	} else if old != "" {
		parents = []string{old}
	}
	b.git("", "update-ref", b.ref, b.commit(all, parents...))
}

func (b *treeBench) lineage() *worktree.Lineage {
	return &worktree.Lineage{System: "greenlight", Slice: "S-1", N: 1, Base: b.base}
}

// judge merges what the agent has left with what has landed, and has it looked at.
func (b *treeBench) judge(left, landed files) (problem string, w *work, conflicts []string) {
	b.t.Helper()
	return b.judgeTip(b.commit(left, b.base), b.commit(landed, b.base))
}

func (b *treeBench) judgeTip(tip, base string) (problem string, w *work, conflicts []string) {
	b.t.Helper()
	ctx := context.Background()
	tree, conflicts, err := git.MergeTree(ctx, b.dir+"/.git", base, tip, statedir.InState)
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	if len(conflicts) > 0 {
		return "", nil, conflicts
	}
	changed, err := git.Changed(ctx, b.dir+"/.git", base, tree, statedir.InState)
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	w = &work{rec: &attempt.Record{ID: attempt.Identity{Slice: "S-1"}}, lineage: b.lineage(), base: base, tree: tree, unlocks: func() bool { return b.unlocks }}
	if err = b.inspect.inspect(ctx, w, changed); err != nil {
		b.t.Fatalf("%v", err)
	}
	return gate.ItemsText(w.survey.found), w, nil
}

const (
	testFile = "pkg/a_test.go"
	manyText = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
)

func edited(from, to string) string { return strings.Replace(manyText, from, to, 1) }

func TestSpoiled(t *testing.T) {
	testfiles.Slow(t)
	const jest = `{"name": "x", "scripts": {"test": "jest", "build": "tsc"}}`
	first := files{"a.go": "package a", testFile: manyText, "package.json": jest, "jest.config.js": "1", "conftest.py": "c", "pkg/testdata/x.golden": "g", "other_test.go": "o"}
	tests := first.with(files{testFile: edited("1", "one"), "pkg/new_test.go": "new"})
	for _, c := range []struct {
		name   string
		first  files
		sub    string
		handed []files // what is handed over, one after the other; nil for never
		left   files   // by the agent, beside what was handed over last
		landed files
		want   string
		caveat string
		wraps  bool
	}{
		{name: "as they were", handed: []files{tests}, left: files{"a.go": "package a // done"}},
		{name: "a test weakened", handed: []files{tests}, left: files{testFile: edited("1", "")}, want: testFile},
		{name: "a test weakened that was there before", handed: []files{tests}, left: files{"other_test.go": "skip"}, want: "other_test.go"},
		{name: "a test deleted", handed: []files{tests}, left: files{"pkg/new_test.go": ""}, want: "pkg/new_test.go"},
		{name: "a test renamed", handed: []files{tests}, left: files{"pkg/new_test.go": "", "pkg/newer_test.go": "new"}, want: "pkg/new_test.go"},
		{name: "a test renamed to what isn't one", handed: []files{tests}, left: files{testFile: "", "pkg/a_test.go.off": edited("1", "one")}, want: testFile},
		{name: "a new test", handed: []files{tests}, left: files{"pkg/more_test.go": "more"}},
		{name: "a new test, changed again", handed: []files{tests, tests.with(files{"pkg/more_test.go": "more"})}, left: files{"pkg/more_test.go": "less"}, want: "pkg/more_test.go"},
		{name: "changed, and handed over again", handed: []files{tests, tests.with(files{testFile: "true"})}, want: testFile},
		{name: "deleted, and handed over again", handed: []files{tests, tests.with(files{testFile: ""})}, want: testFile},
		{name: "deleted before", handed: []files{tests.with(files{testFile: ""})}, want: testFile},
		{name: "a golden file", handed: []files{tests}, left: files{"pkg/testdata/x.golden": "G"}, want: "pkg/testdata/x.golden"},
		{name: "the contracts", handed: []files{tests.with(files{".greenlight/CONTRACTS.md": "1"})}, left: files{".greenlight/CONTRACTS.md": "2"}, want: ".greenlight/CONTRACTS.md"},
		{name: "a lock removed", first: first.with(files{"a_locked_test.go": "l"}), handed: []files{tests.with(files{"a_locked_test.go": "l"})}, left: files{"a_locked_test.go": ""}, want: "a_locked_test.go"},
		{name: "a lock removed with what it locks", first: first.with(files{"a_locked_test.go": "l"}), handed: []files{tests.with(files{"a_locked_test.go": "l"})}, left: files{"a_locked_test.go": ""}, wraps: true},
		{name: "a lock weakened", first: first.with(files{"a_locked_test.go": "l"}), handed: []files{tests.with(files{"a_locked_test.go": "l"})}, left: files{"a_locked_test.go": "L"}, wraps: true, want: "a_locked_test.go"},
		{name: "another test removed", handed: []files{tests}, left: files{"other_test.go": ""}, wraps: true, want: "other_test.go"},
		{name: "a new golden file", handed: []files{tests}, left: files{"pkg/testdata/y.golden": "G"}},
		{name: "scripts.test", handed: []files{tests}, left: files{"package.json": strings.Replace(jest, "jest", "true", 1)}, want: "package.json"},
		{name: "pretest", handed: []files{tests}, left: files{"package.json": strings.Replace(jest, `"test"`, `"pretest": "rm *.test.js", "test"`, 1)}, want: "package.json"},
		{name: "other scripts", handed: []files{tests}, left: files{"package.json": strings.Replace(jest, "tsc", "vite", 1)}},
		{name: "package.json deleted", handed: []files{tests}, left: files{"package.json": ""}, want: "package.json"},
		{name: "package.json broken", handed: []files{tests}, left: files{"package.json": "{"}, want: "package.json"},
		{name: "jest's configuration", handed: []files{tests}, left: files{"jest.config.js": "2"}, want: "jest.config.js"},
		{name: "conftest", handed: []files{tests}, left: files{"conftest.py": "collect_ignore"}, want: "conftest.py"},
		{name: "a new conftest", handed: []files{tests}, left: files{"pkg/conftest.py": "collect_ignore"}, want: "pkg/conftest.py"},
		{name: "a new conftest beside no tests of its own", handed: []files{first}, left: files{"pkg/conftest.py": "c"}, want: "pkg/conftest.py"},
		{name: "a new setup.cfg", handed: []files{tests}, left: files{"setup.cfg": "s"}},

		{name: "landed at the same test", handed: []files{tests}, landed: files{testFile: edited("9", "nine")}},
		{name: "landed, and weakened", handed: []files{tests}, left: files{testFile: edited("1", "")}, landed: files{testFile: edited("9", "nine")}, want: testFile},
		{name: "landed at another test", handed: []files{tests}, landed: files{"other_test.go": "better"}},
		{name: "landed deletion", handed: []files{tests}, landed: files{"other_test.go": ""}},
		{name: "landed rename", handed: []files{tests}, landed: files{testFile: "", "pkg/b_test.go": manyText}},
		{name: "landed configuration", handed: []files{tests}, landed: files{"jest.config.js": "3", "vitest.config.ts": "4"}},

		{name: "nothing handed over", left: files{testFile: "weak", "b_test.go": "b"}, caveat: "no tests were handed over"},
		{name: "nothing handed over, deleted", left: files{testFile: ""}, want: testFile},
		{name: "nothing handed over, scripts", left: files{"package.json": strings.Replace(jest, "jest", "true", 1)}, want: "package.json"},
		{name: "nothing handed over, npm's own script", first: files{"package.json": `{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}`},
			left: files{"package.json": jest}, caveat: "no tests were handed over"},
		{name: "nothing handed over, no scripts", first: files{"package.json": `{}`}, left: files{"package.json": jest}, caveat: "no tests were handed over"},
		{name: "nothing handed over, a new configuration", first: files{"x": "x"}, left: files{"pytest.ini": "p"}, want: "pytest.ini"},
		{name: "nothing handed over, mocha's dry run", first: files{"x": "x"}, left: files{".mocharc.json": `{"dry-run": true}`}, want: ".mocharc.json"},
		{name: "nothing handed over, npm's shell", left: files{".npmrc": "script-shell=/bin/true"}, want: ".npmrc"},
		{name: "nothing handed over, Scripts", left: files{"package.json": `{"Scripts": {"test": "jest"}, "scripts": {"test": "true"}}`}, want: "package.json"},
		{name: "nothing handed over, scripts before Scripts", left: files{"package.json": `{"scripts": {"test": "true"}, "Scripts": {"test": "jest"}}`}, want: "package.json"},
		{name: "nothing handed over, pytest's section", first: files{"pyproject.toml": "[project]\nname = 'x'\n"}, left: files{"pyproject.toml": "[project]\nname = 'x'\n[tool.pytest.ini_options]\naddopts = '--co'\n"},
			want: "pyproject.toml"},
		{name: "nothing handed over, another section", first: files{"pyproject.toml": "[project]\nname = 'x'\n"}, left: files{"pyproject.toml": "[project]\nname = 'y'\n"}, caveat: "no tests were handed over"},
		{name: "a test removed by name", first: files{"a_test.go": "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"}, left: files{"a_test.go": "func TestA(t *testing.T) {}\n"}, want: "TestB in a_test.go"},
		{name: "a test skipped", first: files{"a_test.go": "func TestA(t *testing.T) {\n\tx()\n}\n"}, left: files{"a_test.go": "func TestA(t *testing.T) {\n\tt.Skip()\n}\n"}, want: "TestA in a_test.go"},
		{name: "a test emptied", first: files{"a_test.go": "func TestA(t *testing.T) {\n\tx()\n\ty()\n}\n"}, left: files{"a_test.go": "func TestA(t *testing.T) {\n}\n"}, want: "TestA in a_test.go (emptied)"},
		{name: "tests moved", first: files{"a_test.go": "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"}, caveat: "no tests were handed over",
			left: files{"a_test.go": "", "b_test.go": "func TestB(t *testing.T) {}\n", "c_test.go": "package c\nfunc TestA(t *testing.T) {}\n"}},
		{name: "a file of tests removed", first: files{"a_test.go": "func TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n"}, left: files{"a_test.go": ""}, want: "a_test.go (2 tests)"},
		{name: "unit tests removed beside the code", first: files{"src/a.rs": "fn a() {}\n#[test]\nfn b() {}\n"}, left: files{"src/a.rs": "fn a() {}\n"}, want: "b in src/a.rs"},

		{name: "below the top", sub: "app", first: files{"app/tests/a.py": "1"}, handed: []files{{"app/tests/a.py": "2"}}, left: files{"app/tests/a.py": "3"}, want: "app/tests/a.py"},
		{name: "sources below a directory called tests", sub: "tests", first: files{"tests/lib/a.py": "1", "tests/tests/b.py": "1"}, handed: []files{{"tests/lib/a.py": "1", "tests/tests/b.py": "2"}},
			left: files{"tests/lib/a.py": "2"}},
		{name: "tests below a directory called tests", sub: "tests", first: files{"tests/tests/a.py": "1"}, handed: []files{{"tests/tests/a.py": "2"}}, left: files{"tests/tests/a.py": "3"},
			want: "tests/tests/a.py"},
		{name: "another project's tests", sub: "web", first: files{"web/x": "1", "api/a_test.go": "1"}, handed: []files{{"web/x": "1", "api/a_test.go": "1"}}, left: files{"api/a_test.go": ""},
			want: "api/a_test.go"},

		{name: "conflict marks", left: files{"a.go": "<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> x\n"}, want: "a.go"},
		{name: "marks that were there", first: files{"doc.md": "<<<<<<< HEAD\n"}, left: files{"doc.md": "<<<<<<< HEAD\n2\n"}, caveat: "no tests were handed over"},
		{name: "marks in what isn't text", left: files{"a.bin": "\x00\n<<<<<<< HEAD\n"}, caveat: "no tests were handed over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.first == nil {
				c.first = first
			}
			b := newBench(t, t.TempDir(), c.sub, c.first)
			b.unlocks = c.wraps
			last := c.first
			for _, all := range c.handed {
				last = all
				b.handOver(all)
			}
			problem, w, conflicts := b.judge(last.with(c.left), c.first.with(c.landed))
			if len(conflicts) > 0 {
				t.Fatal("in conflict:", conflicts)
			}
			if (problem != "") != (c.want != "") || c.want != "" && !strings.HasSuffix(problem, " "+c.want) {
				t.Errorf("%q, not %q", problem, c.want)
			}
			if got := strings.Join(w.caveats, "; "); problem == "" && (got != "") != (c.caveat != "") || c.caveat != "" && !strings.Contains(got, c.caveat) {
				t.Errorf("caveats %q, not %q", got, c.caveat)
			}
		})
	}
}

// A hook compares a worktree, whose work has no record. What has landed may be at the same tests.
func TestPromiseWithoutARecord(t *testing.T) {
	b := newBench(t, t.TempDir(), "", files{testFile: manyText})
	b.handOver(files{testFile: edited("1", "one")})
	landed := b.commit(files{testFile: edited("9", "nine")}, b.base)
	base, err := git.Files(t.Context(), b.repo.Git.Common, landed)
	if err != nil {
		t.Fatal(err)
	}
	handed, err := b.repo.Snapshots.HandedOver(t.Context(), b.lineage())
	if err != nil {
		t.Fatal(err)
	}
	w := &work{lineage: b.lineage(), base: landed}
	p, err := b.inspect.promised(t.Context(), w, base, handed)
	if err != nil {
		t.Fatal(err)
	}
	both := strings.Replace(edited("1", "one"), "9", "nine", 1)
	if got := b.git("", "cat-file", "blob", p.Want[testFile].ID); got != strings.TrimSpace(both) {
		t.Errorf("the test is to be %q", got)
	}
}

// An agent that resolves a conflict can't drop what others have landed. What is in conflict isn't
// held against it.
func TestSpoiledAfterConflict(t *testing.T) {
	first := files{"a.go": "1", testFile: manyText, "b_test.go": manyText}
	handed := first.with(files{testFile: edited("1", "mine"), "b_test.go": edited("1", "one")})
	landed := first.with(files{testFile: edited("1", "theirs"), "b_test.go": edited("9", "nine"), "theirs_test.go": "t", "a.go": "2"})
	both := strings.Replace(edited("1", "one"), "9", "nine", 1)
	for _, c := range []struct {
		name string
		left files
		want string
	}{
		{"resolved", files{testFile: edited("1", "mine and theirs"), "b_test.go": both, "a.go": "3"}, ""},
		{"others' tests dropped", files{testFile: edited("1", "mine and theirs"), "b_test.go": both, "theirs_test.go": ""}, "theirs_test.go"},
		{"others' tests changed", files{testFile: edited("1", "mine and theirs"), "b_test.go": both, "theirs_test.go": "weak"}, "theirs_test.go"},
		{"another test weakened", files{testFile: edited("1", "mine and theirs"), "b_test.go": edited("9", "nine")}, "b_test.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), "", first)
			b.handOver(handed)
			base := b.commit(landed, b.base)
			if _, _, conflicts := b.judgeTip(b.commit(handed, b.base), base); len(conflicts) == 0 {
				t.Fatal("no conflict")
			}
			problem, w, conflicts := b.judgeTip(b.commit(landed.with(c.left), b.commit(handed, b.base), base), base)
			if len(conflicts) > 0 || (problem != "") != (c.want != "") || !strings.HasSuffix(problem, c.want) {
				t.Fatalf("%q, %q, not %q", problem, conflicts, c.want)
			}
			if !slices.ContainsFunc(w.caveats, func(s string) bool { return strings.HasSuffix(s, ": "+testFile) }) {
				t.Error(w.caveats)
			}
		})
	}
}

// However many files there are, git runs as often.
func TestSpoiledRunsGitAFewTimes(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	count := func(n int) int {
		first, left := files{"x": "x"}, files{}
		for i := range n {
			name := fmt.Sprintf("p%d/package.json", i)
			first[name], left[name] = fmt.Sprintf(`{"scripts": {"test": "a"}, "v": %d}`, i), fmt.Sprintf(`{"scripts": {"test": "a"}, "w": %d}`, i)
			left[fmt.Sprintf("p%d/a_test.go", i)] = fmt.Sprintf("test %d\n<<<<<<<<\n", i)
			first[fmt.Sprintf("p%d/doc", i)] = fmt.Sprintf("<<<<<<< a\n%d", i)
			left[fmt.Sprintf("p%d/doc", i)] = fmt.Sprintf("<<<<<<< a\n%d %d", i, i)
		}
		b := newBench(t, t.TempDir(), "", first)
		b.handOver(first.with(left))
		tip, base := b.commit(first.with(left), b.base), b.commit(first.with(files{"x": "y"}), b.base)
		bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\necho >> '%s'\nexec '%s' \"$@\"\n", log, program), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
		if problem, _, _ := b.judgeTip(tip, base); problem != "" {
			t.Fatal(problem)
		}
		runs, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(runs), "\n")
	}
	few, many := count(2), count(400)
	if few != many || few == 0 {
		t.Errorf("%d runs of git for a few files, %d for many", few, many)
	}
}

// What was handed over, what was left and what has landed are any: the work is spoiled exactly if a
// protected file isn't what the contents say that it must be.
func TestSpoiledByContent(t *testing.T) {
	testfiles.Slow(t)
	names := []string{"a.go", "a_test.go", "b_test.go", "c_test.go", "conftest.py", "doc.txt"}
	b := newBench(t, t.TempDir(), "", files{"keep": "k"})
	// Each check runs git some twenty times.
	rapidtest.Limit(t, 20)
	rapid.Check(t, func(t *rapid.T) {
		serial := 0
		change := func(what string, from files) files {
			to := from.with(nil)
			for _, p := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, what) {
				if serial++; rapid.IntRange(0, 3).Draw(t, "deleted") == 0 {
					delete(to, p)
				} else {
					to[p] = strings.Repeat(fmt.Sprintf("%s %d\n", strings.Repeat(string(rune('a'+serial)), 30), serial), 4)
				}
			}
			return to
		}
		first := change("first", files{"keep": "k"})
		b.t, b.base = t, b.commit(first)
		b.git("", "update-ref", "-d", b.ref)
		var handed []files
		left := first
		for range rapid.IntRange(0, 2).Draw(t, "times") {
			left = change("handed", left)
			handed = append(handed, left)
			b.handOver(left)
		}
		left = change("left", left)
		landed := change("landed", first)
		_, w, conflicts := b.judge(left, landed)
		if len(conflicts) > 0 {
			return
		}
		problem := gate.ItemsText(slices.DeleteFunc(slices.Clone(w.survey.found), func(i gate.Item) bool { return !i.Red }))

		is := files{} // the merge
		for _, p := range append(names, "keep") {
			if is[p] = left[p]; left[p] == first[p] {
				is[p] = landed[p]
			}
		}
		spoiled := false
		brought := false // tests
		for _, p := range names[1:5] {
			must := first[p]
			for _, all := range slices.Backward(handed) {
				if all[p] != "" {
					must = all[p]
				}
			}
			if len(handed) > 0 && !slices.ContainsFunc(handed, func(all files) bool { return all[p] != "" }) {
				must = ""
			}
			if p == "conftest.py" && len(handed) > 0 && first[p] == "" && handed[0][p] == "" { // the tests were handed over without it
				must = ""
			}
			brought = brought || len(handed) > 0 && must != first[p] && must != ""
			switch {
			case len(handed) == 0 && p == "conftest.py":
				spoiled = spoiled || landed[p] != "" && is[p] != landed[p]
			case len(handed) == 0:
			case must != first[p] && landed[p] != first[p] && must != landed[p]: // in conflict
			case landed[p] != first[p]:
				spoiled = spoiled || landed[p] != "" && is[p] != landed[p]
			default:
				spoiled = spoiled || must != "" && is[p] != must
			}
		}
		if conf := "conftest.py"; brought && is[conf] != "" && !spoiled {
			promised := ""
			if landed[conf] != first[conf] { // else it counts as it was handed over, or that it was gone by then
				promised = landed[conf]
			}
			for _, all := range handed {
				promised += all[conf]
			}
			spoiled = promised == ""
		}
		for _, p := range names[1:4] { // whatever was handed over: a person sees what is gone, unless it has only moved
			moved := slices.ContainsFunc(names[1:4], func(o string) bool { return is[o] == landed[p] })
			if told := strings.Contains(gate.ItemsText(w.survey.found), p); landed[p] != "" && is[p] == "" && !moved && !told {
				t.Fatalf("first %q\nhanded over %q\nleft %q\nlanded %q\n%s is gone, and it says %q", first, handed, left, landed, p, gate.ItemsText(w.survey.found))
			}
		}
		if (problem != "") != spoiled {
			t.Fatalf("first %q\nhanded over %q\nleft %q\nlanded %q\nspoiled: %v, but it says %q, caveats %q", first, handed, left, landed, spoiled, problem, w.caveats)
		}
	})
}
