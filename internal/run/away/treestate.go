package away

import (
	"context"
	"path"
	"strings"

	"greenlight/internal/core/remote"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
	"greenlight/internal/workspace/git"
)

// largestSlice bounds the slice file that is read from an agent's work.
const largestSlice = 1 << 20

// understand does what an agent meant that edited the slice's file in its tree instead of calling
// gl state set: the fields that an agent may change, and that differ from the commit it started
// from, are set as that agent would set them. What gl refuses stays as it was.
func (s *server) understand(ctx context.Context, r *attempt.Record, from, commit string) error {
	if from == "" || !s.unfinished(ctx, r) {
		return nil
	}
	was, err := s.sliceFile(ctx, from, r.ID.Slice)
	if err != nil || was == nil {
		return err
	}
	is, err := s.sliceFile(ctx, commit, r.ID.Slice)
	if err != nil || is == nil {
		return err
	}
	argv := []string{"state", "set", r.ID.Slice}
	for _, key := range slice.Keys(slice.ByAgent) {
		before, _ := was.Get(key)
		now, _ := is.Get(key)
		if now != before && len(now) <= remote.MaxLine && !strings.ContainsAny(now, "\n\x00") {
			argv = append(argv, key+"="+now)
		}
	}
	if len(argv) == 3 {
		return nil
	}
	answer := s.ask(ctx, r, argv, nil)
	if answer.ExitCode != 0 {
		s.cfg.Tell(r.ID.Name() + ": what its agent wrote into its slice's file was refused: " +
			string(remote.Text(answer.Errors)))
	}
	return nil
}

// sliceFile returns the slice's file in a commit; nil if it has none that can be read.
func (s *server) sliceFile(ctx context.Context, commit, id string) (f *slice.File, err error) {
	files, err := git.Files(ctx, s.trees.Git.Common, commit)
	if err != nil {
		return nil, err
	}
	name := path.Join(s.trees.Git.Prefix, statedir.Name, "slices", id+".md")
	file, ok := files[name]
	if !ok || !file.IsRegular() {
		return nil, nil
	}
	err = git.Blobs(ctx, s.trees.Git.Common, []string{file.ID}, largestSlice,
		func(_ string, text []byte) error {
			f, _ = slice.ParseFile(text) // a garbled one says nothing
			return nil
		})
	return f, err
}

// unfinished reports whether the slice's file says that its agent has work left to do.
func (s *server) unfinished(ctx context.Context, r *attempt.Record) bool {
	unfinished := false
	err := s.cfg.Project.Whose(r).Tracker.Do(ctx, func(tx tracker.Tx) error {
		it, err := r.Tx(tx).Item(r.ID.Slice)
		unfinished = err == nil && it.Session == r.ID.Token && r.Life.Unfinished(it)
		return err
	})
	return err == nil && unfinished
}
