package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/words"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/statedir"
)

func checkAttempts(x *exam) []Finding {
	var all []Finding
	for _, r := range x.live {
		path := ".greenlight/runs/live/" + r.ID.Name() + ".json"
		dead := r.Life.State() == proc.Dead
		switch {
		case r.Life.Phase == plan.Queued && !x.isSettled(r): // needs no process of its own
			if x.idle(r) {
				all = append(all, found(Warning, path, fmt.Sprintf("%s is in the merge queue, and no gl is working on it", r.ID.Label()), "gl land").of(r.ID.Slice))
			}
		case dead && x.isSettled(r):
			all = append(all, fixable(path, "leftover of a settled attempt").of(r.ID.Slice))
		case dead:
			all = append(all, fixable(path, fmt.Sprintf("attempt %d of %s isn't settled, and its gl process is gone", r.ID.N, r.ID.Slice)).of(r.ID.Slice))
		case r.Life.Unserved():
			all = append(all, found(Warning, path, fmt.Sprintf("attempt %d of %s runs %s, and gl serve isn't running", r.ID.N, r.ID.Slice, r.Life.Remote.Place()),
				"gl serve").of(r.ID.Slice))
		case r.Life.Elsewhere() != "":
			all = append(all, found(Warning, path, fmt.Sprintf("attempt %d of %s runs %s, where gl can't look", r.ID.N, r.ID.Slice, r.Life.Elsewhere()),
				"gl retry --abandon "+r.ID.Label()+" if that is gone").of(r.ID.Slice))
		case x.p.State(r.ID.Slice) == nil && !r.ID.IsTask():
			all = append(all, found(Warning, path,
				fmt.Sprintf("attempt %d is running, but slice %s no longer exists", r.ID.N, r.ID.Slice),
				"gl stop "+r.ID.Slice).of(r.ID.Slice))
		}
	}
	return all
}

// idle reports whether the attempt waits in the merge queue and no process works on the queue.
func (x *exam) idle(r *attempt.Record) bool {
	st := x.p.State(r.ID.Slice)
	return st != nil && st.Attempt != nil && st.Attempt.N == r.ID.N && st.Attempt.Idle
}

func (x *exam) isSettled(r *attempt.Record) bool {
	return slices.ContainsFunc(x.index[r.ID.Slice], func(en attempt.Entry) bool {
		return en.N == r.ID.N && en.Outcome != ""
	})
}

// checkRecords reports unusable files in runs/, and records of slices that don't exist.
func checkRecords(x *exam) []Finding {
	var all []Finding
	for _, b := range x.bad {
		rel := paths.Relative(x.pr.Root, b.Path)
		if b.Keep {
			all = append(all, found(Warning, rel, "can't be used: "+b.Err.Error(),
				"run the gl that wrote it, or rm "+rel))
		} else {
			all = append(all, fixable(rel, "can't be used: "+b.Err.Error()))
		}
	}
	if aside, _ := (attempt.Quarantine{Store: x.pr.Runs}).Moved(); len(aside) > 0 {
		all = append(all, found(Note, paths.Relative(x.pr.Root, filepath.Dir(aside[0])),
			words.Count(len(aside), "file")+" of runs/ that couldn't be used",
			"rm -r "+paths.Relative(x.pr.Root, filepath.Dir(aside[0]))))
	}
	var gone []string
	for id := range x.index {
		if x.p.State(id) == nil && !attempt.IsTask(id) &&
			!slices.ContainsFunc(x.live, func(r *attempt.Record) bool {
				return r.ID.Slice == id
			}) {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	if len(gone) > 0 {
		all = append(all, found(Note, ".greenlight/runs/done",
			"attempt records of slices that don't exist (any more): "+words.Some(gone),
			"gl logs "+gone[0]).of(gone[0]))
	}
	return all
}

// checkMessages reports messages to agents that no agent will read.
func checkMessages(x *exam) []Finding {
	var all []Finding
	for _, work := range unread(x.pr, x.Now) {
		all = append(all, fixable(".greenlight/runs/say/"+work+".json",
			"messages to "+work+", which is over, were never read"))
	}
	return all
}

// unread returns the slices that are complete or gone, and the tasks that are over, that still have
// messages.
func unread(pr *project.Project, now time.Time) []string {
	said := pr.Runs.Messages.SaidTo()
	if len(said) == 0 {
		return nil
	}
	open := map[string]bool{}
	live, _, err := pr.Runs.Live()
	for _, r := range live {
		open[r.ID.Work()] = true
	}
	for _, view := range pr.Views() {
		p, failed := view.Plan(now, view.Options())
		if err = errors.Join(err, failed); err != nil {
			return nil // unknown without the project
		}
		for i := range p.States {
			if st := &p.States[i]; st.Class != plan.Done {
				open[st.ID] = true
			}
		}
	}
	return slices.DeleteFunc(said, func(work string) bool { return open[work] })
}

// tempDirs returns the directories in which gl writes temporary files.
func tempDirs(root string) []string {
	dirs := []string{statedir.Path(root), statedir.Path(root, "slices")}
	for _, d := range []string{"", "live", "done", "claims"} {
		dirs = append(dirs, statedir.Path(root, "runs", d))
	}
	return dirs
}

// checkLeftovers reports files that dead processes left behind.
func checkLeftovers(x *exam) []Finding {
	var all []Finding
	for _, dir := range tempDirs(x.pr.Root) {
		if temps, _ := durable.Abandoned(dir, x.Now); len(temps) > 0 {
			all = append(all, fixable(paths.Relative(x.pr.Root, dir),
				words.Count(len(temps), "temporary file")+" left by dead processes"))
		}
	}
	if env := deadEnvs(x.pr.Runs); len(env) > 0 {
		all = append(all, fixable(".greenlight/runs/env", words.Count(len(env), "environment")+
			" of attempts that have ended, with any secrets in it"))
	}
	plugins, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(x.pr.Runs.Files.Dir()), "plugin-*"))
	sort.Slice(plugins, func(i, j int) bool { return newer(plugins[i], plugins[j]) })
	for _, dir := range plugins[min(1, len(plugins)):] {
		rel := ".greenlight/runs/" + filepath.Base(dir)
		all = append(all, found(Note, rel, "the plugin of another version of gl", "rm -r "+rel))
	}
	stages, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(x.pr.Root), ".greenlight-init-*.tmp"))
	for _, dir := range stages {
		if info, err := os.Stat(dir); err == nil && x.Now.Sub(info.ModTime()) > time.Hour {
			all = append(all, found(Warning, filepath.Base(dir), "left by a gl init that died",
				"rm -r "+filepath.Base(dir)))
		}
	}
	return all
}

func newer(a, b string) bool {
	ia, err1 := os.Stat(a)
	ib, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && ia.ModTime().After(ib.ModTime())
}

// deadEnvs returns the files with the environments of attempts that have ended.
func deadEnvs(runs *attempt.Store) []string {
	dir := filepath.Join(runs.Files.Dir(), "env")
	list, _ := durable.ReadDir(dir) // no directory, no files
	var dead []string
	for _, d := range list {
		if !runs.IsOpen(d.Name()) {
			dead = append(dead, filepath.Join(dir, d.Name()))
		}
	}
	return dead
}
