package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// switching has the person do what $PERSON says, whose git checkout has read where master is before
// gl moves it and writes files after that: before the git that moves it returns, or with $LATER
// when the test says so.
const switching = `case "$*" in *" update-ref "*)
	[ -e "$TOP/.git/began" ] && exec "$REAL" "$@"
	(cd "$TOP" && PATH=${PATH#*:} sh -c "$PERSON"; touch "$TOP/.git/ended") </dev/null >"$TOP/.git/said" 2>&1 &
	until [ -e "$TOP/.git/began" ]; do sleep 0.01; done
	"$REAL" "$@" || exit
	[ -n "$LATER" ] && exit
	touch "$TOP/.git/go"
	wait
	exit;;
esac
exec "$REAL" "$@"
`

// onSide has the person on another branch, where f and g are as they are on master, from which
// other differs: a slow filter writes it.
func onSide(t *testing.T, person string) (b *bench, from, to string) {
	b, from, to = delivered(t)
	b.commitOn("side", "master", map[string]string{"other": "side\n"})
	b.in(b.main, "checkout", "-q", "side")
	b.in(b.main, "config", "filter.slow.smudge",
		"touch .git/began; until [ -e .git/go ]; do sleep 0.01; done; cat")
	b.ok(os.WriteFile(filepath.Join(b.w.Common, "info", "attributes"),
		[]byte("other filter=slow\n"),
		0o644))
	t.Setenv("TOP", b.main)
	t.Setenv("PERSON", person)
	return b, from, to
}

func (b *bench) ended() {
	b.t.Helper()
	testfiles.Put(b.t, b.w.Common, "go", "")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(b.w.Common, "ended")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatal("the person's git doesn't end")
		}
	}
}

// A git that checks out the branch while gl moves it, and has read it before, makes files and index
// those of the old commit, and HEAD the new one. The checkout follows.
func TestFastForwardWhileItIsCheckedOut(t *testing.T) {
	testfiles.Slow(t)
	const pop = "git stash push -q && git checkout -q master && git stash pop -q --index"
	for name, c := range map[string]struct{ person, later, left, want string }{
		"at once":        {"git checkout -q master", "", "", "A  added\n M run"},
		"popped at once": {pop, "", "", ""}, // what is stashed stays there
		"later":          {"git checkout -q master", "1", "A  .env", "A  added\n M run"},
		"popped later":   {pop, "1", " D .env", ""},
		"committed on it": {"git checkout -q master && git commit -q --only -m mine run", "1",
			"D  .env", "A  added"},
	} {
		t.Run(name, func(t *testing.T) {
			b, from, to := onSide(t, c.person)
			testfiles.Write(t, b.main, map[string]string{"added": "mine\n", "run": "mine\n"})
			b.in(b.main, "add", "added")
			later(t, c.later)
			fakeGit(t, switching)
			b.ok(b.forward(from, to))
			b.ended()
			if c.later != "" {
				if got := b.in(b.main, "status", "--porcelain"); !strings.Contains(got, ".env") {
					t.Errorf("the checkout has followed without gl:\n%s", got)
				}
				b.ok(Settle(t.Context(), b.w.Common, target))
			}
			b.settled(c.want)
			if got := b.in(b.main, "rev-list", "--max-count=1", to+"..master", "--", "f",
				"new"); got != "" {
				t.Errorf("master is at %s", got)
			}
			if c.want == "" {
				b.in(b.main, "stash", "pop", "-q", "--index")
				b.settled("A  added\n M run")
			}
		})
	}
}

// later has the person's git go on only when the test says so, and gl not wait for it.
func later(t *testing.T, how string) {
	t.Setenv("LATER", how)
	if how != "" {
		long := lookLonger
		t.Cleanup(func() { lookLonger = long })
		lookLonger = 0
	}
}

// A person who switches to another branch when gl has found the target checked out keeps that other
// branch where it is.
func TestFastForwardWhileItIsLeft(t *testing.T) {
	for name, leave := range map[string]string{"a branch": "checkout -q side",
		"detached": "checkout -q --detach"} {
		t.Run(name, func(t *testing.T) {
			b, from, to := delivered(t)
			b.in(b.main, "branch", "side")
			b.in(b.main, "config", "branch.side.mergeOptions", "--ff")
			testfiles.Write(t, b.main, map[string]string{"other": "mine\n"})
			t.Setenv("TOP", b.main)
			t.Setenv("LEAVE", leave)
			fakeGit(t, `case "$*" in *" merge "*) (cd "$TOP" && "$REAL" $LEAVE) ;; esac; exec "$REAL" "$@"`)
			if err := b.forward(from, to); !errors.As(err, new(*BusyError)) {
				t.Errorf("%v", err)
			}
			if got := b.in(b.main, "rev-parse", "HEAD", "side", "master"); got != from+"\n"+from+
				"\n"+from {
				t.Errorf("HEAD, side and master are at\n%s", got)
			}
			if got := b.in(b.main, "status", "--porcelain"); got != " M other" {
				t.Errorf("status:\n%s", got)
			}
			b.ok(b.forward(from, to))
			if got := b.in(b.main, "rev-parse", "HEAD", "side", "master"); got != from+"\n"+from+
				"\n"+to {
				t.Errorf("HEAD, side and master are at\n%s", got)
			}
		})
	}
}

// settled checks that the checkout at master has what was merged, and gl has nothing to do there.
func (b *bench) settled(status string) {
	b.t.Helper()
	for range 2 {
		if got := b.in(b.main, "status", "--porcelain"); got != status {
			b.t.Errorf("status:\n%s", got)
		}
		b.ok(Settle(b.t.Context(), b.w.Common, target))
	}
	if _, err := os.Stat(filepath.Join(b.w.Common, movedFile)); err == nil {
		b.t.Error("gl looks for it once more")
	}
	if got := b.in(b.main, "show", "HEAD:f", "HEAD:new"); got != "2\n2" {
		b.t.Errorf("HEAD has %q", got)
	}
}

// The git that has the checkout follow is killed, before the index is written.
func TestSettleKilled(t *testing.T) {
	b, from, to := onSide(t, "git checkout -q master")
	later(t, "1")
	fakeGit(t, `case "$*" in *" read-tree "*)
	[ -e "$TOP/.git/torn" ] && exec "$REAL" "$@"
	touch "$TOP/.git/torn"
	cd "$TOP"
	rm f gone
	printf 2 >f
	printf '2\n' >new
	kill -9 $$;;
esac
`+switching)
	b.ok(b.forward(from, to))
	b.ended()
	if err := Settle(t.Context(), b.w.Common, target); err == nil {
		t.Error("no error")
	}
	b.ok(Settle(t.Context(), b.w.Common, target))
	b.settled("")
}

// A git stash pop that is at work there can't make the index that of HEAD when gl has looked at it,
// and not yet written: read-tree leaves files alone whose entries are as they are to be.
func TestSettleBesideAPop(t *testing.T) {
	b, from, to := onSide(t, "git checkout -q master")
	testfiles.Write(t, b.main, map[string]string{"added": "mine\n", "run": "mine\n"})
	b.in(b.main, "add", "added")
	later(t, "1")
	fakeGit(t, `case "$*" in *" read-tree "*)
	(cd "$TOP" && env -u GIT_INDEX_FILE "$REAL" reset -q) >"$TOP/.git/said" 2>&1;;
esac
`+switching)
	b.ok(b.forward(from, to))
	b.ended()
	b.ok(Settle(t.Context(), b.w.Common, target))
	b.settled("A  added\n M run")
	said, _ := os.ReadFile(filepath.Join(b.w.Common, "said"))
	if !strings.Contains(string(said), "index.lock': File exists") {
		t.Errorf("git reset said %q", said)
	}
}

// A git of the person's that has the lock when gl looks, as git stash pop after the checkout, has
// it for an instant: gl looks again, and doesn't leave the checkout to what they do next. Here it
// takes the lock when gl asks about a commit of an earlier gl.
func TestFastForwardMeetsALock(t *testing.T) {
	asked := strings.Repeat("5", 40)
	b, from, to := onSide(t, "git checkout -q master; echo "+asked+" >.git/"+committing)
	fakeGit(t, `case "$*" in *`+asked+`*)
	touch "$TOP/.git/index.lock"
	(sleep 0.1; rm "$TOP/.git/index.lock") >"$TOP/.git/said" 2>&1 &;;
esac
`+switching)
	b.ok(b.forward(from, to))
	b.settled("")
	if _, err := os.Stat(filepath.Join(b.w.Common, "said")); err != nil {
		t.Error("gl met no lock")
	}
}

// What a git stash takes from a checkout that hasn't followed comes back with git stash pop: its
// files are newer than HEAD then, and the index is HEAD's. Gl may look while it is stashed.
func TestSettleAfterAStash(t *testing.T) {
	testfiles.Slow(t)
	const switched = "git stash push -q && git checkout -q master && ! git stash pop -q --index"
	for name, during := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			b, from, to := onSide(t, switched+" && git stash drop -q")
			testfiles.Write(t, b.main, map[string]string{"added": "mine\n", "run": "mine\n"})
			b.in(b.main, "add", "added")
			later(t, "1")
			fakeGit(t, switching)
			b.ok(b.forward(from, to))
			b.ended()
			b.in(b.main, "stash", "push", "-q")
			if during {
				b.ok(Settle(t.Context(), b.w.Common, target))
			}
			b.in(b.main, "stash", "pop", "-q", "--index")
			if got := b.in(b.main, "status", "--porcelain"); !strings.HasPrefix(got,
				" D .env\n D d/e\n M f\n M g\n D new") {
				t.Errorf("status:\n%s", got)
			}
			b.ok(Settle(t.Context(), b.w.Common, target))
			b.settled("")
		})
	}
}

// Where edits are in the way, and the branch moves back, the index that a refused git stash pop has
// made that of HEAD does, too. Else the next delivery would leave the files alone.
func TestFastForwardMovesBack(t *testing.T) {
	b, from, to := onSide(t, "git checkout -q master && git reset -q && echo mine >f")
	fakeGit(t, switching)
	overlap := new(OverlapError)
	if err := b.forward(from, to); !errors.As(err, &overlap) ||
		!slices.Equal(overlap.Paths, []string{"f"}) {
		t.Errorf("%v", err)
	}
	if got := b.in(b.main, "status", "--porcelain"); got != " M f" ||
		b.in(b.main, "rev-parse", "HEAD") != from {
		t.Errorf("status:\n%s", got)
	}
	b.in(b.main, "checkout", "-q", "f")
	b.ok(b.forward(from, to))
	b.settled("")
}

// What the person has edited stays, and the branch with it.
func TestFastForwardWhileItIsCheckedOutWithEdits(t *testing.T) {
	for name, how := range map[string]string{"at once": "", "later": "1"} {
		t.Run(name, func(t *testing.T) {
			b, from, to := onSide(t, "git checkout -q master")
			testfiles.Write(t, b.main, map[string]string{"f": "mine\n", "g": "mine\n"})
			b.in(b.main, "add", "g")
			later(t, how)
			fakeGit(t, switching)
			err := b.forward(from, to)
			at, overlap, behind := from, new(OverlapError), new(BehindError)
			if how != "" {
				b.ok(err)
				b.ended()
				err, at = Settle(t.Context(), b.w.Common, target), to
			}
			if errors.As(err, &overlap) == errors.As(err, &behind) ||
				!slices.Equal(append(overlap.Paths, behind.Paths...), []string{"f", "g"}) {
				t.Errorf("%v", err)
			}
			if got := b.in(b.main, "rev-parse", "master"); got != at {
				t.Errorf("master is at %s", got)
			}
			for _, name := range []string{"f", "g"} { // nothing of the person's is lost
				if data, err := os.ReadFile(filepath.Join(b.main, name)); err != nil ||
					string(data) != "mine\n" {
					t.Errorf("%s is %q, %v", name, data, err)
				}
			}
			if how == "" {
				if got := b.in(b.main, "status", "--porcelain"); got != " M f\nM  g" {
					t.Errorf("status:\n%s", got)
				}
				return
			}
			_, advice, _ := strings.Cut(err.Error(), "there, ") // what the error says does it
			for _, command := range strings.Split(strings.ReplaceAll(advice, "FILE", ".git/FILE"),
				", ") {
				if command == "gl land" {
					b.ok(Settle(t.Context(), b.w.Common, target))
					b.settled("")
					continue
				}
				// Which says what is in conflict.
				if out, err := shell(b.main, command); err != nil &&
					!strings.HasPrefix(command, "git apply") {
					t.Errorf("%s: %v: %s", command, err, out)
				}
			}
			if got := b.in(b.main, "status", "--porcelain"); got != "UU f\nUU g" {
				t.Errorf("status:\n%s", got)
			}
		})
	}
}

// A person who takes back what was merged, and hasn't committed that, is left alone.
func TestSettleLeavesEditsAlone(t *testing.T) {
	testfiles.Slow(t)
	for name, do := range map[string]string{
		"taken back":           "git checkout -q master && git checkout -q master~1 -- . && git rm -q --cached new .env d/e && rm -r new .env d",
		"taken back, unstaged": "git checkout -q master && git restore --source=master~1 -- .",
		"one file":             "git checkout -q master && git checkout -q master~1 -- f",
		"staged alone":         "git checkout -q master && git reset -q master~1 -- .",
		"another branch":       "git checkout -q -b mine master~1",
		"reset":                "git checkout -q master && git reset -q --hard master~1",
	} {
		t.Run(name, func(t *testing.T) {
			b, from, to := onSide(t, "")
			testfiles.Put(t, b.w.Common, "go", "")
			b.ok(b.forward(from, to))
			b.sh(b.main, do)
			testfiles.Write(t, b.main, map[string]string{"run": "mine\n"})
			before := b.in(b.main, "status", "--porcelain", "--branch")
			b.ok(Settle(t.Context(), b.w.Common, target))
			if got := b.in(b.main, "status", "--porcelain", "--branch"); got != before {
				t.Errorf("status was\n%s\nand is\n%s", before, got)
			}
		})
	}
}

// Nothing can be staged while git merge is at work, which has read the index and would write it
// without that.
func TestFastForwardWhileFilesAreStaged(t *testing.T) {
	b, from, to := delivered(t)
	t.Setenv("TOP", b.main)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(t.TempDir(), "config"))
	b.in(b.main, "config", "--global", "filter.mine.clean", `if [ "$GIT_REFLOG_ACTION" = "gl: merge" ] && mkdir "$TOP/.git/once" 2>/dev/null; then
		(cd "$TOP" && env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE git add added) >"$TOP/.git/said" 2>&1; fi; cat`)
	b.ok(os.WriteFile(filepath.Join(b.w.Common, "info", "attributes"),
		[]byte("other filter=mine\n"),
		0o644))
	testfiles.Write(t, b.main, map[string]string{"added": "mine\n", "other": "2\n"})
	b.ok(b.forward(from, to))
	if got := b.in(b.main, "status", "--porcelain"); got != " M other\n?? added" {
		t.Errorf("status:\n%s", got)
	}
	said, _ := os.ReadFile(filepath.Join(b.w.Common, "said"))
	// Else it would have been staged, and then not.
	if !strings.Contains(string(said), "index.lock': File exists") {
		t.Errorf("git add said %q", said)
	}
}
