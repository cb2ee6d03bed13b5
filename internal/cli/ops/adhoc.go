package ops

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// BeginAdHoc creates private state in a repository that has none: slices can be added to it, and
// git ignores it in the checkout and in worktrees.
func BeginAdHoc(ctx context.Context, root string) error {
	at, err := git.FindCheckout(ctx, root)
	if err != nil {
		return err
	}
	// First, so that a partial state can't be committed.
	if err := exclude(at, "state of gl do and gl land"); err != nil {
		return err
	}
	if err := statedir.Make(root); err != nil {
		return err
	}
	return durable.MkdirAll(statedir.Path(root, "slices"), 0o755)
}

// KeepPrivate makes git ignore the directory of gl's settings in another system's project, before
// they are written: that system's agents commit what git shows as untracked. It reports whether it
// has; it leaves a directory alone that has settings already, or files that git tracks.
func KeepPrivate(ctx context.Context, root string) (bool, error) {
	at, err := git.FindCheckout(ctx, root)
	if err != nil || paths.Exists(filepath.Join(root, project.ConfigFile)) {
		return false, nil // no repository, or no first setting
	}
	tracked, err := git.Tracked(ctx, root, statedir.Name)
	if err != nil || len(tracked) > 0 {
		return false, err
	}
	left, err := git.Unignored(ctx, root, project.ConfigFile)
	if err != nil || len(left) == 0 {
		return false, err
	}
	return true, exclude(at, "gl's settings")
}

// exclude makes git ignore the state directory in all worktrees of this clone; why is for people. A
// .gitignore inside the directory wouldn't be enough: worktrees lack it, so agents would commit the
// documents they write there.
func exclude(at git.Checkout, why string) error {
	pattern := "/" + at.Prefix + statedir.Name + "/"
	path := filepath.Join(at.Common, "info", "exclude")
	if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	old, err := readOptional(path)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Split(strings.ReplaceAll(string(old), "\r\n", "\n"), "\n"),
		pattern) {
		return nil
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return durable.Replace(path, old, []byte(text+"# "+why+"\n"+pattern+"\n"))
}

// readOptional reads a file; nil if it doesn't exist.
func readOptional(path string) ([]byte, error) {
	data, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// longestName limits the characters of a task that become its slice's name.
const longestName = 60

// AddTask adds a slice for a task that a person described in words.
func AddTask(ctx context.Context, pr *project.Project, text string) (id string, err error) {
	name, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(name); len(r) > longestName {
		name = strings.TrimSpace(string(r[:longestName])) + "…"
	}
	a, err := Add(ctx, pr, NewSlice{Name: name})
	if err != nil {
		return "", err
	}
	s, err := store(pr)
	if err != nil {
		return "", err
	}
	return a.ID, s.Edit(ctx, a.ID, func(f *slice.File) error {
		for line := range strings.Lines(strings.TrimSpace(text)) {
			if line = strings.TrimSpace(line); line != "" {
				if err := f.AppendToSection("What", line); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// A Branch is a branch of a person or another tool that is to be merged through the merge queue.
type Branch struct {
	Name     string
	Slice    string // that carries it through the queue
	Lineage  *worktree.Lineage
	Where    string // the worktree that has it checked out; "" for none
	LeftOver int    // uncommitted paths there, which aren't merged
}

// BranchTip returns the commit of a branch that may be merged: neither the target nor one of gl's
// own.
func BranchTip(ctx context.Context, repo *worktree.Repo, name string) (string, error) {
	ref := "refs/heads/" + strings.TrimPrefix(name, "refs/heads/")
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, ref)
	switch {
	case err != nil:
		return "", err
	case tip == "":
		return "", badArgument("there is no branch %s: git branch lists them", worktree.Short(ref))
	case ref == repo.Target():
		return "", badArgument("%s is the target branch: what is on it is merged already",
			worktree.Short(ref))
	case repo.Layout.IsOurs(ref):
		return "", badArgument("%s is gl's own: gl accept merges a slice's work",
			worktree.Short(ref))
	}
	return tip, nil
}

// TakeBranch makes a branch's current commits the work of a slice that awaits approval; the branch
// itself doesn't change. A branch that was taken before and hasn't landed keeps its slice. The
// error is ErrNothingToDo if the merge queue's branch has all of it.
func TakeBranch(ctx context.Context, pr *project.Project, repo *worktree.Repo,
	name string) (*Branch, error) {
	ref := "refs/heads/" + strings.TrimPrefix(name, "refs/heads/")
	b := &Branch{Name: strings.TrimPrefix(ref, "refs/heads/")}
	tip, err := BranchTip(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	base, err := repo.Queue.Base(ctx)
	if err != nil {
		return nil, err
	}
	if in, err := git.IsAncestor(ctx, repo.Git.Common, tip, base); err != nil || in {
		return b, errors.Join(err, ErrNothingToDo)
	}
	if b.Where, err = git.CheckedOut(repo.Git.Common, ref); err != nil {
		return nil, err
	}
	if b.Where != "" {
		left, err := git.DirtyAt(ctx, b.Where)
		if err != nil {
			return nil, err
		}
		b.LeftOver = len(left)
	}
	if b.Slice, err = sliceOf(ctx, pr, b.Name); err != nil {
		return nil, err
	}
	err = pr.Tracker.Do(ctx, func(tx tracker.Tx) error {
		if err := mayTake(pr, tx, b.Slice); err != nil {
			return err
		}
		if l, err := repo.Lineages.Get(pr.Key(), b.Slice); err == nil {
			if err := repo.Lineages.Retire(l.System, l.Slice, l.N); err != nil {
				return err
			}
		}
		b.Lineage, err = repo.Lineages.Plan(ctx, pr.Key(), b.Slice, tip, false)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, edit(ctx, pr, b.Slice, func(_ moment, f *slice.File) error {
		return f.SetAll([][2]string{{"status", tracker.Verifying}, {"step", tracker.Verifying},
			{"waiting_for", "review: the branch " + b.Name}, {"session", ""}})
	})
}

// mayTake refuses a slice that is being worked on.
func mayTake(pr *project.Project, tx tracker.Tx, id string) error {
	s, err := pr.Snapshot(tx.Load)
	if err != nil {
		return err
	}
	p := plan.New(s, time.Now(), pr.Options())
	if st := p.State(id); st == nil {
		return notFound(id)
	} else if st.Attempt.Open() {
		return taken("%s", p.Why(id, time.Now()))
	}
	return nil
}

// branchKey is the key of a slice's file that names the branch it was made from.
const branchKey = "branch"

// sliceOf returns the slice of a branch: one that hasn't landed, or a new one.
func sliceOf(ctx context.Context, pr *project.Project, branch string) (string, error) {
	s, err := store(pr)
	if err != nil {
		return "", err
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return "", err
	}
	for i := range p.States {
		st := &p.States[i]
		if st.Class == plan.Done || st.File == "" || st.Corrupt != "" {
			continue
		}
		f, err := s.Read(st.ID)
		if errors.Is(err, tracker.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		if have, _ := f.Get(branchKey); have == branch {
			return st.ID, nil
		}
	}
	a, err := Add(ctx, pr, NewSlice{Name: "Branch " + branch})
	if err != nil {
		return "", err
	}
	return a.ID, s.Edit(ctx, a.ID, func(f *slice.File) error {
		// Never pending, not even briefly: a run in progress would have an agent build it.
		return f.SetAll([][2]string{{branchKey, branch},
			{"waiting_for", "review: the branch " + branch}})
	})
}

// LandsWith returns an error if the project can't merge people's branches through the merge queue.
func LandsWith(pr *project.Project) error {
	if pr.Tracker.Traits().Lands {
		return nil
	}
	return fmt.Errorf("%s keeps its state in a format whose work is built in the checkout: merge the branch there", pr.Root)
}
