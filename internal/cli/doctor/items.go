package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// Files of the project, relative to its root.
const (
	graphPath   = ".greenlight/GRAPH.json"
	projectPath = ".greenlight/project-state.json"
)

// reported returns the complaints of the project's tracker under a check, except problems in files
// with a merge conflict, where they are to be expected.
func (x *exam) reported(check string) []Finding {
	var all []Finding
	for _, c := range x.complaints {
		if c.Check == check && (c.Severity == tracker.Note || x.conflicts[c.Path] == 0) {
			all = append(all, fromTracker(c))
		}
	}
	return all
}

func fromTracker(c tracker.Complaint) Finding {
	severity := map[tracker.Severity]Severity{tracker.Broken: Error, tracker.Wrong: Warning,
		tracker.Note: Note}[c.Severity]
	f := found(severity, c.Path, c.Message, c.Help)
	if c.Fixable {
		f = fixable(c.Path, c.Message)
	}
	if c.Item != "" {
		f = f.of(c.Item)
	}
	return f
}

// checkSystems reports each system's findings in its own files.
func checkSystems(x *exam) []Finding {
	all := x.reported("")
	for _, view := range x.pr.Views() {
		if view == x.pr {
			continue
		}
		all = append(all, otherPlan(view, x.Now)...)
		for _, c := range view.Tracker.Check() {
			if c.Check == "" {
				all = append(all, fromTracker(c))
			}
		}
	}
	return all
}

// otherPlan reports the warnings of a system other than the one in use.
func otherPlan(view *project.Project, now time.Time) []Finding {
	p, err := view.Plan(now, view.Options())
	if err != nil {
		return []Finding{found(Error, "", err.Error(), "")}
	}
	var all []Finding
	for _, w := range p.Warnings {
		all = append(all, found(Warning, w.Path, w.Message, ""))
	}
	return all
}

// findConflicts finds marks of merge conflicts in the files directly in .greenlight. A slice's file
// with such marks is corrupt, so the tracker reports it.
func findConflicts(root string) (map[string]int, error) {
	dir := statedir.Path(root)
	list, err := durable.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// another system's project may have no .greenlight
		return nil, err
	}
	lines := map[string]int{}
	for _, d := range list {
		if ext := filepath.Ext(d.Name()); d.IsDir() || ext != ".md" && ext != ".json" {
			continue
		}
		data, err := durable.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			continue // reported by the check that needs the file
		}
		if n, whole := conflict.Find(string(data)); whole {
			// without all marks, the text may be about conflicts
			lines[statedir.Name+"/"+d.Name()] = n
		}
	}
	return lines, nil
}

func checkConflicts(x *exam) []Finding {
	var all []Finding
	for path, line := range x.conflicts {
		help := conflictHelp(path)
		if path == x.pr.Tracker.Traits().View {
			help = "gl state render"
		}
		all = append(all, found(Error, path, fmt.Sprintf("merge conflict in line %d", line), help))
	}
	sort.Slice(all, func(i, j int) bool { return *all[i].Path < *all[j].Path })
	return all
}

func conflictHelp(path string) string {
	return "edit " + path + ": keep one side of the conflict, or combine both"
}

func checkSlices(x *exam) []Finding {
	var all []Finding
	for i := range x.p.States {
		st := &x.p.States[i]
		switch {
		case strings.HasPrefix(st.Corrupt, "merge conflict"):
			all = append(all, found(Error, st.File, st.Corrupt, conflictHelp(st.File)).of(st.ID))
		case st.Corrupt != "":
			all = append(all, found(Error, st.File, st.Corrupt, "edit "+st.File).of(st.ID))
		case st.Class == plan.Unknown:
			why := x.p.Why(st.ID, x.Now)
			all = append(all, found(Warning, st.File, st.ID+": "+why.Cause,
				strings.Join(why.Next, ", ")).of(st.ID))
		}
	}
	return all
}

// checkGraph checks the dependencies that result from the graph and the files.
func checkGraph(x *exam) []Finding {
	var all []Finding
	for _, c := range x.p.Cycles {
		all = append(all, found(Error, "",
			"dependency cycle: "+strings.Join(append(slices.Clone(c), c[0]), " → "),
			x.depsHelp(c[len(c)-1])).of(c[0]))
	}
	graph := paths.Exists(filepath.Join(x.pr.Root, graphPath)) && x.p.Snapshot.Unsure == ""
	for i := range x.p.States {
		st := &x.p.States[i]
		for _, need := range st.Needs {
			if x.p.State(need) == nil {
				all = append(all, found(Error, st.File,
					st.ID+" depends on "+need+", an unknown "+x.p.Snapshot.Noun,
					x.unknownHelp(st.ID, need)).of(st.ID))
			}
		}
		if graph && st.File != "" && st.Position == plan.None && st.Class != plan.Done {
			all = append(all, found(Note, graphPath,
				st.ID+" has no entry, so its file names its deps and it is ordered by id",
				"edit "+graphPath+" to add it").of(st.ID))
		}
	}
	return all
}

// depsHelp returns how to change the dependencies of a slice: in its graph entry, if it has one.
func (x *exam) depsHelp(id string) string {
	if st := x.p.State(id); !x.pr.Tracker.Traits().Managed && st.File != "" {
		return "edit " + st.File + ": change what " + id + " depends on"
	}
	if st := x.p.State(id); st.Position != plan.None {
		return "edit " + graphPath + ": change what " + id + " depends on"
	}
	return "gl state set " + id + " deps=…"
}

func (x *exam) unknownHelp(id, need string) string {
	if sliceid.Valid(need) != nil || !x.pr.Tracker.Traits().Managed {
		return x.depsHelp(id)
	}
	return "gl add-slice NAME --id " + need + ", or " + x.depsHelp(id)
}

// checkReverted reports slices that have landed although their files say otherwise.
func checkReverted(x *exam) (all []Finding) {
	for _, id := range x.p.Reverted() {
		st := x.p.State(id)
		all = append(all, fixable(st.File, fmt.Sprintf("%s is merged, but its file says %s: git may have reverted it (git stash, git checkout)",
			id, st.Reverted.Status)).of(id))
	}
	return all
}

// checkFiles reports the tracker's warnings about single files, except those of other checks.
func checkFiles(x *exam) []Finding {
	files := map[string]*plan.State{}
	for i := range x.p.States {
		if st := &x.p.States[i]; st.File != "" {
			files[st.File] = st
		}
	}
	var all []Finding
	for _, w := range x.p.Snapshot.Warnings {
		st := files[w.Path]
		switch {
		case st != nil && w.Message == st.Corrupt:
		case w.Path == projectPath || w.Path == graphPath && x.p.Snapshot.Unsure != "":
		case strings.HasPrefix(w.Path, ".greenlight/runs/"): // checkRecords reports these
		case !strings.HasPrefix(w.Path, statedir.Name+"/"):
			// of another system: the message contains the advice
			f := found(Warning, w.Path, w.Message, "")
			if st != nil {
				f = f.of(st.ID)
			}
			all = append(all, f)
		case st == nil:
			all = append(all, found(Warning, w.Path, w.Message, "edit, rename or remove "+w.Path))
		case strings.HasPrefix(w.Message, "deps ("):
			all = append(all, found(Warning, w.Path, w.Message,
				"gl state set "+st.ID+" deps="+strings.Join(st.Deps, ",")).of(st.ID))
		default:
			all = append(all, found(Warning, w.Path, w.Message, "edit "+w.Path).of(st.ID))
		}
	}
	return all
}

// checkClaims reports claimed slices without a running attempt.
func checkClaims(x *exam) []Finding {
	var all []Finding
	for i := range x.p.States {
		st := &x.p.States[i]
		if st.Class != plan.Active || st.Attempt.Open() {
			continue
		}
		severity, help := Note, "gl state release "+st.ID+" --force, if no one works on it"
		if st.Stale {
			severity, help = Warning, "gl state claim "+st.ID+
				" --force takes it over, gl state release "+st.ID+" clears it"
		}
		all = append(all, found(severity, st.File, st.ClaimText(x.Now)+"; gl runs no attempt at it",
			help).of(st.ID))
	}
	return all
}
