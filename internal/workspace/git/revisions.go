package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// revisions are the commits that a snapshot is compared with: of HEAD, the branch, and the last
// snapshot.
type revisions struct {
	g        *scratchGit
	o        *SnapshotOptions
	parent   string // the commit that the tree's commit has as parent, "" for none
	head     string // what HEAD is, "" where it is no commit
	headTree string // its tree
	tip      string // of the branch
	last     struct{ tree, parent string }
}

// resolve finds the commits that the options and HEAD name. It is the first to run git, so it finds
// out whether the admin directory works.
func (r *revisions) resolve(ctx context.Context) error {
	found, err := r.named(ctx)
	if err != nil && unanswered(err) == nil && r.g.gitDir == r.g.w.Admin {
		r.g.leaveAdmin()
		found, err = r.named(ctx)
	}
	if err != nil {
		return err
	}
	r.head, r.tip, r.last.tree, r.last.parent, r.headTree = found[0], found[1], found[3], found[4],
		found[5]
	if found[2] == "" {
		r.o.Last = ""
	} else {
		r.o.Last = found[2]
	}
	if r.parent = r.head; r.parent != "" {
		return nil
	}
	log, err := r.reflog()
	if err == nil {
		log, err = r.g.commits(ctx, log)
	}
	if err != nil {
		return err
	}
	switch {
	case len(log) > 0:
		r.parent = log[0]
	case r.o.Last != "":
		r.parent = r.o.Last
	default:
		r.parent, err = r.g.one(ctx, commitOf(r.o.Base))
	}
	return err
}

// named returns what the options and HEAD name, in the order in which resolve takes them.
func (r *revisions) named(ctx context.Context) ([]string, error) {
	head := "HEAD"
	if r.g.gitDir != r.g.w.Admin {
		head = ""
	}
	return r.g.objects(ctx, commitOf(head), commitOf(r.o.Branch), commitOf(r.o.Last),
		treeOf(r.o.Last), r.o.Last+"^1^{commit}", treeOf(head))
}

// parentTree returns the tree of the snapshot's parent, "" without one.
func (r *revisions) parentTree(ctx context.Context) (string, error) {
	if r.parent == "" || r.parent == r.head {
		return r.headTree, nil
	}
	found, err := r.g.objects(ctx, treeOf(r.parent))
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// reflog lists the commits that HEAD's reflog names, the newest first.
func (r *revisions) reflog() ([]string, error) {
	data, err := durable.ReadFile(filepath.Join(r.g.w.Admin, "logs", "HEAD"))
	if err != nil {
		// The log is the agent's: an unreadable one doesn't cost the files.
		if ignoreMissing(err) != nil {
			r.g.fail(".git/logs/HEAD", reason(err))
		}
		return nil, nil
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 {
			ids = append(ids, f[0], f[1])
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// own returns the commits named by unfinished operations, the worktree's own refs and its reflog.
func (r *revisions) own(ctx context.Context) ([]string, error) {
	if r.g.gitDir != r.g.w.Admin {
		return nil, nil
	}
	var ids []string
	for _, name := range []string{"ORIG_HEAD", "MERGE_HEAD", "MERGE_AUTOSTASH", "CHERRY_PICK_HEAD",
		"REVERT_HEAD", "REBASE_HEAD", "BISECT_HEAD",
		"rebase-merge/autostash", "rebase-merge/orig-head", "rebase-merge/onto",
		"rebase-apply/autostash", "rebase-apply/orig-head", "rebase-apply/onto"} {
		data, err := durable.ReadFile(filepath.Join(r.g.w.Admin, name))
		if ignoreMissing(err) != nil {
			return nil, err
		}
		// MERGE_HEAD has several in an octopus merge.
		ids = append(ids, strings.Fields(string(data))...)
	}
	refs, err := r.ownRefs(ctx)
	if err != nil {
		return nil, err
	}
	log, err := r.reflog()
	if err != nil {
		return nil, err
	}
	// What HEAD, the branch and the snapshots contain needn't be searched.
	kept, _ := objectsOf(r.g.w.Common).ancestors(slices.Concat([]string{r.parent, r.tip},
		r.o.Kept)...)
	return r.g.commits(ctx, slices.DeleteFunc(slices.Concat(ids, refs, log),
		func(id string) bool { return kept[id] }))
}

// ownRefs returns the commits of refs that are the worktree's alone. Most worktrees have none.
func (r *revisions) ownRefs(ctx context.Context) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(r.g.w.Admin, "refs"))
	if ignoreMissing(err) == nil && len(entries) == 0 &&
		!paths.Exists(filepath.Join(r.g.w.Admin, "reftable")) {
		return nil, nil
	}
	out, err := r.g.git(ctx, time.Minute, nil, "for-each-ref", "--format=%(objectname)",
		"refs/worktree", "refs/bisect", "refs/rewritten")
	return strings.Fields(out), err
}

// others finds the commits that only the reflog or an unfinished operation has, and those that only
// a stash has.
func (r *revisions) others(ctx context.Context) (logs, stashes []string, err error) {
	ids, err := r.own(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := Stashes(r.g.w.Common)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(id string) bool { return slices.Contains(r.o.Stashes, id) })
	if all, err = r.g.commits(ctx, all); err != nil || len(ids)+len(all) == 0 {
		return nil, nil, err
	}
	out, err := r.listOthers(ctx, slices.Concat(ids, all))
	if err != nil {
		if unanswered(err) != nil {
			return nil, nil, err
		}
		return ids, all, nil // a branch is broken: what can't be compared is kept
	}
	for _, id := range tipsOf(out) {
		if !slices.Contains(all, id) {
			logs = append(logs, id)
		}
	}
	for _, id := range all {
		if strings.HasPrefix(out, id) || strings.Contains(out, "\n"+id) { // its line
			stashes = append(stashes, id)
		}
	}
	return logs, stashes, nil
}

// listOthers lists those of the commits, and of the commits below them, that neither a ref nor the
// parent has, each with its parents. For most worktrees their own branch and snapshots have
// everything, so these are checked before all refs, of which there are as many as there was ever
// work.
func (r *revisions) listOthers(ctx context.Context, ids []string) (string, error) {
	list := func(not ...string) (string, error) {
		for _, id := range []string{r.parent, r.tip} {
			if id != "" {
				not = append(not, id)
			}
		}
		not = append(not, r.o.Kept...)
		args := append([]string{"rev-list", "--parents", "--ignore-missing", "--stdin", "--not"},
			not...)
		return r.g.git(ctx, long, strings.NewReader(strings.Join(ids, "\n")+"\n"), args...)
	}
	if out, err := list(); out == "" || err != nil {
		return "", err
	}
	return list("--branches", "--tags", "--remotes", "--glob=refs/gl/*")
}

// mergeHeads returns the commits of an unfinished merge that HEAD doesn't contain. One that it
// contains has been committed, and a kill left the file.
func (r *revisions) mergeHeads(ctx context.Context) ([]string, error) {
	data, err := durable.ReadFile(filepath.Join(r.g.w.Admin, "MERGE_HEAD"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	var list []string
	for _, id := range strings.Fields(string(data)) {
		commit, err := r.g.one(ctx, id+"^{commit}")
		if err != nil {
			return nil, err
		}
		if commit == "" { // pruned: what the worktree has of it counts as its agent's
			continue
		}
		if done, err := descends(ctx, r.g.w.Common, commit, r.head); err != nil {
			return nil, err
		} else if !done {
			list = append(list, commit)
		}
	}
	return list, nil
}
