package gsd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// changesOf returns the front matter keys whose stored values a verb may change, besides
// last_updated. Verbs that move a phase may change everything that its progress affects.
func changesOf(verb string) []string {
	moving := []string{"status", "current_phase", "current_phase_name", "current_plan", "last_activity", "last_activity_desc", "progress",
		"milestone", "milestone_name", "stopped_at"}
	switch verb {
	case "update":
		return []string{"status"}
	case "patch":
		return []string{"status", "current_plan", "stopped_at", "owner"}
	case "begin-phase", "advance-plan", "planned-phase", "complete-phase", "update-progress":
		return moving
	case "sync":
		return append(moving, "paused_at")
	case "record-session":
		return []string{"stopped_at"}
	case "set-lifecycle":
		return []string{"active_phase", "next_action", "next_phases"}
	case "pause":
		return []string{"paused_at", "status"}
	}
	return []string{"current_plan"} // it follows the body at every write
}

// realTrees returns real .planning directories: those below $GSD_TREES (each directory with a
// STATE.md), and the state files of the corpus with a roadmap that confirms their counts.
func realTrees(t *testing.T) map[string]planning {
	trees := map[string]planning{}
	for _, file := range testfiles.Corpus(t, "gsd/*.md") {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := Parse(src)
		done, _ := d.storedCount("completed_phases")
		total, _ := d.storedCount("total_phases")
		road := "# Roadmap\n\n## " + d.stored("milestone") + " Now\n\n"
		for i := range min(total, 99) {
			mark := " "
			if i < done {
				mark = "x"
			}
			road += fmt.Sprintf("- [%s] **Phase %d: P%d**\n", mark, i+1, i+1)
		}
		trees[filepath.Base(file)] = planning{"STATE.md": string(src), "ROADMAP.md": road}
	}
	if dir := os.Getenv("GSD_TREES"); dir != "" {
		_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Name() == "STATE.md" && !e.IsDir() {
				trees[path] = readTree(t, filepath.Dir(path))
			}
			return nil
		})
	}
	return trees
}

func readTree(t *testing.T, dir string) planning {
	p := planning{}
	_ = filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(rel, "workstreams") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p[filepath.ToSlash(rel)] = string(src)
		return nil
	})
	return p
}

// On all real trees, a verb changes only what it is for, no completed phase that the roadmap
// confirms is lost, and status, the written file and doctor agree.
func TestRealTrees(t *testing.T) {
	testfiles.Slow(t)
	trees := realTrees(t)
	if len(trees) == 0 {
		t.Skip("no corpus here")
	}
	for name, files := range trees {
		t.Run(filepath.Base(name), func(t *testing.T) {
			for _, w := range writers() {
				if w.name == "milestone-switch" {
					continue
				}
				s := files.storeIn(t, memory(t))
				before := Parse([]byte(s.text(t)))
				tr := Open(s.Root)
				tr.getenv = func(string) string { return "" }
				if _, err := w.run(s, "Executing Phase 2"); err != nil {
					t.Fatalf("%s: %v", w.name, err)
				}
				after := Parse([]byte(s.text(t)))
				for _, e := range before.Front {
					raw := string(before.Src[e.Start:e.End])
					if slices.Contains(changesOf(w.name), e.Key) || e.Key == "last_updated" || before.stored(e.Key) == "" && e.Key != "progress" || before.stored(e.Key) == "milestone" {
						continue
					}
					if !strings.Contains(string(after.Src[:after.BodyStart]), strings.TrimRight(raw, "\r\n")) {
						t.Errorf("%s changed %q", w.name, raw)
					}
				}
				checkAgreement(t, w.name, tr, before, after)
			}
		})
	}
}

// checkAgreement compares what a write has left with what is shown.
func checkAgreement(t *testing.T, verb string, tr *Tracker, before, after *Doc) {
	t.Helper()
	c, err := tr.Load()
	if err != nil {
		t.Fatal(err)
	}
	recounts := slices.Contains(changesOf(verb), "progress") && string(before.Src) != string(after.Src)
	if done, ok := after.storedCount("completed_phases"); ok && recounts {
		all, _ := after.storedCount("total_phases")
		plans, _ := after.storedCount("completed_plans")
		total, _ := after.storedCount("total_plans")
		if p := c.Progress; p == nil || p.Done != done || p.Total != all || p.PartsDone != plans || p.PartsAll != total {
			t.Errorf("%s wrote %d/%d phases and %d/%d plans, status shows %+v", verb, done, all, plans, total, p)
		}
		for _, complaint := range tr.Check() {
			if strings.Contains(complaint.Message, "counts") {
				t.Errorf("after %s doctor says %s", verb, complaint.Message)
			}
		}
	}
	done, _ := after.storedCount("completed_phases")
	ticked := 0
	s := tr.survey()
	if s.facts.Unbounded || s.facts.Empty() || !recounts {
		return
	}
	for _, p := range s.road.of(s.milestone) {
		if p.Done {
			ticked++
		}
	}
	if done < min(ticked, s.facts.TotalPhases) {
		t.Errorf("%s wrote %d completed phases, the roadmap has %d ticked off", verb, done, ticked)
	}
}
