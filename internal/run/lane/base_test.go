package lane

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A tip is made of a repository and a file alone: the project has no test command.
func newTip(t *testing.T, b *treeBench) *branchTip {
	t.Helper()
	pr, read := projectIn(t, b.dir), &trees{repo: b.repo}
	at := &branchTip{
		project: pr, repo: b.repo, history: history{project: pr, repo: b.repo}, trees: read,
		file: &file{SchemaVersion: 1, Target: b.repo.Target(), runs: pr.Runs}, tell: t.Logf,
	}
	at.bench = &bench{project: pr, repo: b.repo, commands: &commands{project: pr, conf: pr}, trees: read, file: at.file, tell: t.Logf}
	return at
}

func TestTipBase(t *testing.T) {
	const main = "refs/heads/main"
	b := newBench(t, filepath.Join(t.TempDir(), "p"), "", files{"a": "1", "b": "1"})
	at := newTip(t, b)
	lane := b.repo.Queue.Ref()
	expect := func(what, want string) {
		t.Helper()
		got, err := at.base(t.Context())
		if err != nil || got != want {
			t.Fatalf("%s: %s, not %s: %v", what, got, want, err)
		}
	}
	stops := func(why string) {
		t.Helper()
		still := new(Standstill)
		if _, err := at.base(t.Context()); !errors.As(err, &still) || !strings.Contains(err.Error(), why) {
			t.Fatalf("%v doesn't say %q", err, why)
		}
	}

	expect("a new lane is at the target", b.base)
	further := b.commit(files{"a": "2", "b": "1"}, b.base)
	b.git("", "update-ref", main, further)
	expect("the lane follows the target", further)
	if got := b.git("", "rev-parse", lane); got != further || at.file.Tip != further || at.file.Seen != further {
		t.Fatalf("the lane is at %s, the file says %q and %q", got, at.file.Tip, at.file.Seen)
	}

	landed := b.commit(files{"a": "2", "b": "2"}, further)
	b.git("", "update-ref", lane, landed)
	stops("isn't where gl left it")
	at.file.Tip = landed
	expect("what has landed is the base", landed)

	edited := b.commit(files{"a": "3", "b": "1"}, further)
	b.git("", "update-ref", main, edited)
	both, err := at.base(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := b.git("", "show", both+":a", both+":b"); got != "32" {
		t.Errorf("both have %q", got)
	}
	if got := b.git("", "rev-parse", lane, both+"^1", both+"^2"); got != fmt.Sprintf("%s\n%s\n%s", both, landed, edited) {
		t.Errorf("the lane and the parents: %s", got)
	}

	b.git("", "update-ref", main, b.base)
	stops("it was reset or rebased")
}
