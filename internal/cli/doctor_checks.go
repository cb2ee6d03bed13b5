package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"greenlight/internal/attempt"
	"greenlight/internal/durable"
	"greenlight/internal/paths"
	"greenlight/internal/plan"
	"greenlight/internal/proc"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/statedir"
	"greenlight/internal/text/conflict"
	"greenlight/internal/tracker"
	"greenlight/internal/words"
)

// A check looks at one side of the project.
type check struct {
	name string
	run  func(*exam) []finding
}

// checks are all that gl doctor looks at, in its order.
func checks() []check {
	return []check{
		{"format", checkFormat},
		{"systems", checkSystems},
		{"conflicts", checkConflicts},
		{"slices", checkSlices},
		{"graph", checkGraph},
		{"files", checkFiles},
		{"claims", checkClaims},
		{"attempts", checkAttempts},
		{"records", checkRecords},
		{"leftovers", checkLeftovers},
		{"state-md", func(x *exam) []finding { return x.beyondConflicts(x.complaintsOf("state-md")) }},
		{"project-state", func(x *exam) []finding { return x.beyondConflicts(x.complaintsOf("project-state")) }},
		{"config", checkConfig},
		{"agent", checkAgent},
		{"installed", checkInstalled},
		{"tools", checkTools},
		{"git", checkGit},
		{"merges", checkMerges},
	}
}

const (
	graphPath   = ".greenlight/GRAPH.json"
	statePath   = ".greenlight/STATE.md"
	projectPath = ".greenlight/project-state.json"
	configPath  = ".greenlight/config.json"
)

func checkFormat(x *exam) []finding { return x.complaintsOf("format") }

// complaintsOf are the tracker's complaints that belong to a check.
func (x *exam) complaintsOf(check string) []finding {
	var all []finding
	for _, c := range x.complaints {
		if c.Check == check {
			all = append(all, complaint(c))
		}
	}
	return all
}

// beyondConflicts leaves out files with a merge conflict, which checkConflicts reports.
func (x *exam) beyondConflicts(all []finding) []finding {
	return slices.DeleteFunc(all, func(f finding) bool { return f.Path != nil && x.conflicts[*f.Path] > 0 })
}

// complaint makes a tracker's complaint a finding.
func complaint(c tracker.Complaint) finding {
	severity := map[tracker.Severity]string{tracker.Broken: isError, tracker.Wrong: isWarning, tracker.Note: isNote}[c.Severity]
	f := found(severity, c.Path, c.Message, c.Help)
	if c.Fixable {
		f = fixable(c.Path, c.Message)
	}
	if c.Item != "" {
		f = f.of(c.Item)
	}
	return f
}

// checkSystems has each of the systems that the project uses look at its own files.
func checkSystems(x *exam) []finding {
	all := x.complaintsOf("")
	for _, view := range x.pr.Views() {
		if view == x.pr {
			continue
		}
		all = append(all, otherPlan(view, x.now)...)
		for _, c := range view.Tracker.Check() {
			if c.Check == "" {
				all = append(all, complaint(c))
			}
		}
	}
	return all
}

// otherPlan tells the warnings of a system beside the one that counts.
func otherPlan(view *project.Project, now time.Time) []finding {
	p, err := view.Plan(now, view.Options())
	if err != nil {
		return []finding{found(isError, "", err.Error(), "")}
	}
	var all []finding
	for _, w := range p.Warnings {
		all = append(all, found(isWarning, w.Path, w.Message, ""))
	}
	return all
}

// findConflicts finds the marks of merges in the files of .greenlight itself; in a slice's file they make it corrupt.
func findConflicts(root string) (map[string]int, error) {
	dir := filepath.Join(root, ".greenlight")
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a sibling's project may have none
		return nil, err
	}
	lines := map[string]int{}
	for _, d := range list {
		if ext := filepath.Ext(d.Name()); d.IsDir() || ext != ".md" && ext != ".json" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, d.Name()))
		if err != nil {
			continue // who needs the file will say so
		}
		if n, whole := conflict.Find(string(data)); whole { // else the text is about conflicts
			lines[".greenlight/"+d.Name()] = n
		}
	}
	return lines, nil
}

func checkConflicts(x *exam) []finding {
	var all []finding
	for path, line := range x.conflicts {
		help := "edit " + path + ": keep one side of the conflict, or join them"
		if path == x.pr.Tracker.Traits().View {
			help = "gl state render"
		}
		all = append(all, found(isError, path, fmt.Sprintf("merge conflict in line %d", line), help))
	}
	sort.Slice(all, func(i, j int) bool { return *all[i].Path < *all[j].Path })
	return all
}

func checkSlices(x *exam) []finding {
	var all []finding
	for i := range x.p.States {
		st := &x.p.States[i]
		switch {
		case st.Corrupt != "":
			help := "edit " + st.File
			if strings.HasPrefix(st.Corrupt, "merge conflict") {
				help += ": keep one side of the conflict, or join them"
			}
			all = append(all, found(isError, st.File, st.Corrupt, help).of(st.ID))
		case st.Class == plan.Unknown:
			why := x.p.Why(st.ID, x.now)
			all = append(all, found(isWarning, st.File, st.ID+": "+why.Cause, strings.Join(why.Next, ", ")).of(st.ID))
		}
	}
	return all
}

// checkGraph looks at the dependencies as they came out of graph and files.
func checkGraph(x *exam) []finding {
	all := x.beyondConflicts(x.complaintsOf("graph"))
	for _, c := range x.p.Cycles {
		all = append(all, found(isError, "", "dependency cycle: "+strings.Join(append(slices.Clone(c), c[0]), " → "),
			x.depsHelp(c[len(c)-1])).of(c[0]))
	}
	graph := paths.Exists(filepath.Join(x.pr.Root, graphPath)) && x.p.Snapshot.Unsure == ""
	for i := range x.p.States {
		st := &x.p.States[i]
		for _, need := range st.Needs {
			if x.p.State(need) == nil {
				all = append(all, found(isError, st.File, st.ID+" depends on "+need+", an unknown slice",
					x.unknownHelp(st.ID, need)).of(st.ID))
			}
		}
		if graph && st.File != "" && st.Position == plan.None && st.Class != plan.Done {
			all = append(all, found(isNote, graphPath, st.ID+" has no entry; its own deps and its place in the order of ids count",
				"edit "+graphPath+": add it, if it is to be ordered").of(st.ID))
		}
	}
	return all
}

// depsHelp is how the dependencies of a slice are changed: where its graph entry has them, there.
func (x *exam) depsHelp(id string) string {
	if st := x.p.State(id); st.Position != plan.None {
		return "edit " + graphPath + ": change what " + id + " depends on"
	}
	return "gl state set " + id + " deps=…"
}

func (x *exam) unknownHelp(id, need string) string {
	if slice.ValidID(need) != nil {
		return x.depsHelp(id)
	}
	return "gl add-slice NAME --id " + need + ", or " + x.depsHelp(id)
}

// checkFiles takes over what the tracker found odd in single files; what other checks tell is left to them.
func checkFiles(x *exam) []finding {
	files := map[string]*plan.State{}
	for i := range x.p.States {
		if st := &x.p.States[i]; st.File != "" {
			files[st.File] = st
		}
	}
	var all []finding
	for _, w := range x.p.Snapshot.Warnings {
		st := files[w.Path]
		switch {
		case st != nil && w.Message == st.Corrupt:
		case w.Path == projectPath || w.Path == graphPath && x.p.Snapshot.Unsure != "":
		case strings.HasPrefix(w.Path, ".greenlight/runs/"): // checkRecords names them
		case st == nil && !strings.HasPrefix(w.Path, statedir.Name+"/"): // a sibling's: what helps is in the message
			all = append(all, found(isWarning, w.Path, w.Message, ""))
		case st == nil:
			all = append(all, found(isWarning, w.Path, w.Message, "edit, rename or remove "+w.Path))
		case strings.HasPrefix(w.Message, "deps ("):
			all = append(all, found(isWarning, w.Path, w.Message, "gl state set "+st.ID+" deps="+strings.Join(st.Deps, ",")).of(st.ID))
		default:
			all = append(all, found(isWarning, w.Path, w.Message, "edit "+w.Path).of(st.ID))
		}
	}
	return all
}

// checkClaims names the slices that are somebody's without an attempt of gl's.
func checkClaims(x *exam) []finding {
	var all []finding
	for i := range x.p.States {
		st := &x.p.States[i]
		if st.Class != plan.Active || st.Attempt.Open() {
			continue
		}
		severity, help := isNote, "gl why "+st.ID
		if st.Stale {
			severity, help = isWarning, "gl state claim "+st.ID+" takes it over, gl state release "+st.ID+" clears it"
		}
		all = append(all, found(severity, st.File, st.ClaimText(x.now)+", without an attempt of gl's", help).of(st.ID))
	}
	return all
}

func checkAttempts(x *exam) []finding {
	var all []finding
	for _, r := range x.live {
		path := ".greenlight/runs/live/" + r.Name() + ".json"
		dead := r.State() == proc.Dead
		switch {
		case dead && x.isSettled(r):
			all = append(all, fixable(path, "what is left of an attempt that is settled").of(r.Slice))
		case dead:
			all = append(all, fixable(path, fmt.Sprintf("attempt %d of %s isn't settled, and its gl process is gone", r.N, r.Slice)).of(r.Slice))
		case x.p.State(r.Slice) == nil && !r.IsTask():
			all = append(all, found(isWarning, path, fmt.Sprintf("attempt %d runs, but %s is no slice any more", r.N, r.Slice),
				"gl stop "+r.Slice).of(r.Slice))
		}
	}
	return all
}

func (x *exam) isSettled(r *attempt.Record) bool {
	return slices.ContainsFunc(x.index[r.Slice], func(en attempt.Entry) bool { return en.N == r.N && en.Outcome != "" })
}

// checkRecords names the records that can't be read, and those of slices that aren't there.
func checkRecords(x *exam) []finding {
	var all []finding
	unreadable := func(path string, err error) {
		rel := path
		if r, err := filepath.Rel(x.pr.Root, path); err == nil {
			rel = filepath.ToSlash(r)
		}
		all = append(all, found(isWarning, rel, "an attempt record that can't be read: "+err.Error(), "rm "+rel))
	}
	for _, b := range x.bad {
		unreadable(b.Path, b.Err)
	}
	var gone []string
	for id, entries := range x.index {
		if x.p.State(id) == nil && !attempt.IsTask(id) && !slices.ContainsFunc(x.live, func(r *attempt.Record) bool { return r.Slice == id }) {
			gone = append(gone, id)
		}
		for _, en := range entries {
			if en.Outcome == "" {
				continue
			}
			_, err := x.pr.Runs.Get(en.Slice, en.N)
			var bad *attempt.BadRecord
			if errors.As(err, &bad) {
				err = bad.Err // it names the file again
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				unreadable(filepath.Join(x.pr.Runs.Dir(), "done", fmt.Sprintf("%s.%d.%s.json", en.Slice, en.N, en.Outcome)), err)
			}
		}
	}
	slices.SortFunc(gone, func(a, b string) int { return strings.Compare(a, b) })
	for _, id := range gone {
		all = append(all, found(isNote, ".greenlight/runs/done",
			fmt.Sprintf("%s of %s, which is no slice", words.Count(len(x.index[id]), "attempt record"), id), "gl logs "+id).of(id))
	}
	return all
}

// tempDirs are the directories in which gl writes by way of temporary files.
func tempDirs(root string) []string {
	home := filepath.Join(root, ".greenlight")
	dirs := []string{home, filepath.Join(home, "slices")}
	for _, d := range []string{"", "live", "done", "claims"} {
		dirs = append(dirs, filepath.Join(home, "runs", d))
	}
	return dirs
}

// checkLeftovers names what processes that died left behind.
func checkLeftovers(x *exam) []finding {
	var all []finding
	for _, dir := range tempDirs(x.pr.Root) {
		rel, _ := filepath.Rel(x.pr.Root, dir)
		if temps, _ := durable.Abandoned(dir, x.now); len(temps) > 0 {
			all = append(all, fixable(filepath.ToSlash(rel), words.Count(len(temps), "temporary file")+" of processes that died"))
		}
	}
	all = append(all, x.complaintsOf("leftovers")...)
	if env := deadEnvs(x.pr.Runs); len(env) > 0 {
		all = append(all, fixable(".greenlight/runs/env", words.Count(len(env), "environment")+
			" of attempts that are over, with whatever secrets are in them"))
	}
	plugins, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(x.pr.Runs.Dir()), "plugin-*"))
	sort.Slice(plugins, func(i, j int) bool { return newer(plugins[i], plugins[j]) })
	for _, dir := range plugins[min(1, len(plugins)):] {
		rel := ".greenlight/runs/" + filepath.Base(dir)
		all = append(all, found(isNote, rel, "the plugin of another version of gl", "rm -r "+rel))
	}
	stages, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(x.pr.Root), ".greenlight-init-*.tmp"))
	for _, dir := range stages {
		if info, err := os.Stat(dir); err == nil && x.now.Sub(info.ModTime()) > time.Hour {
			all = append(all, found(isWarning, filepath.Base(dir), "what a gl init that died left", "rm -r "+filepath.Base(dir)))
		}
	}
	return all
}

func newer(a, b string) bool {
	ia, err1 := os.Stat(a)
	ib, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && ia.ModTime().After(ib.ModTime())
}

// deadEnvs are the files with the environments of attempts that are over.
func deadEnvs(runs *attempt.Store) []string {
	dir := filepath.Join(runs.Dir(), "env")
	list, _ := os.ReadDir(dir) // none: nothing is left there
	var dead []string
	for _, d := range list {
		if !runs.IsOpen(d.Name()) {
			dead = append(dead, filepath.Join(dir, d.Name()))
		}
	}
	return dead
}
