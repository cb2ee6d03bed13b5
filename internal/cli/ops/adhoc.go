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
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
	"greenlight/internal/workspace/worktree"
)

// BeginAdHoc makes the state of a project that is this person's alone, in a repository without one: slices can be added to it, and git
// doesn't see it, neither in the checkout nor in worktrees.
func BeginAdHoc(ctx context.Context, root string) error {
	at, err := git.FindCheckout(ctx, root)
	if err != nil {
		return err
	}
	// First: nobody is to commit a half of it.
	if err := exclude(at.Common, "/"+at.Prefix+statedir.Name+"/"); err != nil {
		return err
	}
	if err := statedir.Make(root); err != nil {
		return err
	}
	return durable.MkdirAll(statedir.Path(root, "slices"), 0o755)
}

// exclude has git ignore a pattern in all worktrees of a repository, and in no other clone of it.
// A .gitignore inside the directory wouldn't do: worktrees don't have it, so agents would commit
// the documents that they write there.
func exclude(common, pattern string) error {
	path := filepath.Join(common, "info", "exclude")
	if err := durable.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	old, err := readOptional(path)
	if err != nil {
		return err
	}
	if slices.Contains(strings.Split(strings.ReplaceAll(string(old), "\r\n", "\n"), "\n"), pattern) {
		return nil
	}
	text := string(old)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return durable.Replace(path, old, []byte(text+"# state of gl do and gl land\n"+pattern+"\n"))
}

// readOptional reads a file; nil for none.
func readOptional(path string) ([]byte, error) {
	data, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// longestName is how many characters of a task name its slice.
const longestName = 60

// AddTask adds a slice for a task that a person has told in words.
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

// A Branch is a person's, or another tool's, on its way through the lane.
type Branch struct {
	Name     string
	Slice    string // by which it lands
	Lineage  *worktree.Lineage
	Where    string // where it is checked out; "" for nowhere
	LeftOver int    // uncommitted paths there, which don't land
}

// BranchTip is the commit of a branch that may land: neither the one that the work is for nor one
// of gl's own.
func BranchTip(ctx context.Context, repo *worktree.Repo, name string) (string, error) {
	ref := "refs/heads/" + strings.TrimPrefix(name, "refs/heads/")
	tip, err := git.ResolveCommit(ctx, repo.Git.Common, ref)
	switch {
	case err != nil:
		return "", err
	case tip == "":
		return "", badArgument("there is no branch %s: git branch lists them", worktree.Short(ref))
	case ref == repo.Target():
		return "", badArgument("%s is the branch that the work is for: work that is on it needs no landing",
			worktree.Short(ref))
	case repo.Layout.IsOurs(ref):
		return "", badArgument("%s is gl's own: gl accept lands a slice's work", worktree.Short(ref))
	}
	return tip, nil
}

// TakeBranch makes a branch's commits, as they are now, the work of a slice that awaits a person's approval: the branch itself stays as it
// is. A branch that was taken before and hasn't landed keeps its slice. The error is ErrNothingToDo if the lane has all of it.
func TakeBranch(ctx context.Context, pr *project.Project, repo *worktree.Repo, name string) (*Branch, error) {
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
		return f.SetAll([][2]string{{"status", tracker.Verifying}, {"step", tracker.Verifying}, {"waiting_for", "review: the branch " + b.Name}, {"session", ""}})
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

// branchKey is the key of a slice's file that names the branch by which it came.
const branchKey = "branch"

// sliceOf is the slice of a branch: one that hasn't landed, or a new one.
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
		// Not pending, not even for an instant: a drain that runs would have an agent build it.
		return f.SetAll([][2]string{{branchKey, branch}, {"waiting_for", "review: the branch " + branch}})
	})
}

// LandsWith says whether the project can have a lane for people's branches, and why not.
func LandsWith(pr *project.Project) error {
	if pr.Tracker.Traits().Lands {
		return nil
	}
	return fmt.Errorf("%s keeps its state in a format whose work is built in the checkout: merge the branch there", pr.Root)
}
