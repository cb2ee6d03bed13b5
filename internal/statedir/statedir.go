// Package statedir is a project's .greenlight directory as all its trackers share it: where it is, the kernel lock in
// it, and the .gitignore that keeps out of the repository what belongs to one machine. A project whose state is kept
// by another system has nothing else of Greenlight's but this.
package statedir

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/durable"
)

// Name is the directory's name under the project's root.
const Name = ".greenlight"

// Path is the path of a file in the directory.
func Path(root string, elem ...string) string {
	return filepath.Join(append([]string{root, Name}, elem...)...)
}

// FollowNamed allows the project that GREENLIGHT_ROOT names to have links to its state directories: whoever sets it has
// decided that, and not the author of a clone. In them no link is followed all the same.
func FollowNamed(getenv func(string) string) {
	if root := getenv("GREENLIGHT_ROOT"); root != "" {
		if root, err := filepath.Abs(root); err == nil {
			durable.FollowRoot(root)
		}
	}
}

// IsLink says whether the error is about a symbolic link in a project's state, which gl doesn't follow.
func IsLink(err error) bool { return errors.As(err, new(*durable.LinkError)) }

// Locked calls f under the project's lock, which serializes every change of state among gl processes. The directory must
// be there; see Make. f doesn't wait for processes.
func Locked(ctx context.Context, root string, f func() error) (err error) {
	lock, err := durable.Lock(ctx, Path(root, ".lock"))
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return f()
}

// Make makes the directory and its .gitignore where they are missing.
func Make(root string) error {
	if err := durable.MkdirAll(Path(root), 0o755); err != nil {
		return err
	}
	return WriteIgnore(root)
}

// IsState says whether a path relative to the state directory is state, as distinct from a document: contracts, summaries,
// decisions and plans belong to a branch, like code.
func IsState(rel string) bool {
	switch rel = strings.TrimSuffix(rel, "/"); rel {
	case "", "slices", "runs", ".lock", ".gitignore", "demo", "STATE.md", "STATE.md.backup", "GRAPH.json", "project-state.json", "config.json":
		return true
	}
	name, inSlices := strings.CutPrefix(rel, "slices/")
	return strings.HasPrefix(rel, "runs/") || inSlices && strings.HasSuffix(name, ".md") && !strings.Contains(name, "/")
}

// InState says whether a path, relative to a repository's top, is state of any project in it: there is one state, and no branch brings another.
func InState(path string) bool {
	for rest := path; ; {
		i := strings.Index(rest, Name+"/")
		if i < 0 {
			return false
		}
		if before := len(path) - len(rest) + i; (before == 0 || path[before-1] == '/') && IsState(rest[i+len(Name)+1:]) {
			return true
		}
		rest = rest[i+len(Name)+1:]
	}
}
