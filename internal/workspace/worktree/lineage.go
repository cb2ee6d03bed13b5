package worktree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// A Lineage is the work on one slice over several attempts: one branch, one worktree, one conversation, one number. Its file
// is written before anything exists in git, and names all that will.
type Lineage struct {
	SchemaVersion int      `json:"schema_version"`
	System        string   `json:"system,omitempty"` // "" for none
	Slice         string   `json:"slice"`
	N             int      `json:"n"`
	Branch        string   `json:"branch"`          // refs/heads/…; "" for the lane's
	Path          string   `json:"path"`            // the worktree's top, as a real path; see Repo.Dir
	Admin         string   `json:"admin,omitempty"` // the admin directory, once there is one
	Base          string   `json:"base"`            // the commit at which the branch was made
	Phase         Phase    `json:"phase"`
	Again         bool     `json:"again,omitempty"`   // the worktree was lost, and is made again: its branch has work
	Setup         string   `json:"setup,omitempty"`   // hash of the setup command that ran, "" for none
	Ignored       []string `json:"ignored,omitempty"` // ignored paths after setup: what comes later is the agent's
	Ports         int      `json:"ports,omitempty"`   // the first of ten
	Was           *Origin  `json:"was,omitempty"`     // whose work it goes on with; nil for none
}

// An Origin is the lineage of a slice that has been renamed.
// The new lineage begins a new conversation, since clients find theirs by directory, so its agent
// is told how the last attempt under the old name ended. The worktree itself isn't moved: it may
// be in use.
type Origin struct {
	Slice string `json:"slice"`
	N     int    `json:"n"`
}

// Phase says how far a lineage's worktree is.
type Phase string

const (
	Planned Phase = "planned" // nothing is there yet, or a half of it
	Added   Phase = "added"   // git has it, without files
	Filled  Phase = "filled"  // its files are there; from here on they are never written again
	Ready   Phase = "ready"   // set up
	Gone    Phase = "gone"    // the slice is complete, and the worktree is removed or about to be
)

var phases = []Phase{Planned, Added, Filled, Ready, Gone}

const (
	schemaVersion = 1
	mostLineages  = 1 << 30
	longestText   = 4096
	largestFile   = 4 << 20
)

// A BadLineage is a lineage file that can't be used. What it told is in git, too.
type BadLineage struct {
	Path string
	Keep bool // another version of gl wrote it
	Err  error
}

func (e *BadLineage) Error() string { return fmt.Sprintf("lineage %s: %v", e.Path, e.Err) }
func (e *BadLineage) Unwrap() error { return e.Err }

// errForeign marks what another version of gl may have written.
type errForeign struct{ error }

// Worktree is the lineage's worktree by its three places.
func (r *Repo) Worktree(l *Lineage) git.Worktree {
	return git.Worktree{Common: r.Common, Admin: l.Admin, Path: l.Path, Whole: l.IsLane()} // what isn't there isn't tested
}

func (r *Repo) dir() string { return statedir.Path(r.root, "runs", "lineage") }

// fileName is the name of a slice's lineage file without its ending. The system's part has no dot.
func fileName(system, slice string) string {
	return strings.ReplaceAll(part(system), ".", "%2e") + "." + idPart(slice)
}

func (r *Repo) file(system, slice string) string {
	return filepath.Join(r.dir(), fileName(system, slice)+".json")
}

// lockFile is locked while the worktree is made, and while its agent runs.
func (r *Repo) lockFile(l *Lineage) string {
	return filepath.Join(r.dir(), fileName(l.System, l.Slice)+"."+strconv.Itoa(l.N)+".lock")
}

// Get reads a slice's lineage. The error is fs.ErrNotExist where there is none, and a *BadLineage where it can't be used.
func (r *Repo) Get(system, slice string) (*Lineage, error) {
	l, err := r.read(r.file(system, slice))
	if err != nil {
		return nil, err
	}
	if l.System != system || l.Slice != slice {
		return nil, &BadLineage{Path: r.file(system, slice), Err: fmt.Errorf("says it is %q of system %q", l.Slice, l.System)}
	}
	return l, nil
}

func (r *Repo) read(path string) (*Lineage, error) {
	info, err := durable.Stat(path)
	if err != nil {
		return nil, err
	}
	l := new(Lineage)
	if info.Size() > largestFile {
		return nil, &BadLineage{Path: path, Err: fmt.Errorf("is larger than %d MB, the most that gl writes", largestFile>>20)}
	}
	data, err := durable.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err = json.Unmarshal(data, l); err == nil {
		err = r.check(l)
	}
	if err == nil && filepath.Base(path) != fileName(l.System, l.Slice)+".json" {
		err = fmt.Errorf("says it is %q of system %q", l.Slice, l.System)
	}
	if err != nil {
		return nil, &BadLineage{Path: path, Keep: errors.As(err, new(errForeign)), Err: err}
	}
	return l, nil
}

// All reads the lineages of all slices, and says which files can't be used.
func (r *Repo) All() ([]*Lineage, []*BadLineage, error) {
	entries, err := durable.ReadDir(r.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var all []*Lineage
	var bad []*BadLineage
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		l, readErr := r.read(filepath.Join(r.dir(), e.Name()))
		if b := new(BadLineage); errors.As(readErr, &b) {
			bad = append(bad, b)
		} else if readErr == nil {
			all = append(all, l)
		} else if !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
	}
	return all, bad, err
}

// check refuses what gl can't have written: a clone may bring such a file, an agent may edit one. It may not lead gl's
// writing anywhere but to a worktree that git knows and that is locked in gl's name; see ours.
func (r *Repo) check(l *Lineage) error {
	if l.SchemaVersion != schemaVersion {
		return errForeign{fmt.Errorf("unknown schema version %d: another version of gl wrote it", l.SchemaVersion)}
	}
	for field, s := range map[string]string{"system": l.System, "slice": l.Slice, "setup": l.Setup, "path": l.Path, "branch": l.Branch} {
		if len(s) > longestText || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return fmt.Errorf("%s %.40q isn't one line of text", field, s)
		}
	}
	ref := "/s/" + r.slicePart(l.System, l.Slice) + "/" + strconv.Itoa(l.N)
	switch {
	case l.Slice == "":
		return errors.New("names no slice")
	case l.N < 1 || l.N > mostLineages:
		return fmt.Errorf("%d is no number of a lineage", l.N)
	case l.IsLane() && (l.Branch != "" || !r.isLanePath(l.Path)):
		return fmt.Errorf("branch %.200q or path %.200q isn't the lane's", l.Branch, l.Path)
	case !l.IsLane() && (!strings.HasPrefix(l.Branch, "refs/heads/") || !strings.HasSuffix(l.Branch, ref)):
		return fmt.Errorf("branch %.200q isn't the slice's", l.Branch)
	case !filepath.IsAbs(l.Path) || filepath.Clean(l.Path) != l.Path || filepath.Base(l.Path) != lastPart(l.Slice, l.N):
		return fmt.Errorf("path %.200q isn't a worktree's of this slice", l.Path)
	case l.Admin != "" && (filepath.Clean(l.Admin) != l.Admin || filepath.Dir(l.Admin) != filepath.Join(r.Common, "worktrees")):
		return fmt.Errorf("admin %.200q isn't in this repository", l.Admin)
	case l.Admin == "" && slices.Contains([]Phase{Added, Filled, Ready}, l.Phase):
		return fmt.Errorf("is %s without an admin directory", l.Phase)
	case !isHash(l.Base):
		return fmt.Errorf("base %.80q is no commit", l.Base)
	case l.Phase == "" || strings.Trim(string(l.Phase), "abcdefghijklmnopqrstuvwxyz") != "":
		return fmt.Errorf("phase %.40q is no phase", l.Phase)
	case !slices.Contains(phases, l.Phase):
		return errForeign{fmt.Errorf("unknown phase %.40q: another version of gl wrote it", l.Phase)}
	case l.Ports < 0 || l.Ports > 65526:
		return fmt.Errorf("%d is no port", l.Ports)
	}
	if w := l.Was; w != nil && (w.N < 1 || w.N > mostLineages || w.Slice == "" || len(w.Slice) > longestText || w.Slice != filepath.Base(w.Slice) || strings.ContainsFunc(w.Slice, unicode.IsControl)) {
		return fmt.Errorf("it was no lineage %.80q before", w.Slice)
	}
	for _, p := range l.Ignored {
		if !filepath.IsLocal(p) {
			return fmt.Errorf("ignored path %.200q leads elsewhere", p)
		}
	}
	return nil
}

func isHash(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// Save writes the lineage's file.
func (r *Repo) Save(l *Lineage) error {
	if err := durable.MkdirPrivate(r.dir()); err != nil {
		return err
	}
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(r.file(l.System, l.Slice), append(data, '\n'), 0o600)
}

// Plan returns the lineage that the next attempt at a slice belongs to: the open one, or, if there is none or fresh is asked
// for, a new one that begins at base. It writes the file and nothing else. The caller has the project's lock.
func (r *Repo) Plan(ctx context.Context, system, slice, base string, fresh bool) (*Lineage, error) {
	l, err := r.Get(system, slice)
	bad := new(BadLineage)
	switch {
	case errors.As(err, &bad) && !bad.Keep:
		if err := r.setAside(bad); err != nil {
			return nil, err
		}
		l = nil
	case errors.Is(err, fs.ErrNotExist):
		l = nil
	case err != nil:
		return nil, err
	}
	if l != nil && !fresh {
		if open, err := r.open(ctx, l); err != nil || open {
			return l, err
		}
	}
	n := 0
	if l != nil {
		n = l.N
	}
	if n, err = r.number(ctx, system, slice, n); err != nil {
		return nil, err
	}
	l = &Lineage{SchemaVersion: schemaVersion, System: system, Slice: slice, N: n, Branch: r.branches(system, slice) + "/" + strconv.Itoa(n),
		Path: r.path(system, slice, n), Base: base, Phase: Planned}
	if l.IsLane() {
		l.Branch = ""
	}
	if err := r.check(l); err != nil {
		return nil, fmt.Errorf("lineage of slice %s: %w", slice, err)
	}
	return l, r.Save(l)
}

// open says whether work on the lineage can go on.
func (r *Repo) open(ctx context.Context, l *Lineage) (bool, error) {
	if l.Phase == Gone {
		return false, nil
	}
	if l.Phase == Planned {
		// Another may have taken the names meanwhile.
		state, err := r.look(ctx, l)
		if err != nil || state == taken {
			return false, err
		}
		lost, err := r.BaseLost(ctx, l)
		if err == nil && lost {
			err = r.dropBranch(ctx, l)
		}
		return !lost, err
	}
	return lost(l.Path) || r.ours(l) == nil, nil
}

// ours checks that the lineage's worktree is one of gl's, by what git has about it.
func (r *Repo) ours(l *Lineage) error {
	if err := r.Worktree(l).Check(); err != nil {
		return err
	}
	reason, err := durable.ReadFile(filepath.Join(l.Admin, "locked"))
	if err != nil || strings.TrimSuffix(string(reason), "\n") != lockReason(l.Path) {
		return fmt.Errorf("the worktree %s isn't locked for gl: %w", l.Path, errors.Join(err, git.ErrNotLinked))
	}
	return nil
}

// gone says whether there is nothing at path.
func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// number is the least number above last that no ref or worktree of the slice has, nor any other file at its path.
func (r *Repo) number(ctx context.Context, system, slice string, last int) (int, error) {
	branches, wips, tests := r.branches(system, slice), r.wips(system, slice), r.tests(system, slice)
	blocking, err := git.Present(ctx, r.Common, append(parents(branches), wips, tests)...)
	if err != nil {
		return 0, err
	}
	if len(blocking) > 0 {
		return 0, &Refused{fmt.Sprintf("the branch %s is in the way of branches like %s/1", short(blocking[0]), short(branches)), "git branch -m it"}
	}
	for _, dir := range []string{branches, wips, tests} {
		refs, err := git.RefsBelow(ctx, r.Common, dir)
		if err != nil {
			return 0, err
		}
		for _, ref := range refs {
			digits, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, dir+"/"), "/")
			if n, err := strconv.Atoi(digits); err == nil {
				last = max(last, n)
			}
		}
	}
	linked, err := git.ListLinked(r.Common)
	if err != nil {
		return 0, err
	}
	for n := last + 1; n <= mostLineages; n++ {
		path := r.path(system, slice, n)
		if gone(path) && !slices.ContainsFunc(linked, func(l git.Linked) bool { return l.Path == path }) {
			return n, nil
		}
	}
	return 0, errors.New("there are too many lineages")
}

// setAside moves a file that can't be used to runs/bad.
func (r *Repo) setAside(bad *BadLineage) error {
	dir := statedir.Path(r.root, "runs", "bad")
	if err := durable.MkdirPrivate(dir); err != nil {
		return err
	}
	to := filepath.Join(dir, "lineage."+filepath.Base(bad.Path))
	for n := 2; paths.Exists(to); n++ {
		to = filepath.Join(dir, "lineage."+filepath.Base(bad.Path)+"."+strconv.Itoa(n))
	}
	for _, p := range []string{bad.Path, to} {
		if err := durable.CheckPath(p); err != nil {
			return err
		}
	}
	return os.Rename(bad.Path, to)
}
