package runner_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// A gitPerson works in their own checkout, and in a second worktree of theirs, with git alone,
// while gl merges what agents build. In the end everything of theirs is as they left it.
type gitPerson struct {
	s      *site
	random *rand.Rand // the storm's own isn't for two goroutines
	counts map[string]int
	second string   // a worktree, on the branch feature
	mine   []string // files that they have committed to the target

	git1  sync.Mutex // held while a git of theirs runs
	doing sync.Mutex // held while they do one thing, of several gits
	stop  chan struct{}
	ended chan struct{}
}

// newGitPerson makes a person begin, until finish.
func newGitPerson(s *site, seed uint64) *gitPerson {
	p := &gitPerson{s: s, random: rand.New(rand.NewPCG(seed, 2)), counts: map[string]int{}, second: filepath.Join(s.dir, "second"),
		stop: make(chan struct{}), ended: make(chan struct{})}
	s.git("branch", "side")
	s.git("worktree", "add", "-q", "-b", "feature", p.second)
	p.commitIn(p.second, "feature.txt")
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-p.stop:
				return
			case <-time.After(time.Duration(p.random.IntN(300)) * time.Millisecond):
				p.act()
			}
		}
	}()
	return p
}

// finish lets the person end what they are at.
func (p *gitPerson) finish(counts map[string]int) {
	close(p.stop)
	<-p.ended
	for what, n := range p.counts {
		counts["person: "+what] += n
	}
}

// act does one thing that people do, from its beginning to its end.
func (p *gitPerson) act() {
	actions := []struct {
		name string
		do   func() error
	}{
		{"stash and pop", func() error { return p.stashed(func() error { p.pause(); return nil }) }},
		{"stash and drop", p.drop},
		{"another branch", func() error { return p.away("checkout", "-q", "side") }},
		{"detached", func() error { return p.away("checkout", "-q", "--detach") }},
		{"reset and back", p.reset},
		{"commit", p.commit},
		{"rebase", p.rebase},
		{"gc", func() error { return p.git(p.s.Root, "gc", "-q") }},
		{"gc --prune=now", func() error { return p.git(p.s.Root, "gc", "-q", "--prune=now") }},
		{"prune", func() error { return p.git(p.second, "prune", "--expire=now") }},
		{"branch -D", p.deleteBranch},
		{"worktree prune", func() error { return p.git(p.s.Root, "worktree", "prune") }},
		{"worktree add and remove", p.another},
		{"clone", p.clone},
		{"second worktree", p.feature},
	}
	a := actions[p.random.IntN(len(actions))]
	p.doing.Lock()
	defer p.doing.Unlock()
	if err := a.do(); err != nil {
		p.loud("%s: %v", a.name, err)
		p.counts[a.name+" refused"]++
		return
	}
	p.counts[a.name]++
}

func (p *gitPerson) loud(format string, a ...any) {
	if os.Getenv("STORM_LOUD") != "" {
		p.s.t.Logf(format, a...)
	}
}

func (p *gitPerson) pause() { time.Sleep(time.Duration(p.random.IntN(500)) * time.Millisecond) }

// git runs git, again while another holds the lock of what it needs. A lock that stays is one that
// a killed gl has left, which the next gl that delivers removes: the person has one do so.
func (p *gitPerson) git(dir string, args ...string) error {
	for again := 0; ; again++ {
		out, err := p.unlessLocked(dir, args)
		if err == nil || again == 5 || args[0]+args[1] == "stashpush" || !isLocked(out) {
			return err
		}
		p.counts["locked out"]++
		<-p.s.gl("land").done
	}
}

// unlessLocked runs git, and again for four seconds if it meets a lock.
func (p *gitPerson) unlessLocked(dir string, args []string) (out string, err error) {
	for range 40 {
		out, err = p.gitOnce(dir, args...)
		if err == nil || !isLocked(out) || args[0]+args[1] == "stashpush" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return out, err
}

func isLocked(out string) bool { return strings.Contains(out, ".lock': File exists") }

func (p *gitPerson) gitOnce(dir string, args ...string) (string, error) {
	p.git1.Lock()
	defer p.git1.Unlock()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(p.s.env), "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=sed -i s/^pick/edit/")
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %q: %w: %s", args, err, out)
	}
	return string(out), err
}

// must is for what has to come to its end, or the person's files aren't as they were.
func (p *gitPerson) must(args ...string) {
	if err := p.git(p.s.Root, args...); err != nil {
		status, _ := p.gitOnce(p.s.Root, "status")
		p.s.t.Errorf("the person can't go on: %v\n%s", err, status)
	}
}

// push stashes what is edited. A git stash that fails may have made the stash, and taken a part of
// the edits out of the checkout, as where gl has just written a file of state that it puts back.
// What it has left is put back then.
func (p *gitPerson) push(dir string, paths ...string) error {
	before := p.stashes()
	err := p.git(dir, append([]string{"stash", "push", "-q", "--"}, paths...)...)
	if err == nil || p.stashes() == before {
		return err
	}
	rest := []string{"reset", "-q", "--hard"}
	if len(paths) > 0 {
		rest = append([]string{"checkout", "-q", "HEAD", "--"}, paths...)
	}
	for range 5 {
		if err = p.git(dir, rest...); err == nil {
			return nil
		}
	}
	p.s.t.Errorf("the person can't go on: %v", err)
	return err
}

func (p *gitPerson) stashes() int {
	out, _ := p.gitOnce(p.s.Root, "stash", "list")
	return strings.Count(out, "\n")
}

// stashed does something while the person's edits are stashed. Where what is stashed of gl's files
// doesn't fit anymore, their own come back, and of gl's files what was committed.
func (p *gitPerson) stashed(f func() error) error {
	if err := p.push(p.s.Root); err != nil {
		return err
	}
	err := f()
	if p.git(p.s.Root, "stash", "pop", "-q", "--index") == nil {
		return err
	}
	p.counts["pop in the way"]++
	own := []string{"--", "staged", "d1/f1"}
	p.must("checkout", "-q", "HEAD", "--", ".greenlight")
	p.must(append([]string{"checkout", "-q", "stash@{0}^2"}, own...)...)
	p.must(append([]string{"restore", "--source=stash@{0}", "--worktree"}, own...)...)
	p.must("stash", "drop", "-q")
	return err
}

// away is for a while where the target isn't.
func (p *gitPerson) away(args ...string) error {
	return p.stashed(func() error {
		if err := p.git(p.s.Root, args...); err != nil {
			return err
		}
		p.pause()
		p.back("checkout", "-q", "work")
		return nil
	})
}

// back is git that gl's files may be in the way of, which gl has written meanwhile, and once more
// since.
func (p *gitPerson) back(args ...string) {
	for range 5 {
		if p.git(p.s.Root, args...) == nil {
			return
		}
		p.must("checkout", "-q", "HEAD", "--", ".greenlight")
	}
	p.must(args...)
}

func (p *gitPerson) drop() error {
	if err := p.edit(p.s.Root, "d2/f2"); err != nil {
		return err
	}
	if err := p.push(p.s.Root, "d2/f2"); err != nil {
		p.must("checkout", "-q", "HEAD", "--", "d2/f2")
		return err
	}
	p.pause()
	p.must("stash", "drop", "-q")
	return nil
}

// edit gives a file that only the person writes a content that it never had before.
func (p *gitPerson) edit(dir, name string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Append(nil, p.random.Uint64()), 0o644)
}

// reset takes the target back by a commit or more, and puts it back where it was.
func (p *gitPerson) reset() error {
	return p.stashed(func() error {
		to := []string{"HEAD~1", "side"}[p.random.IntN(2)]
		was, err := p.gitOnce(p.s.Root, "rev-parse", "HEAD") // ORIG_HEAD is another once gl has delivered meanwhile
		if err != nil {
			return err
		}
		if err := p.git(p.s.Root, "reset", "-q", "--hard", to); err != nil {
			return err
		}
		p.pause()
		p.must("reset", "-q", "--hard", strings.TrimSpace(was))
		return nil
	})
}

// commitIn commits one file, and nothing else that is staged.
func (p *gitPerson) commitIn(dir, name string) error {
	if err := p.edit(dir, name); err != nil {
		return err
	}
	err := p.git(dir, "add", name)
	if err == nil {
		err = p.git(dir, "commit", "-q", "--only", "-m", "mine", "--", name)
	}
	return err
}

// commit commits to the target, and amends that now and then.
func (p *gitPerson) commit() error {
	name := fmt.Sprintf("mine/%d", len(p.mine))
	if err := p.commitIn(p.s.Root, name); err != nil {
		p.git(p.s.Root, "rm", "-q", "--cached", "--ignore-unmatch", name)
		os.Remove(filepath.Join(p.s.Root, name))
		return err
	}
	p.mine = append(p.mine, name)
	p.pause()
	if p.random.IntN(3) > 0 || !p.isMine() {
		return nil
	}
	p.counts["amend"]++
	if err := p.edit(p.s.Root, name); err != nil {
		return err
	}
	if err := p.git(p.s.Root, "commit", "-q", "--amend", "--only", "--no-edit", "--", name); err != nil {
		p.must("checkout", "-q", "HEAD", "--", name)
		return err
	}
	return nil
}

// isMine reports whether the newest commit of the target is the person's.
func (p *gitPerson) isMine() bool {
	out, err := p.gitOnce(p.s.Root, "log", "-1", "--format=%s")
	return err == nil && strings.TrimSpace(out) == "mine"
}

// rebase stops in the middle, and then goes on or gives up.
func (p *gitPerson) rebase() error {
	if !p.isMine() {
		return nil
	}
	return p.stashed(func() error {
		if err := p.git(p.s.Root, "rebase", "-q", "-i", "HEAD~1"); err != nil {
			p.git(p.s.Root, "rebase", "--abort")
			return err
		}
		p.pause()
		how := []string{"--abort", "--continue"}[p.random.IntN(2)]
		if p.git(p.s.Root, "rebase", how) != nil { // what gl has written meanwhile is in the way
			how = "--abort"
			p.back("rebase", how)
		}
		p.counts["rebase "+how]++
		return nil
	})
}

// deleteBranch deletes the merge queue's branch, or a slice's whose work the target has.
func (p *gitPerson) deleteBranch() error {
	out, err := p.gitOnce(p.s.Root, "for-each-ref", "--merged=work", "--format=%(refname:short)", "refs/heads/gl/s")
	if err != nil {
		return err
	}
	all := append(strings.Fields(out), "gl/lane/_/work")
	return p.git(p.s.Root, "branch", "-q", "-D", all[p.random.IntN(len(all))])
}

func (p *gitPerson) another() error {
	dir := filepath.Join(p.s.dir, "another")
	if err := p.git(p.s.Root, "worktree", "add", "-q", "--detach", dir); err != nil {
		return err
	}
	p.pause()
	return p.git(p.s.Root, "worktree", "remove", "--force", dir)
}

func (p *gitPerson) clone() error {
	dir := filepath.Join(p.s.dir, "clone")
	defer os.RemoveAll(dir)
	return p.git(p.s.dir, "clone", "-q", []string{"--no-hardlinks", "--mirror", "--no-local"}[p.random.IntN(3)], p.s.Root, dir)
}

// feature is work in the second worktree.
func (p *gitPerson) feature() error {
	git := func(args ...string) error { return p.git(p.second, args...) }
	switch p.random.IntN(4) {
	case 0:
		return p.commitIn(p.second, "feature.txt")
	case 1:
		err := git("rebase", "-q", "work")
		if err != nil {
			git("rebase", "--abort")
		}
		return err
	case 2:
		if err := p.edit(p.second, "feature.txt"); err != nil {
			return err
		}
		err := p.push(p.second)
		if p.pause(); err == nil {
			err = git("stash", "pop", "-q")
		}
		git("checkout", "-q", "--", "feature.txt")
		return err
	}
	err := git("reset", "-q", "--hard", "HEAD~1")
	if p.pause(); err == nil {
		err = git("reset", "-q", "--hard", "ORIG_HEAD")
	}
	return err
}

// kept checks that what the person has committed and begun is there.
func (p *gitPerson) kept() {
	t := p.s.t
	for _, name := range p.mine {
		if _, err := p.s.tryGit(nil, "cat-file", "-e", "work:"+name); err != nil {
			t.Errorf("the person's commit of %s isn't in the target", name)
		}
	}
	if out, _ := p.gitOnce(p.s.Root, "stash", "list"); out != "" {
		t.Errorf("stashed: %s", out)
	}
	if out, _ := p.gitOnce(p.s.Root, "symbolic-ref", "--short", "HEAD"); strings.TrimSpace(out) != "work" {
		t.Errorf("the person is on %s", out)
	}
	if _, err := os.Stat(filepath.Join(p.second, "feature.txt")); err != nil {
		t.Error(err)
	}
}
