package issues

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/state/sliceid"
)

// told is a list as lines: an issue each, then the closed, then the notes.
func told(l *List) []string {
	var lines []string
	for _, i := range l.Open {
		line := i.ID + " " + i.Name
		if len(i.Deps) > 0 {
			line += " needs " + strings.Join(i.Deps, ",")
		}
		if len(i.Elsewhere) > 0 {
			line += " elsewhere " + strings.Join(i.Elsewhere, ",")
		}
		if i.Milestone != "" {
			line += " in " + i.Milestone
		}
		if i.Text != "" {
			line += fmt.Sprintf(" %q", i.Text)
		}
		lines = append(lines, line)
	}
	if l.Closed > 0 {
		lines = append(lines, fmt.Sprintf("%d closed", l.Closed))
	}
	return append(lines, l.Notes...)
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     string
		want       []string
	}{
		{"github", `[
			{"number": 3, "title": "Basket", "body": "Blocked by #1, #2 and #9.\r\nDepends on #7", "state": "OPEN", "milestone": {"title": "v1"}},
			{"number": 1, "title": " Log\tin ", "body": null, "state": "OPEN", "milestone": null},
			{"number": 2, "title": "Done", "state": "CLOSED"}]`, "GitHub issues",
			[]string{"GH-1 Log in", `GH-3 Basket needs GH-1 elsewhere GH-9,GH-7 in v1 "Blocked by #1, #2 and #9.\nDepends on #7"`, "1 closed"}},
		{"titles that say what comes first", "- [ ] T1 One [after: T2]\n- [ ] T2 Two (needs T3 and T4)\n- [x] T3 Three\n- [ ] T5 (needs T1)\n- [ ] T6 Six (after T1) soon\n", "Markdown tasks",
			[]string{"T2 Two (needs T3 and T4)", "T1 One needs T2", "T5 (needs T1) needs T1", "T6 Six (after T1) soon needs T1", "1 closed"}},
		{"a single issue", `{"number": 12, "title": "One", "body": "needs a database"}`, "GitHub issues",
			[]string{`GH-12 One "needs a database"`}},
		{"hints in code, and of itself", "[{\"number\": 1, \"title\": \"x\", \"body\": \"```\\nblocked by #2\\n```\\nafter #1\"}]", "GitHub issues",
			[]string{"GH-1 x \"```\\nblocked by #2\\n```\\nafter #1\"", "GH-1 says that it blocks itself: that is left out"}},
		{"beads", `{"id":"bd-e","title":"Accounts","issue_type":"epic","status":"open"}
			{"id":"bd-a1b2.1","title":"Log in","description":"A form","acceptance_criteria":"It works","status":"open","dependencies":[{"issue_id":"bd-a1b2.1","depends_on_id":"bd-e","type":"parent-child"},{"issue_id":"bd-a1b2.1","depends_on_id":"bd-3","type":"blocks"},{"issue_id":"bd-a1b2.1","depends_on_id":"bd-4","type":"related"}]}
			{"id":"bd-3","title":"Store","status":"in_progress"}
			{"id":"bd-5","title":"Old","status":"closed"}`, "beads",
			[]string{"bd-3 Store", `bd-a1b2.1 Log in needs bd-3 in Accounts "A form\n\nAcceptance criteria:\nIt works"`, "1 closed",
				`"bd-e" is an epic: its issues get it as their milestone`}},
		{"tasks", "# Plan\n\n- [ ] T002 Basket (depends on T001)\n  - [ ] a part\n\n  more\n- [x] T000 Set up\n* [ ] **T001**: **Log** in\n\nText - [ ] none\n1. [ ] No id\n```\n- [ ] code\n```\n", "Markdown tasks",
			[]string{"T001 Log in", `T002 Basket needs T001 "- [ ] a part\n\nmore"`, "task-745677f0 No id", "1 closed"}},
		{"control characters", "[{\"number\": 1, \"title\": \"a\\u001b[31m\\u202eb\\nc\", \"body\": \"x\\u0007\\ny\"}]", "GitHub issues",
			[]string{`GH-1 a[31mb c "x\ny"`}},
		{"the same words", "# A\n- [x] Test\n# B\n- [ ] test\n- [ ] Test\n- [ ] test\n", "Markdown tasks",
			[]string{"task-9b2e5bb7 test", "task-dceff788 Test", "task-dfae85a5 test", "1 closed"}},
		{"open below finished", "- [x] Parent\n  - [ ] child\n", "Markdown tasks",
			[]string{"1 closed", "line 2: an open task below a finished one is left out"}},
		{"tasks without words", "- [ ] T1 One\n- [ ]  \n  - [ ] below it\n- [ ] T2 Two\n", "Markdown tasks",
			[]string{"T1 One", "task-d963fa98 below it", "T2 Two", "line 2: a task without words is left out"}},
		{"nothing open", "[]", "GitHub issues", nil},
		{"an array of beads", `[{"id":"bd-1","title":"One","status":"open"}]`, "beads", []string{"bd-1 One"}},
		{"pull requests", `[{"number": 1, "title": "One"}, {"number": 2, "title": "Fix", "pull_request": {}}]`, "GitHub issues",
			[]string{"GH-1 One", "2 is a pull request: it is left out"}},
	} {
		l, err := Read([]byte(c.text), "GH-", true)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, told(l)); diff != "" || l.Format != c.format {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, l.Format, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	var many strings.Builder
	for n := range MaxOpen + 1 {
		fmt.Fprintf(&many, "- [ ] T%d x\n", n)
	}
	for _, c := range []struct{ text, want string }{
		{"", "is empty"},
		{" \n", "is empty"},
		{"no tasks", "neither JSON nor Markdown"},
		{"\xff", "UTF-8"},
		{`[1]`, "element 1 has neither a number of GitHub"},
		{`[{"title": "x"}]`, "element 1 has neither a number of GitHub"},
		{`[{"number": -1, "title": "x"}]`, "element 1 has neither a number of GitHub"},
		{strings.Repeat("[", 1<<20), "isn't JSON"},
		{`[{"number": 1, "title": " "}]`, "issue 1 has no title"},
		{`{"id": "../../etc", "title": "x"}`, "must begin with a letter"},
		{`{"id": "a/b", "title": "x"}`, `"a/b"`},
		{`{"id": "x", "title": "x"} {`, "object 2"},
		{`{"title": "x"}`, "object 1 has neither a number of GitHub"},
		{`[{"number": 1, "title": "a", "body": "blocked by #2"}, {"number": 2, "title": "b", "body": "after #3"}, {"number": 3, "title": "c", "body": "needs #1"}]`,
			"GH-1 -> GH-2 -> GH-3 -> GH-1"},
		{`[{"number": 1, "title": "a"}, {"number": 1, "title": "b"}]`, "would both be the slice GH-1"},
		{many.String(), "at most 2000"},
	} {
		if l, err := Read([]byte(c.text), "GH-", true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got %v %v, want %q", c.text, l, err, c.want)
		}
	}
	circle := `[{"number": 1, "title": "a", "body": "needs #2"}, {"number": 2, "title": "b", "body": "needs #1"}]`
	if l, err := Read([]byte(circle), "GH-", false); err != nil || len(l.Open) != 2 || l.Open[0].Deps != nil {
		t.Errorf("without edges: %v %v", l, err)
	}
}

func TestLongTexts(t *testing.T) {
	text := `[{"number": 1, "title": "` + strings.Repeat("ä", maxName) + `", "body": "` + strings.Repeat("b", maxText+1) + `"}]`
	l, err := Read([]byte(text), "GH-", true)
	if err != nil {
		t.Fatal(err)
	}
	if i := l.Open[0]; len(i.Name) > maxName || !strings.HasSuffix(i.Name, "ä…") || len(i.Text) > maxText || len(l.Notes) != 1 {
		t.Errorf("%d bytes of name, %d of text, notes %q", len(i.Name), len(i.Text), l.Notes)
	}
}

// A list in which everything depends on everything, and more, is read in time that grows with it.
func TestManyDependencies(t *testing.T) {
	var all strings.Builder
	for n := 1; n <= 300; n++ {
		fmt.Fprintf(&all, `{"id": "b%d", "title": "x", "dependencies": [`, n)
		for d := 1; d < n; d++ {
			fmt.Fprintf(&all, `%s{"depends_on_id": "b%d"}`, map[bool]string{true: ","}[d > 1], d)
		}
		all.WriteString("]}\n")
	}
	l, err := Read([]byte(all.String()), "GH-", true)
	if err != nil {
		t.Fatal(err)
	}
	if last := l.Open[len(l.Open)-1]; len(last.Deps) != len(l.Open)-1 {
		t.Errorf("%s has %d dependencies of %d", last.ID, len(last.Deps), len(l.Open))
	}
	refs := `[{"number": 1, "title": "x", "body": "after ` + strings.Repeat("#123456, ", 1<<20) + `#2"}]`
	if l, err = Read([]byte(refs), "GH-", true); err != nil || len(l.Open[0].Elsewhere) != 1 {
		t.Errorf("%v %v", l, err)
	}
}

func FuzzRead(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "*"))
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range seeds {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(text, true)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, edges bool) {
		l, err := Read(text, "GH-", edges)
		if err != nil {
			return
		}
		done := map[string]bool{}
		for _, i := range l.Open {
			if sliceid.Valid(i.ID) != nil || i.Name == "" || len(i.Name) > maxName || len(i.Text) > maxText || i.Closed {
				t.Fatalf("%+v", i)
			}
			bad := func(r rune) bool { return unicode.IsControl(r) && r != '\n' }
			if strings.ContainsFunc(i.Name+i.Milestone, unicode.IsControl) || strings.ContainsFunc(i.Text, bad) {
				t.Fatalf("control characters: %+v", i)
			}
			if k := slices.IndexFunc(i.Deps, func(d string) bool { return !done[d] }); k >= 0 {
				t.Fatalf("%s comes before %s, which it needs", i.ID, i.Deps[k])
			}
			if done[i.ID] {
				t.Fatalf("%s twice", i.ID)
			}
			done[i.ID] = true
		}
	})
}
