package worktree

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// A Layout names everything of a project: its worktrees, its lineage files, its refs. It reads and
// writes nothing.
type Layout struct {
	git     git.Checkout // the main checkout
	root    string       // the project's
	project string       // its part of a ref
	base    string       // the directory of the repository's worktrees
	place   string       // the directory of the project's
	chosen  bool         // a person has chosen base
	prefix  string       // of branches: "gl"
	target  string       // the target's full name; "" where none can be told
}

var laneName = sync.OnceValue(
	func() *regexp.Regexp {
		return regexp.MustCompile(`^lane(-[1-9][0-9]{0,2})?\.[1-9][0-9]*$`)
	})

// Dir returns the directory in which the lineage's agent works: the project's place in the
// worktree.
func (at *Layout) Dir(l *Lineage) string { return filepath.Join(l.Path, at.git.Prefix) }

// Worktree returns the lineage's worktree.
func (at *Layout) Worktree(l *Lineage) git.Worktree {
	// Files that are missing aren't tested.
	return git.Worktree{Common: at.git.Common, Admin: l.Admin, Path: l.Path, Whole: l.IsLane()}
}

// IsOurs reports whether gl makes branches of this name: for a slice, or as a lane.
func (at *Layout) IsOurs(ref string) bool {
	return strings.HasPrefix(ref, "refs/heads/"+at.prefix+"/s/") ||
		strings.HasPrefix(ref, "refs/heads/"+at.prefix+"/lane/")
}

// path returns a worktree's place.
func (at *Layout) path(system, slice string, n int) string {
	if isLane(slice) {
		return filepath.Join(at.place, lastPart(slice, n))
	}
	return filepath.Join(at.place, name(system), lastPart(slice, n))
}

// isLanePath reports whether a path is a worktree of the lane. Those of slices are in a directory
// of their system.
func (at *Layout) isLanePath(path string) bool {
	return filepath.Dir(path) == at.place && laneName().MatchString(filepath.Base(path))
}

// asideOf returns where a worktree is while it is being removed.
func (at *Layout) asideOf(l *Lineage) string {
	if l.Admin == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(l.Path), ".gone-"+filepath.Base(l.Admin))
}

func (at *Layout) dir() string { return statedir.Path(at.root, "runs", "lineage") }

func (at *Layout) file(system, slice string) string {
	return filepath.Join(at.dir(), fileName(system, slice)+".json")
}

// lockFile returns the file that is locked while the worktree is made, and while its agent runs.
func (at *Layout) lockFile(l *Lineage) string {
	return filepath.Join(at.dir(), fileName(l.System, l.Slice)+"."+strconv.Itoa(l.N)+".lock")
}

func (at *Layout) manifestFile(l *Lineage) string {
	return filepath.Join(at.dir(), fileName(l.System, l.Slice)+".setup")
}

// markPath returns the file with the marks of the project's lanes, by their branches.
func (at *Layout) markPath() string {
	return filepath.Join(at.git.Common, "gl-lane."+at.project+".json")
}

// slicePart returns the common part of the names of a slice's refs.
func (at *Layout) slicePart(system, slice string) string {
	return at.project + "/" + part(system) + "/" + idPart(slice)
}

// branches returns the directory of a slice's branches.
func (at *Layout) branches(system, slice string) string {
	return "refs/heads/" + at.prefix + "/s/" + at.slicePart(system, slice)
}

// lanes returns the directory of the project's lanes.
func (at *Layout) lanes() string { return "refs/heads/" + at.prefix + "/lane/" + at.project }

// wips returns the directory of the WIP refs of all lineages of a slice.
func (at *Layout) wips(system, slice string) string {
	return "refs/gl/wip/" + at.slicePart(system, slice)
}

// wip returns the directory of a lineage's WIP refs.
func (at *Layout) wip(l *Lineage) string {
	return at.wips(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
}

// tests returns the directory of the refs of tests that were handed over.
func (at *Layout) tests(system, slice string) string {
	return "refs/gl/tests/" + at.slicePart(system, slice)
}

func (at *Layout) testsRef(l *Lineage) string {
	return at.tests(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
}

// landed returns the directory of the refs that record how a slice's lineages landed.
func (at *Layout) landed(system, slice string) string {
	return "refs/gl/landed/" + at.slicePart(system, slice)
}

func (at *Layout) notes() string { return "refs/gl/landing/" + at.project }

func (at *Layout) noteRef(system, slice string, attempt int) string {
	return "refs/gl/landing/" + at.slicePart(system, slice) + "/" + strconv.Itoa(attempt)
}

// nextRef returns the ref that protects the commit that is about to land, and its base, from git
// prune.
func (at *Layout) nextRef() string {
	return "refs/gl/next/" + at.project + "/" + part(short(at.target))
}

func (at *Layout) targetRef() string { return "refs/gl/target/" + at.project }

// owns reports whether a ref belongs to the lineage, or is a note of its slice in the queue.
func (at *Layout) owns(l *Lineage, ref string) bool {
	if l.IsLane() {
		return false
	}
	return ref == l.Branch || ref == at.testsRef(l) || strings.HasPrefix(ref, at.wip(l)+"/") ||
		strings.HasPrefix(ref, "refs/gl/landing/"+at.slicePart(l.System, l.Slice)+"/")
}

// check refuses what gl can't have written: a clone may bring such a file, an agent may edit one.
// gl writes only to a worktree that git knows and that is locked in gl's name; see ours.
func (at *Layout) check(l *Lineage) error {
	if l.SchemaVersion != schemaVersion {
		return errForeign{fmt.Errorf("unknown schema version %d: another version of gl wrote it",
			l.SchemaVersion)}
	}
	for field, s := range map[string]string{"system": l.System, "slice": l.Slice, "setup": l.Setup,
		"path": l.Path, "branch": l.Branch} {
		if len(s) > longestText || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("%s %.40q isn't one line of text", field, s)
		}
	}
	ref := "/s/" + at.slicePart(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
	switch {
	case l.Slice == "":
		return errors.New("names no slice")
	case l.N < 1 || l.N > mostLineages:
		return fmt.Errorf("invalid number %d of a worktree", l.N)
	case l.IsLane() && (l.Branch != "" || !at.isLanePath(l.Path)):
		return fmt.Errorf("branch %.200q or path %.200q isn't the merge queue's", l.Branch, l.Path)
	case !l.IsLane() &&
		(!strings.HasPrefix(l.Branch, "refs/heads/") || !strings.HasSuffix(l.Branch, ref)):
		return fmt.Errorf("branch %.200q isn't the slice's", l.Branch)
	case !filepath.IsAbs(l.Path) || filepath.Clean(l.Path) != l.Path ||
		filepath.Base(l.Path) != lastPart(l.Slice, l.N):
		return fmt.Errorf("path %.200q isn't a worktree's of this slice", l.Path)
	case l.Admin != "" && (filepath.Clean(l.Admin) != l.Admin ||
		filepath.Dir(l.Admin) != filepath.Join(at.git.Common, "worktrees")):
		return fmt.Errorf("admin %.200q isn't in this repository", l.Admin)
	case l.Admin == "" && slices.Contains([]Phase{Added, Filled, Ready}, l.Phase):
		return fmt.Errorf("is %s without an admin directory", l.Phase)
	case !isHash(l.Base):
		return fmt.Errorf("invalid base commit %.80q", l.Base)
	case l.Phase == "" || strings.Trim(string(l.Phase), "abcdefghijklmnopqrstuvwxyz") != "":
		return fmt.Errorf("invalid phase %.40q", l.Phase)
	case !slices.Contains(phases, l.Phase):
		return errForeign{fmt.Errorf("unknown phase %.40q: another version of gl wrote it",
			l.Phase)}
	case l.Ports < 0 || l.Ports > 65526:
		return fmt.Errorf("invalid port %d", l.Ports)
	}
	if l.Was != nil && !l.Was.plausible() {
		return fmt.Errorf("invalid earlier slice %.80q", l.Was.Slice)
	}
	for _, p := range l.Ignored {
		if !filepath.IsLocal(p) {
			return fmt.Errorf("ignored path %.200q leads elsewhere", p)
		}
	}
	return nil
}
