package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// Limits of what each of a worker's commits may have beyond the commit that its job began with.
// Few small objects can be a huge worktree: a tree may name another one a thousand times, and that
// one a third.
const (
	mostNewCommits = 100_000
	mostNewFiles   = 1_000_000
	mostNewBytes   = 4 << 30
	deepestTree    = 1_000 // directories in each other
	mostTree       = 64 << 20
)

// ErrUnpacked says that commits are too large once they are checked out.
var ErrUnpacked = errors.New("too large once it is checked out")

// checkSize refuses commits that would be too large. base is a commit, "" for none.
func (x Exchange) checkSize(ctx context.Context, commit, base string, has []string) error {
	out, err := at(ctx, x.Dir, long, "", append([]string{"log", "--format=%T",
		"--max-count=" + strconv.Itoa(mostNewCommits+1), commit, "--not"}, has...)...)
	if err != nil {
		return err
	}
	trees := strings.Fields(out)
	if len(trees) > mostNewCommits {
		return fmt.Errorf("%s: %w: more than %d commits", commit, ErrUnpacked, mostNewCommits)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m := &measure{whole: map[string]weight{}, beyond: map[[2]string]weight{}}
	if m.content, err = x.ask(ctx, "--batch"); err != nil {
		return err
	}
	if m.sizes, err = x.ask(ctx, "--batch-check"); err != nil {
		return err
	}
	defer m.content.end()
	defer m.sizes.end()
	if base != "" {
		base += "^{tree}"
	}
	for _, tree := range trees {
		w, err := m.changed(tree, base, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", commit, err)
		}
		if w.files > mostNewFiles || w.bytes > mostNewBytes {
			return fmt.Errorf("%s: %w: more than %d files or %d MB are new", commit, ErrUnpacked,
				mostNewFiles, mostNewBytes>>20)
		}
	}
	return nil
}

// A weight is how much a tree is on disk.
type weight struct{ files, bytes int64 }

// add stops counting where any limit is exceeded.
func (w *weight) add(o weight) {
	const enough = 1 << 50
	w.files, w.bytes = min(w.files+o.files, enough), min(w.bytes+o.bytes, enough)
}

// A measure finds out how much is in trees, and reads each of them once.
type measure struct {
	content, sizes *asking
	whole          map[string]weight
	beyond         map[[2]string]weight // of a tree beside another one
	entries        int                  // of all trees that were read
}

// changed returns how much a tree has that another one, "" for none, doesn't have at the same path.
func (m *measure) changed(tree, other string, depth int) (w weight, err error) {
	if other == "" {
		return m.all(tree, depth)
	}
	key := [2]string{tree, other}
	if w, known := m.beyond[key]; known {
		return w, nil
	}
	now, err := m.read(tree, depth)
	if err != nil {
		return w, err
	}
	then, err := m.read(other, depth)
	if err != nil {
		return w, err
	}
	was := map[string]treeEntry{}
	for _, e := range then {
		was[e.name] = e
	}
	for _, e := range now {
		old := was[e.name]
		var part weight
		switch {
		case old == e:
			continue
		case e.Mode == treeMode && old.Mode == treeMode:
			part, err = m.changed(e.ID, old.ID, depth+1)
		default:
			part, err = m.entry(e, depth)
		}
		if err != nil {
			return w, err
		}
		w.add(part)
	}
	m.beyond[key] = w
	return w, nil
}

// all returns how much is in a tree.
func (m *measure) all(tree string, depth int) (w weight, err error) {
	if w, known := m.whole[tree]; known {
		return w, nil
	}
	list, err := m.read(tree, depth)
	if err != nil {
		return w, err
	}
	for _, e := range list {
		part, err := m.entry(e, depth)
		if err != nil {
			return w, err
		}
		w.add(part)
	}
	m.whole[tree] = w
	return w, nil
}

func (m *measure) entry(e treeEntry, depth int) (w weight, err error) {
	switch {
	case e.Mode == treeMode:
		return m.all(e.ID, depth+1)
	case e.Mode == "160000": // of a submodule there is nothing but its name
		return weight{files: 1}, nil
	}
	_, size, err := m.sizes.about(e.ID)
	return weight{1, size}, err
}

// read returns the entries of a tree.
func (m *measure) read(tree string, depth int) (list []treeEntry, err error) {
	if depth > deepestTree {
		return nil, fmt.Errorf("%w: more than %d directories in each other", ErrUnpacked, deepestTree)
	}
	kind, size, err := m.content.about(tree)
	if err != nil {
		return nil, err
	}
	if kind != "tree" || size > mostTree {
		return nil, fmt.Errorf("%w: %s is a %s of %d bytes", ErrUnpacked, tree, kind, size)
	}
	data := make([]byte, size+1) // and a line feed
	if _, err := io.ReadFull(m.content.out, data); err != nil {
		return nil, err
	}
	list, ok := treeEntries(data[:size], len(m.content.id)/2)
	if !ok {
		return nil, fmt.Errorf("%s is no tree", tree)
	}
	if m.entries += len(list); m.entries > 4*mostNewFiles {
		return nil, fmt.Errorf("%w: its trees have more than %d entries", ErrUnpacked, 4*mostNewFiles)
	}
	return list, nil
}

// An asking is a git cat-file that answers questions about objects.
type asking struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  string // of the last answer
}

func (x Exchange) ask(ctx context.Context, how string) (*asking, error) {
	cmd, err := command(ctx, x.Dir, "--git-dir="+x.Dir, "cat-file", how)
	if err != nil {
		return nil, err
	}
	a := &asking{cmd: cmd}
	if a.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.out = bufio.NewReaderSize(out, 64<<10)
	return a, cmd.Start()
}

// about returns an object's kind and size.
func (a *asking) about(object string) (kind string, size int64, err error) {
	if _, err := io.WriteString(a.in, object+"\n"); err != nil {
		return "", 0, err
	}
	line, err := a.out.ReadString('\n')
	if err != nil {
		return "", 0, err
	}
	f := strings.Fields(line)
	if len(f) == 3 {
		size, err = strconv.ParseInt(f[2], 10, 64)
	}
	if len(f) != 3 || err != nil {
		return "", 0, fmt.Errorf("git cat-file: %s", strings.TrimSpace(line))
	}
	a.id = f[0]
	return f[1], size, nil
}

func (a *asking) end() {
	a.in.Close()
	_ = a.cmd.Wait() // it has answered
}
