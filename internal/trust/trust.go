// Package trust remembers which commands of a project's configuration this person has allowed. A repository is somebody
// else's text: a command that it names runs only after the person has seen it. What was allowed is kept in the person's own
// configuration directory, as a hash of each command under the project's path, so that a change of a command asks again and
// a change of anything else doesn't. Trust covers the command line, not what the program does.
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

	"greenlight/internal/durable"
)

// A Command is a setting that names a program to run or a place to write, or that adds arguments to a program.
type Command struct {
	Key  string // of the setting: "parallel.agents.mine.command"; of git's, "filter.lfs.smudge"
	Line string // the command line, quoted as for a shell
	Free bool   // no command but a choice: it needs nobody's permission, until a person has made another one
}

// hash depends on everything that a person sees of the command.
func (c Command) hash() string {
	sum := sha256.Sum256([]byte(c.Key + "\x00" + c.Line))
	return hex.EncodeToString(sum[:])
}

// Keys are the settings of the commands, for messages.
func Keys(commands []Command) string {
	var keys []string
	for _, c := range commands {
		keys = append(keys, c.Key)
	}
	return strings.Join(keys, ", ")
}

// Files are the files that name the commands, for messages.
func Files(commands []Command) string {
	var files []string
	for _, c := range commands {
		file := ".greenlight/config.json"
		if strings.HasPrefix(c.Key, "filter.") {
			file = ".git/config"
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return strings.Join(files, " and ")
}

// An Error is the refusal to run commands that nobody has allowed.
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
	return fmt.Sprintf("%s %s %s that you haven't allowed: %s. Run gl trust to see and allow %s", files, verb, what, Keys(e.Commands), them)
}

// A Store is what one person has allowed in all projects. The zero Store has nothing and takes nothing.
type Store struct{ dir string }

// Open finds the person's store by XDG_CONFIG_HOME or HOME.
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

// record is the file of one project.
type record struct {
	SchemaVersion int               `json:"schema_version"`
	Root          string            `json:"root"`    // with symbolic links resolved
	Allowed       map[string]string `json:"allowed"` // the hash of a command by its key
}

// Keeps says whether a path, with symbolic links resolved, is in the store.
func (s Store) Keeps(path string) bool {
	dir, err := resolve(s.dir)
	if s.dir == "" || err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Pending are those of the commands that aren't allowed in the project at root. Without commands nothing is read.
func (s Store) Pending(root string, commands []Command) ([]Command, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if s.dir == "" {
		return slices.DeleteFunc(slices.Clone(commands), func(c Command) bool { return c.Free }), nil
	}
	path, real, err := s.file(root)
	if err != nil {
		if !slices.ContainsFunc(commands, func(c Command) bool { return !c.Free }) { // nobody can have chosen otherwise
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

// Check is an *Error if one of the commands isn't allowed.
func (s Store) Check(root string, commands []Command) error {
	pending, err := s.Pending(root, commands)
	if err == nil && len(pending) > 0 {
		err = &Error{pending}
	}
	return err
}

// Allows returns a function that reports whether all of the commands are allowed in the project at root.
func (s Store) Allows(root string) func([]Command) bool {
	return func(commands []Command) bool { return s.Check(root, commands) == nil }
}

// Allow records that the person allows the commands, beside what is allowed under other keys.
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
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		return durable.WriteFile(path, append(data, '\n'), 0o600)
	})
}

// Recorded says whether the person has allowed the command, or made the choice.
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
	r, _ := read(path, real) // what can't be read allows nothing
	for key := range r.Allowed {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Revoke forgets what was allowed in the project at root.
func (s Store) Revoke(ctx context.Context, root string) error {
	return s.change(ctx, root, func(path, _ string) error { return durable.Remove(path) })
}

// change calls f with the project's file, under the lock of the store.
func (s Store) change(ctx context.Context, root string, f func(path, real string) error) (err error) {
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

// file is the project's file, and its root with symbolic links resolved. A store inside the project would be the
// repository's word, not the person's.
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
	if rel, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(rel) {
		return "", "", fmt.Errorf("%s is inside the project, which must not say by itself what is allowed: set XDG_CONFIG_HOME to a directory outside it", s.dir)
	}
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json"), real, nil
}

// resolve follows the symbolic links in as much of the path as exists.
func resolve(path string) (string, error) {
	full, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return full, err
	}
	dir, err := resolve(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// read reads a project's file. One that is missing, or that isn't this project's record, allows nothing.
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
	if json.Unmarshal(data, &r) != nil || r.SchemaVersion != 1 || r.Root != real || r.Allowed == nil {
		return none, nil
	}
	return r, nil
}
