package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
)

// A scratchGit runs git on a worktree that it doesn't change: with temporary indexes, and with new
// objects in quarantine. It notes which paths can't be kept.
type scratchGit struct {
	w         Worktree
	q         *quarantine
	gitDir    string // the admin directory, or the common one where that is broken
	adminless bool   // that it is broken
	bytes     int64  // of the files to hash
	failed    []Failure
}

// git runs git on the worktree with the temporary index. New objects go into quarantine.
func (g *scratchGit) git(ctx context.Context, limit time.Duration, in io.Reader,
	args ...string) (string, error) {
	out, _, err := g.at(ctx, "", "index", limit, in, args...)
	return out, err
}

// at is git with a directory below the worktree's top as work tree, and one of the temporary
// indexes.
func (g *scratchGit) at(ctx context.Context, below, index string, limit time.Duration, in io.Reader,
	args ...string) (out, errOut string, err error) {
	return g.start(ctx, below, index, call{limit: limit, stdin: in}, args...)
}

func (g *scratchGit) start(ctx context.Context, below, index string, c call,
	args ...string) (out, errOut string, err error) {
	dir := filepath.Join(g.w.Path, below)
	c.dir, c.env = dir, append(g.q.env(), "GIT_INDEX_FILE="+filepath.Join(g.q.dir, index))
	off, err := ownOptions(ctx, g.w.Common, g.gitDir, dir)
	if err != nil {
		return "", "", err
	}
	out, errOut, err = c.run(ctx, slices.Concat(steady, off,
		[]string{"--git-dir=" + g.gitDir, "--work-tree=" + dir}, args)...)
	if err != nil && unanswered(err) == nil && g.full(errOut) {
		left, _ := durable.Free(g.q.objects)
		err = errors.Join(&SpaceError{g.w.Path, g.bytes, left}, err)
	}
	return out, errOut, err
}

// full reports whether git failed because of the disk rather than a file. Git's message doesn't
// always tell.
func (g *scratchGit) full(words string) bool {
	return strings.Contains(words, "No space left on device") ||
		strings.Contains(words, "Disk quota exceeded") ||
		strings.Contains(words, "Out of diskspace") ||
		strings.Contains(words, "unable to write new index file") ||
		strings.Contains(words, "unable to write loose object") || durable.Room(g.q.objects) != nil
}

// leaveAdmin gives up the admin directory. HEAD of the main checkout isn't used.
func (g *scratchGit) leaveAdmin() { g.gitDir, g.adminless = g.w.Common, true }

// message returns a commit's message.
func (g *scratchGit) message(ctx context.Context, id string) (string, error) {
	if c, known := objectsOf(g.w.Common).commit(id); known {
		return c.message, nil
	}
	return g.git(ctx, time.Minute, nil, "log", "--no-walk", "--no-show-signature", "--format=%B",
		id)
}

// objects resolves revisions; "" for those that name nothing.
func (g *scratchGit) objects(ctx context.Context, revs ...string) ([]string, error) {
	return objects(g.gitDir, objectsOf(g.w.Common),
		func(in string, args ...string) (string, error) {
			return g.git(ctx, time.Minute, strings.NewReader(in), args...)
		}, revs...)
}

func (g *scratchGit) one(ctx context.Context, rev string) (string, error) {
	found, err := g.objects(ctx, rev)
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// commits returns those of the ids that are existing commits, each once.
func (g *scratchGit) commits(ctx context.Context, ids []string) ([]string, error) {
	var ask []string
	seen := map[string]bool{}
	for _, id := range ids {
		if isID(id) && !seen[id] {
			seen[id] = true
			ask = append(ask, id+"^{commit}")
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	found, err := g.objects(ctx, ask...)
	return slices.DeleteFunc(found, func(id string) bool { return id == "" }), err
}

// fail records that a path isn't kept.
func (g *scratchGit) fail(path, why string) { g.failed = append(g.failed, Failure{path, why}) }

// lstat doesn't follow symbolic links in the directories of a path, as git doesn't.
func (g *scratchGit) lstat(path string, real map[string]bool) (fs.FileInfo, error) {
	for dir := filepath.Dir(path); !real[dir]; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(g.w.Path, dir))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fs.ErrNotExist
		}
		real[dir] = true
	}
	return os.Lstat(filepath.Join(g.w.Path, path))
}
