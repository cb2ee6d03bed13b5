package away

import (
	"slices"
	"time"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/workers"
	"greenlight/internal/workspace/worktree"
)

// keptEvery is between two looks for worktrees that workers have kept in vain.
const keptEvery = 5 * time.Second

// keptTrees are the worktrees that workers have kept for continuations.
type keptTrees struct {
	due time.Time // when discard looks again
}

// discard tells workers which of the worktrees that they have kept no job will go on in: those of
// slices that are merged, or go on in other worktrees.
func (k *keptTrees) discard(s *server) error {
	if time.Now().Before(k.due) {
		return nil
	}
	k.due = time.Now().Add(keptEvery)
	for _, p := range s.machine.Workers() {
		if p.Silent || len(p.Kept) == 0 {
			continue
		}
		needless := needless(s, p.Kept)
		list := slices.DeleteFunc(slices.Clone(p.Kept), func(name string) bool { return !needless[name] })
		if len(list) == 0 {
			continue
		}
		if err := s.step(remote.Unneeded{Worker: p.Name, Lineages: list}); err != nil {
			return err
		}
	}
	return nil
}

// needless returns which of the lineages, by their names on workers, are over. What can't be told
// isn't.
func needless(s *server, kept []string) map[string]bool {
	over := map[string]bool{}
	all, bad, err := s.trees.Lineages.All()
	if err != nil || len(bad) > 0 {
		return over
	}
	ended := map[string]attempt.Record{} // by name: in which lineage its attempts were
	for _, l := range all {
		for n := 1; n < l.N || n == l.N && l.Phase == worktree.Gone; n++ {
			r := attempt.Record{}
			r.ID.System, r.ID.Slice, r.Place.Lineage = l.System, l.Slice, n
			ended[workers.LineageName(l.System, l.Slice, n)] = r
		}
	}
	for _, l := range all { // names aren't unique
		if l.Phase != worktree.Gone {
			delete(ended, workers.LineageName(l.System, l.Slice, l.N))
		}
	}
	for _, name := range kept {
		if r, is := ended[name]; is && allHome(s, &r) {
			over[name] = true
		}
	}
	return over
}

// allHome reports whether all that was done in a record's lineage is here. Some of it may have been
// too large, and be on its worker alone.
func allHome(s *server, r *attempt.Record) bool {
	last, err := s.runs.LastIn(r, func(r *attempt.Record) bool { return r.Life.Remote != nil })
	return err == nil && last != nil && last.Place.Unsaved == ""
}
