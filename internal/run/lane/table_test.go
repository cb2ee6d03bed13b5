package lane_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/gate"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/workspace/worktree"
)

var update = flag.Bool("update", false, "write the gate's table into docs/design/merge-queue.md anew")

// The gate's answers, as the table has them.
const (
	verified   = "verified"
	unverified = "unverified"
	approved   = "verified, approved" // and what was approved is named
	asks       = "asks"
	red        = "red"
	refused    = "refused"
	none       = "–" // doesn't apply, with a reason
)

// A deed is what an agent does besides its work.
type deed struct {
	key, text string
	do        func(a *actor)
	later     func(dir string) // what it has left running writes this
	review    bool             // a person is to approve its slice, as it stood at the claim
	config    bool             // it changes the checkout's configuration: nothing after it lands
}

// An actor is an agent at its deed.
type actor struct {
	s       *site
	id, dir string
	lineage *worktree.Lineage
}

func (a *actor) put(name, text string) { testfiles.Put(a.s.t, a.dir, name, text) }

func (a *actor) commit() {
	gitIn(a.s.t, a.dir, "add", "-A", ".")
	gitIn(a.s.t, a.dir, "commit", "-q", "--allow-empty", "-m", "work")
}

// handOver is what gl state set ID step=implementing does.
func (a *actor) handOver() {
	ctx, pr := a.s.t.Context(), a.s.project()
	repo, err := pr.OpenWorktrees(ctx)
	check(a.s.t, err)
	commit, err := repo.Snapshots.HandOver(ctx, a.lineage)
	check(a.s.t, err)
	check(a.s.t, pr.Runs.Proofs.NoteHanded(a.lineage.System, a.lineage.Slice, a.lineage.N, commit))
}

// forge has git's note of the hand-over name a commit.
func (a *actor) forge(commit string) {
	l := a.lineage
	a.s.git("update-ref", fmt.Sprintf("refs/gl/tests/_/%s/%s/%d", l.System, l.Slice, l.N), commit)
}

// twoTests is a file with tests A and B of a name, or with one that does nothing.
func twoTests(name string, hollow bool) string {
	one := "func Test" + name + "B(t *testing.T) {\n\tb()\n\tb()\n}\n"
	if hollow {
		one = "func Test" + name + "B(t *testing.T) {\n\tt.Skip()\n}\n"
	}
	return "package a\n\nfunc Test" + name + "A(t *testing.T) {\n\ta()\n}\n\n" + one
}

// deeds are what agents can do.
func deeds() []deed {
	newTest := "package a\n\nfunc TestNew(t *testing.T) {\n\tn()\n}\n"
	return []deed{
		{key: "honest", text: "nothing but its work", do: func(*actor) {}},
		{key: "process", text: "leaves a process that goes on writing, and commits", do: func(*actor) {}, later: func(dir string) {
			for _, text := range []string{"late\n", "later\n"} { // the second one isn't committed
				_ = os.WriteFile(filepath.Join(dir, "late"), []byte(text), 0o600)
				if text == "late\n" {
					_ = exec.Command("git", "-C", dir, "add", "late").Run()
					_ = exec.Command("git", "-C", dir, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "late").Run()
				}
			}
		}},
		{key: "ownconfig", text: "changes the test command in its worktree's config.json", do: func(a *actor) {
			a.put(".greenlight/config.json", `{"test": {"command": "true"}}`)
		}},
		{key: "delete", text: "deletes a test", do: func(a *actor) { check(a.s.t, os.Remove(filepath.Join(a.dir, "gone_test.go"))) }},
		{key: "hollow", text: "hollows a test out", do: func(a *actor) { a.put("hollow_test.go", twoTests("Hollow", true)) }},
		{key: "fewer", text: "has fewer tests run, without naming one", do: func(a *actor) { check(a.s.t, os.Remove(filepath.Join(a.dir, "cases", "3"))) }},
		{key: "script", text: "changes a file that the test command runs", do: func(a *actor) { a.put("test.sh", "#!/bin/sh\nexit 0\n") }},
		{key: "runner", text: "changes the runner's configuration, without a hand-over", do: func(a *actor) { a.put(".mocharc.json", `{"dry-run": true}`) }},
		{key: "handed", text: "changes it after the hand-over", do: func(a *actor) {
			a.put("handed_test.go", newTest)
			a.handOver()
			a.put("jest.config.js", "module.exports = {testMatch: []}\n")
		}},
		{key: "forge", text: "changes a test that was handed over, and forges `refs/gl/tests`", do: func(a *actor) {
			if strings.HasPrefix(a.id, "S-") {
				a.put("forged_test.go", newTest)
				a.handOver()
				a.put("forged_test.go", "package a\n")
			} else { // nothing is handed over: what is forged is that a test was gone by then
				check(a.s.t, os.Remove(filepath.Join(a.dir, "forge_test.go")))
			}
			a.commit()
			a.forge(gitIn(a.s.t, a.dir, "rev-parse", "HEAD"))
		}},
		{key: "review", text: "sets its own `review: never`", review: true, do: func(a *actor) { a.s.set(a.id, "review", "never") }},
		{key: "config", text: "changes the test command in the checkout's config.json", config: true, do: func(a *actor) {
			path := filepath.Join(a.s.root, ".greenlight", "config.json")
			text, err := os.ReadFile(path)
			check(a.s.t, err)
			check(a.s.t, os.WriteFile(path, []byte(strings.Replace(string(text), "./test.sh", "true", 1)), 0o600))
		}},
	}
}

// A landing is a way to land, with the gate's answer to each deed.
type landing struct {
	name    string
	script  string            // that holds its cells; "" if this test does
	run     func(*table)      // fills in what it has found
	answers map[string]string // by deed; none with its reason after a colon
	after   bool              // it goes on with what the way before has landed
}

const (
	noHandOver = none + ": nothing is handed over there"
	noWorktree = none + ": a checkout has one config.json, that of the next row"
)

func landings() []landing {
	agents := func(with map[string]string) map[string]string {
		all := map[string]string{
			"honest": verified, "delete": asks, "hollow": asks, "fewer": asks, "script": asks, "runner": asks, "handed": red, "forge": red, "review": asks, "process": verified,
			"ownconfig": verified, "config": refused,
		}
		for key, answer := range with {
			all[key] = answer
		}
		return all
	}
	here := map[string]string{
		"honest": verified, "delete": asks, "hollow": asks, "fewer": asks, "script": asks, "runner": asks, "handed": red, "forge": red,
		"review": asks, "process": verified, "ownconfig": noWorktree, "config": verified,
	}
	legacy := maps.Clone(here)
	legacy["review"] = none + ": STATE.md has no review of a slice"
	return []landing{
		{"alone", "", (*table).alone, agents(nil), false},
		{"batch", "", (*table).together, agents(nil), false},
		{"side by side", "", (*table).beside, agents(nil), false},
		{"task", "", (*table).tasks, agents(map[string]string{"handed": noHandOver, "forge": red, "review": none + ": a person starts a task, so it isn't reviewed"}), false},
		{"`gl land BRANCH`", "", (*table).branches, agents(map[string]string{"handed": noHandOver, "forge": red,
			"review": none + ": a person lands it", "process": none + ": no agent's claim ends"}), false},
		{"`gl accept`", "", (*table).accepted, map[string]string{
			"honest": verified, "delete": approved, "hollow": approved, "fewer": approved, "script": approved, "runner": approved, "handed": refused, "forge": refused,
			"review": verified, "process": verified, "ownconfig": verified, "config": refused,
		}, false},
		{"`gl undo`", "", (*table).undone, map[string]string{
			"honest": verified, "delete": verified, "hollow": verified, "fewer": verified, "script": verified, "runner": verified, "handed": none + ": it hasn't landed",
			"forge": none + ": it hasn't landed", "review": verified, "process": verified, "ownconfig": verified, "config": refused,
		}, true},
		{"checkout", "gate_checkout", nil, here, false},
		{"legacy", "gate_checkout", nil, legacy, false},
	}
}

// A table is one way's cells while it is tried.
type table struct {
	*site

	deeds []deed
	found map[string]string
	start string // the first commit
}

func newTable(t *testing.T) *table {
	t.Helper()
	b := &table{site: newSite(t, ""), deeds: deeds(), found: map[string]string{}}
	for n := range b.deeds {
		b.write(fmt.Sprintf(".greenlight/slices/S-%d.md", n+1), fmt.Sprintf(
			"---\nid: S-%d\nstatus: pending\nstep: none\nwaiting_for:\nsession:\ntests: 0\n---\n\n# Slice %d\n", n+1, n+1))
	}
	for _, name := range []string{"gone", "hollow", "forge"} {
		b.write(name+"_test.go", twoTests(strings.ToUpper(name[:1])+name[1:], false))
	}
	for _, name := range []string{"1", "2", "3"} {
		b.write("cases/"+name, name+"\n")
	}
	b.write("test.extra", "echo \"test result: ok. $(ls cases | wc -l) passed; 0 failed; 0 ignored\"\n")
	b.git("add", "-A")
	b.git("commit", "-qm", "tests")
	b.start = b.git("rev-parse", "HEAD")
	_, err := b.lane().TestBase(b.t.Context()) // as a run does first thing
	check(b.t, err)
	return b
}

// act does the deed, besides some work.
func (b *table) act(d deed, id string) func(dir string, l *worktree.Lineage) {
	return func(dir string, l *worktree.Lineage) {
		a := &actor{s: b.site, id: id, dir: dir, lineage: l}
		a.put("work/"+d.key, d.key+"\n")
		d.do(a)
		a.commit()
	}
}

// each has the deeds done, as far as they apply to the way, and lands them all; those that change
// the configuration last.
func (b *table) each(skip func(deed) bool, begin func(d deed, id string) *attempt.Record) {
	b.t.Helper()
	for _, config := range []bool{false, true} {
		var recs []*attempt.Record
		var of []deed
		for n, d := range b.deeds {
			if d.config == config && !skip(d) {
				recs, of = append(recs, begin(d, fmt.Sprintf("S-%d", n+1))), append(of, d)
			}
		}
		b.work()
		for i, r := range recs {
			b.found[of[i].key] = b.answer(r)
		}
	}
	if got := b.git("log", "--format=%s", "--", "late"); got != "" {
		b.t.Errorf("what was written after the agent had ended has landed: %s", got)
	}
}

// answer is the gate's to an attempt.
func (b *table) answer(r *attempt.Record) string {
	b.t.Helper()
	r = b.get(r)
	switch {
	case r.Life.Phase == plan.Queued && strings.Contains(r.Landing.Text(), "haven't allowed"):
		return refused
	case r.Life.Phase != plan.Settled:
		return fmt.Sprintf("%s: %s", r.Life.Phase, r.Landing.Text())
	case r.Judged.Outcome == outcome.Waiting:
		return asks
	case r.Judged.Outcome == outcome.Red:
		return red
	case r.Judged.Outcome != outcome.Done:
		return fmt.Sprintf("%s: %s", r.Judged.Outcome, r.Judged.Detail)
	case r.Judged.Verified != plan.Green:
		return unverified
	case r.Judged.Gate.Approval() != "":
		return approved
	}
	return verified
}

// slice has a deed's agent work on a slice.
func (b *table) slice(d deed, id string) *attempt.Record {
	as := stint{id: id, work: b.act(d, id), later: d.later, terms: &attempt.Terms{}}
	if d.review {
		as.terms.Review = "review is always"
	}
	return b.claim(as)
}

// all skips nothing.
func all(deed) bool { return false }

func (b *table) alone() { b.each(all, b.slice) }

func (b *table) together() {
	b.slow()
	b.each(all, b.slice)
	for _, key := range []string{"honest", "process", "ownconfig"} {
		n := slices.IndexFunc(b.deeds, func(d deed) bool { return d.key == key })
		if r, err := b.project().Runs.Get(fmt.Sprintf("S-%d", n+1), 1); err != nil || r.Landing.Batch == nil {
			b.t.Errorf("%s landed alone: %v", key, err)
		}
	}
}

func (b *table) beside() {
	b.parallel(4)
	b.each(all, b.slice)
	if cars, err := filepath.Glob(b.top + ".gl/*/lane-*"); err != nil || len(cars) < 2 {
		b.t.Errorf("the tests ran one after the other: %q", cars)
	}
}

func (b *table) tasks() {
	b.each(func(d deed) bool { return d.key == "handed" || d.review }, func(d deed, _ string) *attempt.Record {
		id := attempt.TaskID("quick")
		task := &attempt.Task{Name: "quick", Prompt: "/gl:quick it", Text: "it", Builds: true}
		return b.claim(stint{id: id, task: task, work: b.act(d, id), later: d.later})
	})
}

// branches lands branches that a person has, or another tool has made.
func (b *table) branches() {
	b.each(func(d deed) bool { return d.key == "handed" || d.review || d.later != nil }, func(d deed, _ string) *attempt.Record {
		ctx, dir := b.t.Context(), filepath.Join(b.t.TempDir(), "w")
		b.git("worktree", "add", "-q", "-b", "mine/"+d.key, dir, "main")
		if d.key != "forge" {
			b.act(d, "mine")(dir, nil)
		} else {
			check(b.t, os.Remove(filepath.Join(dir, "forge_test.go")))
			(&actor{s: b.site, dir: dir}).commit()
		}
		pr := b.project()
		repo, err := pr.OpenWorktrees(ctx)
		check(b.t, err)
		taken, err := ops.TakeBranch(ctx, pr, repo, "mine/"+d.key)
		check(b.t, err)
		if d.key == "forge" {
			(&actor{s: b.site, lineage: taken.Lineage}).forge(b.git("rev-parse", "mine/forge"))
		}
		a, err := ops.Accept(ctx, b.project(), taken.Slice, taken.Lineage, ops.Approval{})
		check(b.t, err)
		return a.Queued
	})
}

// accepted has a person look at everything that isn't red, and accept it.
func (b *table) accepted() {
	ctx := b.t.Context()
	begin := func(d deed, id string) *attempt.Record {
		d.review = true
		return b.slice(d, id)
	}
	b.each(func(d deed) bool { return d.config }, begin)
	for n, d := range b.deeds {
		id := fmt.Sprintf("S-%d", n+1)
		if d.config {
			d.review = true
			b.slice(deed{key: d.key, review: true, do: func(*actor) {}}, id)
			b.work()
			d.do(&actor{s: b.site})
		}
		pr := b.project()
		built, err := ops.Built(ctx, pr, id)
		check(b.t, err)
		a, err := ops.Accept(ctx, pr, id, built, ops.Approval{})
		if err != nil {
			b.found[d.key] = refused
			continue
		}
		b.work()
		b.found[d.key] = b.answer(a.Queued)
	}
}

// undone takes back what a person has accepted, the last first, together with what an agent did to
// the tests.
func (b *table) undone() {
	landed := b.found
	b.found = map[string]string{}
	config := b.read(".greenlight/config.json")
	b.found["config"] = b.undo("S-1") // while the configuration is changed
	b.write(".greenlight/config.json", strings.Replace(config, `"true"`, `"./test.sh"`, 1))
	for n, d := range slices.Backward(b.deeds) {
		if landed[d.key] != refused {
			b.found[d.key] = b.undo(fmt.Sprintf("S-%d", n+1))
		}
	}
	if left := b.git("diff", "--stat", b.start, "main", "--", "*_test.*", "test.sh", ".mocharc.json", "cases", "work"); left != "" {
		b.t.Errorf("what agents did is still in main:\n%s", left)
	}
}

// undo takes a slice back, and answers as the tests do that gl runs without it.
func (b *table) undo(id string) string {
	b.t.Helper()
	u, err := b.lane().Undo(b.t.Context(), id, "no", false)
	switch {
	case err != nil && strings.Contains(err.Error(), "haven't allowed"):
		return refused
	case err != nil:
		return err.Error()
	case !u.Verdict.Green():
		return red
	}
	return verified
}

// The gate's answer to each deed, by each way to land. A cell without one fails.
func TestGateTable(t *testing.T) {
	ways := landings()
	for i, way := range ways {
		if len(way.answers) != len(deeds()) {
			t.Errorf("%s has %d answers to %d deeds", way.name, len(way.answers), len(deeds()))
		}
		if way.after {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			if way.script != "" {
				scripted(t, way)
				return
			}
			if i > 0 {
				testfiles.Slow(t)
			}
			b := newTable(t)
			b.try(way)
			for _, next := range ways[i+1:] {
				if !next.after {
					break
				}
				b.try(next)
			}
			if t.Failed() {
				t.Log(strings.Join(b.said, "\n"))
			}
		})
	}
}

// try compares what a way has found with its answers.
func (b *table) try(way landing) {
	b.t.Helper()
	way.run(b)
	for _, d := range b.deeds {
		want, _, reason := strings.Cut(way.answers[d.key], ": ")
		if reason {
			want = ""
		}
		if got := b.found[d.key]; got != want {
			b.t.Errorf("%s: an agent that %s: %q, want %q", way.name, d.text, got, want)
		}
	}
}

// scripted checks that the script has a line for each cell: "# KEY: ANSWER".
func scripted(t *testing.T, way landing) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "cmd", "gl", "scripts", "merge", "testdata", way.script+".txtar"))
	check(t, err)
	for _, d := range deeds() {
		answer := way.answers[d.key]
		if answer == "" {
			t.Errorf("%s: no answer to an agent that %s", way.name, d.text)
		}
		if strings.HasPrefix(answer, none) {
			continue
		}
		if line := fmt.Sprintf("\n# %s, %s: %s\n", way.name, d.key, answer); !strings.Contains(string(text), line) {
			t.Errorf("%s.txtar has no line %q", way.script, strings.TrimSpace(line))
		}
	}
}

// The table in docs/design/merge-queue.md is this one.
func TestGateTableDocs(t *testing.T) {
	const begin, end = "<!-- the gate's table: go test ./internal/run/lane -run GateTableDocs -update -->\n", "<!-- end of the gate's table -->\n"
	page := filepath.Join("..", "..", "..", "docs", "design", "merge-queue.md")
	text, err := os.ReadFile(page)
	check(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("docs/design/merge-queue.md has no place for the table")
	}
	want := before + begin + tableText() + end + after
	if *update {
		check(t, os.WriteFile(page, []byte(want), 0o644))
	} else if want != string(text) {
		t.Error("docs/design/merge-queue.md: the gate's table is out of date: run go test ./internal/run/lane -run GateTableDocs -update")
	}
}

// tableText is the table in Markdown, with the reasons of the cells that don't apply below it.
func tableText() string {
	var b, why strings.Builder
	b.WriteString("\n| an agent … |")
	for _, way := range landings() {
		b.WriteString(" " + way.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(landings())) + "\n")
	reasons := map[string]int{}
	for _, d := range deeds() {
		b.WriteString("| " + d.text + " |")
		for _, way := range landings() {
			answer, reason, has := strings.Cut(way.answers[d.key], ": ")
			if has && reasons[reason] == 0 {
				reasons[reason] = len(reasons) + 1
				fmt.Fprintf(&why, "%d. %s\n", len(reasons), reason)
			}
			if has {
				answer += fmt.Sprintf(" (%d)", reasons[reason])
			}
			b.WriteString(" " + answer + " |")
		}
		b.WriteString("\n")
	}
	return b.String() + "\nDoesn't apply (–), because:\n\n" + why.String() + "\n"
}

// gl verify asks again about what has landed, from git: earlier approvals still count, and nothing
// else does.
func TestVerifyAsksAgain(t *testing.T) {
	b := newTable(t)
	n := slices.IndexFunc(b.deeds, func(d deed) bool { return d.key == "delete" })
	id := fmt.Sprintf("S-%d", n+1)
	b.slice(b.deeds[n], id)
	b.work()
	built, err := ops.Built(t.Context(), b.project(), id)
	check(t, err)
	a, err := ops.Accept(t.Context(), b.project(), id, built, ops.Approval{})
	check(t, err)
	b.work()
	b.landed(a.Queued)
	c, err := b.lane().CheckSlice(t.Context(), id)
	check(t, err)
	if !c.Green() || c.Gate.Approval() != "tests removed, approved" {
		t.Errorf("green %v: %q, %q", c.Green(), c.Problem, c.Gate.Approval())
	}
	path := filepath.Join(".greenlight", "runs", "done", a.Queued.ID.Name()+".done.json")
	b.write(path, strings.ReplaceAll(b.read(path), `"kind": "removed"`, `"kind": "marks"`))
	c, err = b.lane().CheckSlice(t.Context(), id)
	check(t, err)
	if c.Green() || c.Problem != "tests removed: gone_test.go (2 tests)" {
		t.Errorf("no person approved the removal: green %v: %q", c.Green(), c.Problem)
	}
}

// Each of the gate's questions is asked again: what the records and git say by now decides, and
// what they can't say is named.
func TestVerifyAsksEach(t *testing.T) {
	testfiles.Slow(t)
	b := newTable(t)
	rec := b.slice(deed{key: "honest", do: func(a *actor) {
		a.put("new_test.go", "package a\n\nfunc TestNew(t *testing.T) {}\n")
		a.handOver()
	}}, "S-1")
	b.work()
	r := b.landed(rec)
	path := filepath.Join(".greenlight", "runs", "done", rec.ID.Name()+".done.json")
	left := `"tree": "` + b.git("rev-parse", r.Landing.Tip+"^{tree}") // as the wrapper notes it
	text := strings.Replace(b.read(path), `"terms": {`, left+`", "terms": {`, 1)
	other := b.git("rev-parse", b.start+"^{tree}")
	for _, c := range []struct {
		name, old, new string
		question       gate.Question
		says           gate.Says
		evidence       string
	}{
		{"as it was", "", "", gate.Tree, gate.Yes, "tree "},
		{"as it was", "", "", gate.Merge, gate.Yes, "merging it again gives the same"},
		{"as it was", "", "", gate.Tests, gate.Yes, " and the hand-over "},
		{"as it was", "", "", gate.Review, gate.Yes, "not asked for"},
		{"another tree", left, `"tree": "` + other, gate.Tree, gate.Person, "its agent left the tree " + other[:10]},
		{"no tree", left, `"tree": "`, gate.Tree, gate.Unknown, "no record of the tree"},
		{"a tree that is gone", left, `"tree": "` + strings.Repeat("7", 40), gate.Tree, gate.Unknown, "git no longer has the tree 7777777777"},
		{"another branch", `"tip": "` + r.Landing.Tip, `"tip": "` + b.start, gate.Merge, gate.Person, "what was merged isn't what the merge gives"},
		{"a branch that is gone", `"tip": "` + r.Landing.Tip, `"tip": "` + strings.Repeat("7", 40), gate.Merge, gate.Unknown, "the commit of its branch"},
		{"a base that is gone", `"base": "` + r.Landing.Base, `"base": "` + strings.Repeat("7", 40), gate.Tests, gate.Unknown, "what it was merged into"},
		{"a hand-over that is gone", `"commit": "` + r.Landing.Handed.Commit, `"commit": "` + strings.Repeat("7", 40), gate.Tests, gate.Unknown, "git no longer has 7777777777"},
		{"a review", `"terms": {`, `"terms": {"review": "review is always"`, gate.Review, gate.Person, "review is always"},
		{"terms of an older version", `"terms": {`, `"words": {`, gate.Review, gate.Unknown, "its record doesn't say"},
	} {
		if c.old != "" && !strings.Contains(text, c.old) {
			t.Errorf("%s: the record has no %q:\n%s", c.name, c.old, text)
		}
		b.write(path, strings.Replace(text, c.old, c.new, 1))
		got, err := b.lane().CheckSlice(t.Context(), "S-1")
		check(t, err)
		if a := got.Gate.Answer(c.question); a.Says != c.says || !strings.Contains(a.Evidence, c.evidence) {
			t.Errorf("%s: %s %s (%s), want %s (%s)", c.name, c.question, a.Says, a.Evidence, c.says, c.evidence)
		}
		if wrong := c.says == gate.Person; got.Green() == wrong {
			t.Errorf("%s: green %v: %s", c.name, got.Green(), got.Problem)
		}
	}
}
