package worktree

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
)

// The lane's tests run where earlier tests have run. What setup made there isn't in git, so git
// can't restore it: tests that replace it (node_modules/.bin/jest) would decide about the next
// slice's tests. So after setup a manifest of it is written, out of the tests' reach, and compared
// before each run of the tests.

// Caches are names of ignored directories whose contents builds check themselves. They survive from
// one run of the tests to the next, also within what setup made: without them each run would start
// from scratch. The verdict names those that were there.
var Caches = []string{"target", ".gradle", ".tox", ".nox", "__pycache__", ".pytest_cache",
	".mypy_cache", ".ruff_cache", ".turbo", ".parcel-cache", ".cache",
	".vite", "_build", ".dart_tool", ".stack-work", ".terraform"}

// noteSetup records what setup made. Only the lane's worktree needs that: an agent's worktree is
// the agent's to change.
func (h *Hold) noteSetup() error {
	l := h.lineage
	if !l.IsLane() {
		return nil
	}
	var b bytes.Buffer
	for p, e := range setupFiles(l, true) {
		fmt.Fprintf(&b, "%s %q\n", e, p)
	}
	return durable.WriteFile(h.at.manifestFile(l), b.Bytes(), 0o600)
}

// SetupDiffers returns a path in the lane's worktree that isn't as setup left it, "" for none.
// Without a manifest it returns "the worktree".
func (h *Hold) SetupDiffers() (string, error) {
	l := h.lineage
	data, err := durable.ReadFile(h.at.manifestFile(l))
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*durable.SizeError)) {
		return "the worktree", nil
	}
	if err != nil {
		return "", err
	}
	was := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e, p string
		if i := strings.Index(lines.Text(), ` "`); i > 0 {
			e = lines.Text()[:i]
			_, _ = fmt.Sscanf(lines.Text()[i+1:], "%q", &p)
		}
		was[p] = e
	}
	now := setupFiles(l, false)
	var differ []string
	for p, e := range now {
		old, known := was[p]
		if !known || !sameEntry(filepath.Join(l.Path, p), old, e) {
			differ = append(differ, p)
		}
		delete(was, p)
	}
	for p := range was {
		differ = append(differ, p)
	}
	if len(differ) == 0 {
		return "", nil
	}
	return slices.Min(differ), nil
}

// setupFiles describes what there is of setup's files, by path, so that a replaced file can be told
// from the original. If hashes is set, files with several links are described by their contents,
// too: making another link changes their times.
func setupFiles(l *Lineage, hashes bool) map[string]string {
	all := map[string]string{}
	for _, top := range l.Ignored {
		top = strings.TrimSuffix(top, "/")
		if !filepath.IsLocal(filepath.FromSlash(top)) {
			continue
		}
		_ = filepath.WalkDir(filepath.Join(l.Path, filepath.FromSlash(top)),
			func(file string, e fs.DirEntry, err error) error {
				rel, relErr := filepath.Rel(l.Path, file)
				if err != nil || relErr != nil {
					return nil // one that can't be read is missing from both, or from one
				}
				if e.IsDir() {
					if slices.Contains(Caches, path.Base(rel)) {
						return filepath.SkipDir
					}
					return nil
				}
				if info, err := e.Info(); err == nil {
					all[filepath.ToSlash(rel)] = entryOf(file, info, hashes)
				}
				return nil
			})
	}
	return all
}

func entryOf(file string, info fs.FileInfo, hashed bool) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Sprint(info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	entry := fmt.Sprint(info.Mode(), " ", info.Size(), " ", st.Ino, " ", info.ModTime().UnixNano(),
		" ", changeTime(st))
	if info.Mode()&fs.ModeSymlink != 0 {
		to, _ := os.Readlink(file)
		return entry + fmt.Sprintf(" %x", sha256.Sum256([]byte(to)))
	}
	if hashed && st.Nlink > 1 && info.Mode().IsRegular() {
		return entry + " " + contentHash(file)
	}
	return entry
}

// sameEntry compares a file with its entry in the manifest.
func sameEntry(file, old, now string) bool {
	o, n := strings.Fields(old), strings.Fields(now)
	if slices.Equal(o, n) {
		return true
	}
	if len(o) == 6 && len(n) == 5 { // it had several links
		if slices.Equal(o[:5], n) {
			return true
		}
		return slices.Equal(o[:3], n[:3]) && contentHash(file) == o[5]
	}
	return false
}

func contentHash(file string) string {
	f, err := durable.Open(file)
	if err != nil {
		return "-"
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "-"
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// ForgetSetup removes what setup made in the lane's worktree, except caches, for setup to make it
// again.
func (h *Hold) ForgetSetup() error {
	l := h.lineage
	for p := range setupFiles(l, false) {
		if err := os.Remove(filepath.Join(l.Path, filepath.FromSlash(p))); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
