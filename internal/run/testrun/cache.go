package testrun

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
)

// maxVerdicts is how many verdicts are kept; the oldest are removed.
const maxVerdicts = 256

// A Cache stores verdicts in .greenlight/runs/verdicts, so that no tree is tested twice. It
// ignores unreadable files.
type Cache struct{ Dir string }

// A Key is what a verdict depends on.
type Key struct {
	Tree      string // without state files
	Command   string
	Dir       string // relative to the tree's top; "" for the top
	Toolchain string
}

func (k Key) file() string { return hash(k.Tree, k.Command, k.Dir, k.Toolchain) + ".json" }

// Key returns what the verdict depends on.
func (v *Verdict) Key() Key { return Key{v.Tree, v.Command, v.Dir, v.Toolchain} }

// Get returns the verdict on a tree; nil if it isn't known.
func (c Cache) Get(k Key) *Verdict {
	var v Verdict
	err := durable.ReadJSON(filepath.Join(c.Dir, k.file()), &v)
	if err != nil || v.SchemaVersion != 1 || v.Key() != k || !v.lasts() {
		return nil
	}
	v.Reason, v.Signal, v.Log = sanitize.Line(v.Reason), sanitize.Line(v.Signal),
		sanitize.Line(v.Log)
	for _, list := range [][]string{v.Failing, v.Last, v.Failure, v.Flaky} {
		for i := range list {
			list[i] = sanitize.Text(list[i])
		}
	}
	return &v
}

// lasts reports whether the same command would end the same way again. Time limits and signals
// have external causes, and so may any other failure without evidence that tests ran: a network
// that was down, a port in use, a missing program.
func (v *Verdict) lasts() bool {
	ran := v.Green() || v.Failed != nil && *v.Failed > 0
	return ran && v.ExitCode != nil && !v.TimedOut && v.Signal == "" && v.Tree != ""
}

// Put stores a verdict, if it lasts.
func (c Cache) Put(v *Verdict) error {
	if !v.lasts() {
		return nil
	}
	if err := durable.MkdirPrivate(c.Dir); err != nil {
		return err
	}
	if err := durable.WriteJSON(filepath.Join(c.Dir, v.Key().file()), v); err != nil {
		return err
	}
	return c.prune()
}

// prune removes the oldest files beyond the limit.
func (c Cache) prune() error {
	entries, err := durable.ReadDir(c.Dir)
	if err != nil || len(entries) <= maxVerdicts {
		return err
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") {
			files = append(files, file{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.at.Compare(b.at), strings.Compare(a.name, b.name))
	})
	var errs []error
	for _, f := range files[:max(0, len(files)-maxVerdicts)] {
		if err := durable.Unlink(filepath.Join(c.Dir, f.name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
