// Package statedir handles the .greenlight directory that all trackers of a project share: its
// place, its kernel lock, and the .gitignore that keeps files of one machine out of the
// repository. For a project whose state another system keeps, this is all that Greenlight
// stores.
package statedir

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
)

// Name is the directory's name under the project's root.
const Name = ".greenlight"

// Path returns the path of a file in the directory.
func Path(root string, elem ...string) string {
	return filepath.Join(append([]string{root, Name}, elem...)...)
}

// FollowNamed lets the state directories of the project that GREENLIGHT_ROOT names be symbolic
// links: the person who sets the variable decides that, not the author of a clone. Links inside
// those directories still aren't followed.
func FollowNamed(getenv func(string) string) {
	if root := getenv("GREENLIGHT_ROOT"); root != "" {
		if root, err := filepath.Abs(root); err == nil {
			durable.FollowRoot(root)
		}
	}
}

// IsLink reports whether the error is about a symbolic link in a project's state, which gl
// doesn't follow.
func IsLink(err error) bool { return errors.As(err, new(*durable.LinkError)) }

// Held is the project's lock. Locked alone makes one that is valid, for as long as it holds the
// lock: what may be written only under the lock is reachable only with a Held.
type Held struct{ lock *holding }

type holding struct{ over bool }

// Valid reports whether the lock is held.
func (h Held) Valid() bool { return h.lock != nil && !h.lock.over }

// Locked calls f under the project's lock, which serializes changes of state among gl
// processes. The directory must exist; see Make. f must not wait for processes.
func Locked(ctx context.Context, root string, f func(Held) error) (err error) {
	lock, err := durable.Lock(ctx, Path(root, ".lock"))
	if err != nil {
		return fmt.Errorf("lock the project: %w", err)
	}
	held := Held{&holding{}}
	defer func() {
		held.lock.over = true
		err = errors.Join(err, lock.Unlock())
	}()
	return f(held)
}

// Make creates the directory and its .gitignore if they are missing.
func Make(root string) error {
	if err := durable.MkdirAll(Path(root), 0o755); err != nil {
		return err
	}
	return WriteIgnore(root)
}

// IsState reports whether a path relative to the state directory is state rather than a
// document: contracts, summaries, decisions and plans belong to a branch, like code.
func IsState(rel string) bool {
	switch rel = strings.TrimSuffix(rel, "/"); rel {
	case "", "slices", "runs", ".lock", ".gitignore", "demo", "STATE.md", "STATE.md.backup",
		"GRAPH.json", "project-state.json", "config.json":
		return true
	}
	name, inSlices := strings.CutPrefix(rel, "slices/")
	return strings.HasPrefix(rel, "runs/") ||
		inSlices && strings.HasSuffix(name, ".md") && !strings.Contains(name, "/")
}

// InState reports whether a path, relative to the top of a repository, is state of any project
// in it. A project has one state; branches have none of their own.
func InState(path string) bool {
	for rest := path; ; {
		i := strings.Index(rest, Name+"/")
		if i < 0 {
			return false
		}
		if before := len(path) - len(rest) + i; (before == 0 || path[before-1] == '/') &&
			IsState(rest[i+len(Name)+1:]) {
			return true
		}
		rest = rest[i+len(Name)+1:]
	}
}
