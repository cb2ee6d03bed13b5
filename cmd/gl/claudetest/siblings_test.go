package claudetest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/content"
)

// siblingSkills returns the texts of a system's commands by name.
func siblingSkills(t *testing.T, system string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	dir := "siblings/" + system + "/skills"
	entries, err := content.Siblings.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := content.Siblings.ReadFile(dir + "/" + e.Name() + "/SKILL.md")
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(data)
	}
	return texts
}

// siblingWorld is a repository without any project, and a model that does what a command's text
// says by running act.sh with the command's name and arguments.
func siblingWorld(t *testing.T, system, act string, arguments ...string) *world {
	t.Helper()
	var scripts []Script
	for name, text := range siblingSkills(t, system) {
		_, body, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
		lines := strings.Split(strings.TrimSpace(body), "\n")
		last := lines[len(lines)-1] // which no other command's text has
		for _, argument := range append(slices.Clone(arguments), "") {
			scripts = append(scripts, Script{
				When: func(r *Request) bool {
					return len(r.Tools) > 0 && r.Asked(last) &&
						(argument == "" || r.Asked("<asked>\n"+argument))
				},
				Steps: []Reply{Bash("sh ./act.sh " + name + " " + argument), Say("Done.")},
			})
		}
	}
	w := emptyWorld(t, scripts...)
	w.write(filepath.Join(w.root, "act.sh"), "set -e\n"+act)
	w.write(filepath.Join(w.root, ".gitignore"), ".greenlight/\n")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "start")
	return w
}

// unpackSibling unpacks a system's plugin, as gl does, and returns its directory.
func (w *world) unpackSibling(system string) string {
	w.Helper()
	dir := filepath.Join(w.home, system)
	sub, err := fs.Sub(content.Siblings, "siblings/"+system)
	w.check(err)
	w.check(os.CopyFS(dir, sub))
	return dir
}

// person runs a command in a session of a person's, to its end; all that it ran must have
// succeeded.
func (w *world) person(prompt string, flags ...string) {
	w.Helper()
	w.headless(prompt, append([]string{yolo}, flags...)...)
	w.succeeded(prompt)
}

// succeeded checks the last conversation: a command was run, without an error.
func (w *world) succeeded(what string) {
	w.Helper()
	results := w.last().Results()
	if len(results) == 0 {
		w.Fatalf("%s: the command wasn't expanded", what)
	}
	for _, r := range results {
		if r.IsError {
			w.Fatalf("%s: %s", what, r.Text)
		}
	}
}

// From a plugin and installed, each command can be typed as the original's is, and its prompt has
// what it inlines.
func TestSiblingsLoad(t *testing.T) {
	for _, system := range []string{"specwright", "gsd"} {
		t.Run(system, func(t *testing.T) {
			w := siblingWorld(t, system, "exit 0\n")
			for i, flags := range [][]string{{"--plugin-dir", w.unpackSibling(system)}, nil} {
				if i == 1 {
					w.must("gl", "install", "--local", "--system", system)
				}
				for name := range siblingSkills(t, system) {
					w.person("/"+name+" 1", flags...)
					if last := w.last(); last.Asked("!`") || last.Asked("$ARGUMENTS") {
						t.Errorf("/%s was not expanded: %+v", name, last.Messages)
					}
				}
			}
		})
	}
}

const specwrightAct = `
dir() { sed -n 's/^ *"workDir": "\(.*\)",*$/\1/p' .specwright/state/workflow.json | head -n 1; }
case $1 in
sw-init)
	mkdir -p .specwright
	echo '# Constitution' >.specwright/CONSTITUTION.md
	echo '# Charter' >.specwright/CHARTER.md
	echo '{"commands": {"build": "true", "test": "sh suite.sh"}, "gates": {"enabled": ["build", "tests", "spec"]}}' >.specwright/config.json
	printf 'test ! -e bug\n' >suite.sh
	gl sw init ;;
sw-design)
	gl sw start books --description "Books" --intensity full
	! gl sw to planning
	mkdir -p $(dir)
	echo '# Design' >$(dir)/design.md
	echo '# Context' >$(dir)/context.md ;;
sw-plan)
	gl sw to planning
	for u in form mail sums; do
		gl sw unit add $u --description "Unit $u"
		mkdir -p .specwright/work/books/units/$u
		echo "# Spec" >.specwright/work/books/units/$u/spec.md
		gl sw unit approve $u
	done
	gl sw unit next ;;
sw-build)
	gl sw to building
	if test -e fixing; then
		git rm -q bug fixing
	else
		gl sw task total 1
		gl sw task start task-1
		echo done >$(basename $(dir)).txt
		if test $(basename $(dir)) = form; then touch bug; touch fixing; fi
		gl sw task done task-1
	fi ;;
sw-verify)
	gl sw to verifying
	gl sw gate build --run
	gl sw gate tests --run || exit 0
	mkdir -p $(dir)/evidence
	echo "# Spec: PASS" >$(dir)/evidence/spec-report.md
	gl sw gate spec PASS ;;
sw-ship)
	git push -q origin HEAD
	gl sw ship ;;
esac
git add -A
git diff --cached --quiet || git commit -q -m "$1"
`

// A Specwright work with three units, from nothing to shipped, with gl's commands alone: the tests
// of the first unit fail once. After every step the state is valid by the protocol.
func TestSpecwrightFromNothing(t *testing.T) {
	w := siblingWorld(t, "specwright", specwrightAct)
	w.must("git", "init", "-q", "--bare", filepath.Join(w.home, "origin.git"))
	w.must("git", "remote", "add", "origin", filepath.Join(w.home, "origin.git"))
	w.must("gl", "init", "--system", "specwright")
	w.must("rm", "-r", ".specwright") // /sw-init does without
	ours := []string{"--plugin-dir", w.unpackSibling("specwright")}
	for _, step := range []struct{ command, status string }{{"sw-init", ""}, {"sw-design", "designing"}, {"sw-plan", "building"}} {
		w.person("/"+step.command, ours...)
		w.validWorkflow(step.command, step.status)
	}
	w.must("gl", "trust", "--yes")
	for i, unit := range []string{"form", "mail", "sums"} {
		// builds and verifies: nothing is installed, so gl passes its own commands
		w.call("gl", "slice", "--watch", "--runner", "process")
		st := w.validWorkflow("gl slice "+unit, "verifying")
		if st.Work.Unit != unit {
			t.Fatalf("unit %s is the current one, not %s", st.Work.Unit, unit)
		}
		if i == 0 {
			if st.Gates["tests"].Status != "FAIL" {
				t.Fatalf("the gates are %v", st.Gates)
			}
			if r := w.call("gl", "sw", "ship"); r.code != 1 {
				t.Fatalf("shipped with a failing gate: %s", r.out)
			}
			w.person("/sw-build", ours...)
			w.validWorkflow("the fix", "building")
			w.person("/sw-verify", ours...)
			st = w.validWorkflow("the second verification", "verifying")
		}
		for _, gate := range []string{"build", "tests", "spec"} {
			if st.Gates[gate].Status != "PASS" {
				t.Fatalf("unit %s: gate %s is %q\n%s", unit, gate, st.Gates[gate].Status, w.must("gl", "why", unit))
			}
		}
		w.person("/sw-ship", ours...)
		next := "building"
		if i == 2 {
			next = "shipped"
		}
		w.validWorkflow("shipping "+unit, next)
	}
	for _, u := range w.validWorkflow("the end", "shipped").Units {
		if u.Status != "shipped" {
			t.Errorf("unit %s is %s", u.ID, u.Status)
		}
	}
	for _, view := range []string{"status", "why", "report", "cost", "events"} {
		args := []string{view}
		if view == "why" {
			args = append(args, "form")
		}
		if r := w.call("gl", args...); r.code != 0 {
			t.Errorf("gl %s: exit %d\n%s%s", view, r.code, r.out, r.err)
		}
	}
}

// A workflow is what Specwright's own readers take from the state.
type workflow struct {
	Version string
	Work    *struct{ ID, Status, WorkDir, Unit string }
	Units   []struct{ ID, Status, WorkDir string }
	Gates   map[string]struct{ Status, LastRun string }
}

// validWorkflow reads workflow.json as the protocol documents it and checks it.
func (w *world) validWorkflow(after, status string) workflow {
	w.Helper()
	var doc struct {
		Version     string `json:"version"`
		CurrentWork *struct {
			ID      string  `json:"id"`
			Status  string  `json:"status"`
			WorkDir string  `json:"workDir"`
			UnitID  *string `json:"unitId"`
		} `json:"currentWork"`
		Gates map[string]struct {
			Status, LastRun string
		} `json:"gates"`
		WorkUnits   []struct{ ID, Status, WorkDir string } `json:"workUnits"`
		Lock        *struct{ Skill, Since string }         `json:"lock"`
		LastUpdated time.Time                              `json:"lastUpdated"`
	}
	text := w.read(".specwright/state/workflow.json")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		w.Fatalf("after %s: %v\n%s", after, err, text)
	}
	st := workflow{Version: doc.Version, Units: doc.WorkUnits, Gates: doc.Gates}
	known := []string{"designing", "planning", "building", "verifying", "shipped", "abandoned", "pending", "planned"}
	bad := doc.Version != "2.0" || doc.LastUpdated.IsZero() || doc.Lock != nil ||
		(doc.CurrentWork == nil) != (status == "")
	if c := doc.CurrentWork; c != nil {
		st.Work = &struct{ ID, Status, WorkDir, Unit string }{c.ID, c.Status, c.WorkDir, ""}
		if c.UnitID != nil {
			st.Work.Unit = *c.UnitID
		}
		bad = bad || c.Status != status
	}
	for _, u := range doc.WorkUnits {
		bad = bad || !slices.Contains(known, u.Status)
		if st.Work != nil && u.ID == st.Work.Unit {
			bad = bad || u.Status != st.Work.Status || u.WorkDir != st.Work.WorkDir
		}
	}
	if bad {
		w.Fatalf("after %s, expected %q:\n%s", after, status, text)
	}
	return st
}

const gsdAct = `
n=$2
p=.planning/phases/0$n-part
case $1 in
gsd-new-project)
	gl gsd init
	echo '# Shop' >.planning/PROJECT.md
	echo '{"workflow": {"skip_discuss": false}}' >.planning/config.json
	printf -- '- [ ] **SHOP-01**: One\n- [ ] **SHOP-02**: Two\n\n## Traceability\n\n| Requirement | Phase | Status |\n|---|---|---|\n| SHOP-01 | Phase 1 | Pending |\n| SHOP-02 | Phase 2 | Pending |\n' >.planning/REQUIREMENTS.md
	{
		printf '# Roadmap: Shop\n\n## Phases\n\n- [ ] **Phase 1: First** - one\n- [ ] **Phase 2: Second** - two\n\n## Phase Details\n'
		for i in 1 2; do printf '\n### Phase %d: Part\n**Goal**: It works\n**Requirements**: SHOP-0%d\n**Plans**: TBD\n' $i $i; done
		printf '\n## Progress\n\n| Phase | Plans Complete | Status | Completed |\n|---|---|---|---|\n| 1. First | 0/TBD | Not started | - |\n| 2. Second | 0/TBD | Not started | - |\n'
	} >.planning/ROADMAP.md
	gl gsd state milestone-switch --milestone v1.0 --name Books
	gl gsd state patch --Phase "1 of 2 (First)" --Plan "Not started" --Status "Ready to plan"
	gl gsd state set-lifecycle --next-action discuss-phase --next-phases 1 ;;
gsd-discuss-phase)
	gl gsd state set-lifecycle --active-phase $n
	mkdir -p $p
	echo '## Decisions' >$p/0$n-CONTEXT.md
	gl gsd state record-session --stopped-at "Phase $n discussed" --resume-file None
	gl gsd state update Status "Ready to plan"
	gl gsd state set-lifecycle --next-action plan-phase --next-phases $n ;;
gsd-plan-phase)
	gl gsd state set-lifecycle --active-phase $n
	for m in 1 2 3; do printf -- '---\nphase: 0%s-part\nplan: 0%s\nwave: 1\n---\n' $n $m >$p/0$n-0$m-PLAN.md; done
	gl gsd roadmap update-plan-progress $n
	gl gsd roadmap annotate-dependencies $n
	gl gsd state planned-phase --phase $n --plans 3
	gl gsd state set-lifecycle --next-action execute-phase --next-phases $n ;;
gsd-execute-phase)
	gl gsd state set-lifecycle --active-phase $n
	gl gsd state begin-phase --phase $n --name Part --plans 3
	for m in 1 2 3; do
		echo $m >part-$n-$m.txt
		printf -- '---\none-liner: Did %s of %s\n---\n' $m $n >$p/0$n-0$m-SUMMARY.md
		gl gsd state advance-plan || test $m = 3
		gl gsd state record-metric --phase $n --plan $m --duration 2min --tasks 1 --files 1
		gl gsd state add-decision --phase $n --summary "Decision $m"
		gl gsd roadmap update-plan-progress $n
	done
	gl gsd state update-progress
	verdict=passed
	if test $n = 2; then verdict=human_needed; fi
	printf -- '---\nphase: 0%s-part\nstatus: %s\n---\n' $n $verdict >$p/0$n-VERIFICATION.md
	if test $n = 1; then
		gl gsd phase complete 1
		gl gsd state set-lifecycle --next-action discuss-phase --next-phases 2
	else
		gl gsd state set-lifecycle --next-action verify-phase --next-phases 2
	fi ;;
gsd-verify-work)
	printf -- '---\nstatus: complete\n---\n' >$p/0$n-UAT.md
	sed -i 's/human_needed/passed/' $p/0$n-VERIFICATION.md
	gl gsd phase complete $n
	gl gsd state set-lifecycle --clear ;;
gsd-complete-milestone)
	gl gsd milestone complete v1.0 --dry-run
	gl gsd milestone complete v1.0 --name Books --confirm ;;
gsd-new-milestone)
	gl gsd phases clear --confirm
	gl gsd state milestone-switch --milestone v1.1 --name Pay
	printf '# Roadmap: Shop\n\n<details>\n<summary>✅ v1.0 Books - SHIPPED</summary>\n\n- [x] Phase 1: First\n- [x] Phase 2: Second\n\n</details>\n\n## v1.1 Pay\n\n### Phase 1: Cards\n**Goal**: Pay\n**Plans**: TBD\n' >.planning/ROADMAP.md
	gl gsd state patch --Phase "1 of 1 (Cards)" --Plan "Not started" --Status "Ready to plan"
	gl gsd state sync ;;
gsd-capture) gl gsd todo add --title "Export as CSV" ;;
gsd-pause-work) gl gsd state set-lifecycle --paused "At lunch" ;;
gsd-resume-work) gl gsd state set-lifecycle --resumed ;;
esac
git add -A
git diff --cached --quiet || git commit -q -m "$1 $2"
`

// A GSD project with two phases of three plans, from nothing to the next milestone, whose phases
// begin anew at 1, with gl's commands alone. After every step GSD's readers understand the state.
func TestGSDFromNothing(t *testing.T) {
	w := siblingWorld(t, "gsd", gsdAct, "1", "2")
	w.must("gl", "install", "--local", "--system", "gsd")
	w.person("/gsd-new-project")
	w.validState("new-project", "next discuss-phase 1")
	for n := 1; n <= 2; n++ {
		w.person(fmt.Sprintf("/gsd-discuss-phase %d", n))
		w.validState("discuss-phase", fmt.Sprintf("next plan-phase %d", n))
		// plans and carries out; then a person's turn has come
		w.call("gl", "slice", "--watch", "--runner", "process")
		if n == 1 {
			w.validState("gl slice", "next discuss-phase 2")
		} else {
			w.validState("gl slice", "next verify-phase 2")
		}
	}
	w.person("/gsd-capture export")
	w.person("/gsd-pause-work")
	w.person("/gsd-resume-work")
	w.person("/gsd-verify-work 2")
	w.validState("verify-work", "milestone complete")
	for _, file := range []string{".planning/ROADMAP.md", ".planning/REQUIREMENTS.md"} {
		if text := w.read(file); strings.Contains(text, "[ ]") || strings.Contains(text, "Pending") {
			t.Errorf("%s has something open:\n%s", file, text)
		}
	}
	w.person("/gsd-complete-milestone v1.0")
	if _, err := os.Stat(filepath.Join(w.root, ".planning/milestones/v1.0-phases/02-part/02-03-SUMMARY.md")); err != nil {
		t.Error(err)
	}
	if out := w.call("gl", "slice", "--dry-run").out; strings.Contains(out, "would launch") {
		t.Errorf("after the milestone something is ready:\n%s", out)
	}
	w.person("/gsd-new-milestone")
	w.validState("new-milestone", "v1.1 Pay")
	if out := w.must("gl", "status", "--json"); !strings.Contains(out, `"Cards"`) {
		t.Errorf("the new milestone's phase isn't shown:\n%s", out)
	}
	for _, view := range []string{"report", "cost", "events"} {
		if r := w.call("gl", view); r.code != 0 {
			t.Errorf("gl %s: exit %d\n%s%s", view, r.code, r.out, r.err)
		}
	}
}

// validState checks STATE.md by the reader that agrees with GSD's, and what its status line says.
// GSD's own tools check it, too, where GREENLIGHT_GSD_DIR names directories with them.
func (w *world) validState(after, line string) {
	w.Helper()
	if got := w.must("gl", "gsd", "line"); !strings.Contains(got, line) {
		w.Fatalf("after %s: %q, not %q\n%s\n%s", after, got, line, w.read(".planning/STATE.md"), w.read(".planning/ROADMAP.md"))
	}
	if out := w.must("gl", "gsd", "state", "validate"); !strings.Contains(out, `"valid": true`) {
		w.Fatalf("after %s: %s\n%s", after, out, w.read(".planning/STATE.md"))
	}
	for _, dir := range filepath.SplitList(os.Getenv("GREENLIGHT_GSD_DIR")) {
		tool := filepath.Join(dir, "node_modules/@opengsd/gsd-core/gsd-core/bin/gsd-tools.cjs")
		var doc struct {
			Warnings []struct{ Code, Message string }
		}
		w.check(json.Unmarshal([]byte(w.must("node", tool, "state", "validate")), &doc))
		for _, warning := range doc.Warnings {
			if warning.Code != noDirectory {
				w.Errorf("after %s, %s: %s\n%s", after, dir, warning.Message, w.read(".planning/STATE.md"))
			}
		}
	}
}

// noDirectory is GSD's warning about a current phase that has no directory yet.
const noDirectory = "S004"
