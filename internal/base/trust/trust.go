// Package trust remembers which commands of a project's configuration this person has allowed.
// Others write a repository's files, so a command in them runs only after the person has seen
// it. The record is in the person's own configuration directory, as a hash of each command
// under the project's path: a changed command must be allowed again, other changes need
// nothing. Trust covers the command line, not what the program does.
package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A Command is a setting that names a program to run or a place to write, or that adds
// arguments to a program.
type Command struct {
	// of the setting: "parallel.agents.mine.command"; for git's settings, "filter.lfs.smudge"
	Key  string
	Line string // the command line, quoted as for a shell
	// a choice rather than a command: it needs no permission until a person has chosen
	// otherwise
	Free bool
}

// Specwright is the beginning of the keys of commands in Specwright's configuration.
const Specwright = "specwright.commands."

// hash covers everything that a person sees of the command.
func (c Command) hash() string {
	sum := sha256.Sum256([]byte(c.Key + "\x00" + c.Line))
	return hex.EncodeToString(sum[:])
}

// Keys returns the settings of the commands, for messages.
func Keys(commands []Command) string {
	var keys []string
	for _, c := range commands {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, ", ")
}

// Files returns the files that name the commands, for messages.
func Files(commands []Command) string {
	var files []string
	for _, c := range commands {
		file := ".greenlight/config.json"
		switch {
		case strings.HasPrefix(c.Key, "filter."):
			file = ".git/config"
		case strings.HasPrefix(c.Key, Specwright):
			file = ".specwright/config.json"
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return strings.Join(files, " and ")
}

// An Error is the refusal to run commands that the person hasn't allowed.
type Error struct{ Commands []Command }

func (e *Error) Error() string {
	what, them := "a command", "it"
	if len(e.Commands) > 1 {
		what, them = "commands", "them"
	}
	files := Files(e.Commands)
	verb := "names"
	if strings.Contains(files, " and ") {
		verb = "name"
	}
	return fmt.Sprintf("%s %s %s that you haven't allowed: %s. Run gl trust to see and allow %s",
		files, verb, what, Keys(e.Commands), them)
}

// A Store holds what one person has allowed in all projects. The zero Store is empty and
// records nothing.
type Store struct{ dir string }

// Open returns the person's store, found by XDG_CONFIG_HOME or HOME.
func Open(getenv func(string) string) Store {
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Store{}
		}
		base = filepath.Join(home, ".config")
	}
	return Store{filepath.Join(base, "greenlight", "trust")}
}

// record is the content of a project's file.
type record struct {
	SchemaVersion int               `json:"schema_version"`
	Root          string            `json:"root"`    // with symbolic links resolved
	Allowed       map[string]string `json:"allowed"` // the hash of each command by its key
}

// Keeps reports whether a path, with symbolic links resolved, is in the store.
func (s Store) Keeps(path string) bool {
	dir, err := resolve(s.dir)
	if s.dir == "" || err != nil {
		return false
	}
	_, kept := paths.Below(dir, path)
	return kept
}

// Pending returns the commands that aren't allowed in the project at root. Without commands it
// reads nothing.
func (s Store) Pending(root string, commands []Command) ([]Command, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if s.dir == "" {
		return slices.DeleteFunc(slices.Clone(commands),
			func(c Command) bool { return c.Free }), nil
	}
	path, real, err := s.file(root)
	if err != nil {
		// only choices, and without a record none was changed
		if !slices.ContainsFunc(commands, func(c Command) bool { return !c.Free }) {
			return nil, nil
		}
		return nil, err
	}
	r, err := read(path, real)
	if err != nil {
		return nil, err
	}
	var pending []Command
	for _, c := range commands {
		if _, chosen := r.Allowed[c.Key]; r.Allowed[c.Key] != c.hash() && (chosen || !c.Free) {
			pending = append(pending, c)
		}
	}
	return pending, nil
}

// Check returns an *Error if one of the commands isn't allowed.
func (s Store) Check(root string, commands []Command) error {
	pending, err := s.Pending(root, commands)
	if err == nil && len(pending) > 0 {
		err = &Error{pending}
	}
	return err
}

// Allows returns a function that reports whether all of the commands are allowed in the project
// at root.
func (s Store) Allows(root string) func([]Command) bool {
	return func(commands []Command) bool { return s.Check(root, commands) == nil }
}

// Allow records that the person allows the commands. It keeps what is allowed under other keys.
func (s Store) Allow(ctx context.Context, root string, commands []Command) error {
	if len(commands) == 0 {
		return nil
	}
	return s.change(ctx, root, func(path, real string) error {
		r, err := read(path, real)
		if err != nil {
			return err
		}
		for _, c := range commands {
			r.Allowed[c.Key] = c.hash()
		}
		return durable.WriteJSON(path, r)
	})
}

// Recorded reports whether the person has allowed the command, or made the choice.
func (s Store) Recorded(root string, c Command) bool {
	c.Free = false
	pending, err := s.Pending(root, []Command{c})
	return err == nil && len(pending) == 0
}

// Knows reports whether the person has allowed a command whose key begins with the prefix.
func (s Store) Knows(root, prefix string) bool {
	if s.dir == "" {
		return false
	}
	path, real, err := s.file(root)
	if err != nil {
		return false
	}
	r, _ := read(path, real) // an unreadable file allows nothing
	for key := range r.Allowed {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Revoke removes the record of the project at root.
func (s Store) Revoke(ctx context.Context, root string) error {
	return s.change(ctx, root, func(path, _ string) error { return durable.Remove(path) })
}

// change calls f with the project's file, under the lock of the store.
func (s Store) change(ctx context.Context, root string,
	f func(path, real string) error) (err error) {
	if s.dir == "" {
		return errors.New("HOME or XDG_CONFIG_HOME must name an absolute directory, for what you have allowed")
	}
	path, real, err := s.file(root)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	lock, err := durable.Lock(ctx, filepath.Join(s.dir, ".lock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return f(path, real)
}

// file returns the project's file, and its root with symbolic links resolved. It rejects a
// store inside the project, since the repository's author could have written that.
func (s Store) file(root string) (path, real string, err error) {
	if real, err = filepath.Abs(root); err != nil {
		return "", "", err
	}
	if real, err = filepath.EvalSymlinks(real); err != nil {
		return "", "", err
	}
	dir := s.dir
	if resolved, err := resolve(dir); err == nil {
		dir = resolved
	}
	if _, inside := paths.Below(real, dir); inside {
		return "", "", fmt.Errorf("%s is inside the project, which must not decide what is allowed: set XDG_CONFIG_HOME to a directory outside of it", s.dir)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json"), real, nil
}

// resolve resolves the symbolic links in the existing part of the path.
func resolve(path string) (string, error) {
	full, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return full, err
	}
	dir, err := resolve(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// read reads a project's file. A file that is missing, or that isn't this project's record,
// allows nothing.
func read(path, real string) (record, error) {
	none := record{SchemaVersion: 1, Root: real, Allowed: map[string]string{}}
	data, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	var r record
	if json.Unmarshal(data, &r) != nil || r.SchemaVersion != 1 || r.Root != real ||
		r.Allowed == nil {
		return none, nil
	}
	return r, nil
}
