package slice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/base/text/textline"
)

func edited(t testing.TB, text string, f func(*ProjectState) error) string {
	t.Helper()
	p, err := ParseProjectState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := f(p); err != nil {
		t.Fatal(err)
	}
	return string(p.Bytes())
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestProjectStateEdits(t *testing.T) {
	pause := func(p *ProjectState) error { return p.Pause("S-1", "tests", noon, "f.md") }
	unpause := func(p *ProjectState) error { p.Unpause("S-1"); return nil }
	block := func(text string) func(*ProjectState) error {
		return func(p *ProjectState) error { return p.AddBlocker(text) }
	}
	unblock := func(text string) func(*ProjectState) error {
		return func(p *ProjectState) error { _, err := p.RemoveBlocker(text); return err }
	}
	resume := func(p *ProjectState) error { return p.SetResumeFile("r.md") }
	last := func(p *ProjectState) error { return p.SetLastSession(noon) }
	over := func(key, value string) func(*ProjectState) error {
		return func(p *ProjectState) error { return p.SetOverview(key, value) }
	}
	for _, tt := range []struct {
		name, text string
		edit       func(*ProjectState) error
		want       string
	}{
		{"a new file", "", last, strings.Replace(emptyProject, `"last_session": null`, `"last_session": "2026-03-04T12:00:00Z"`, 1)},
		{"a new key in the file's layout", "\ufeff{\r\n\t\"x\" : 1.50e3\r\n}", pause,
			"\ufeff{\r\n\t\"x\" : 1.50e3,\r\n\t\"paused\" : {\r\n\t\t\"S-1\" : {\r\n\t\t\t\"step\" : \"tests\",\r\n\t\t\t\"paused_at\" : \"2026-03-04T12:00:00Z\",\r\n\t\t\t\"resume_file\" : \"f.md\"\r\n\t\t}\r\n\t}\r\n}"},
		{"on one line", `{"a":[1, 2],"session":{"resume_file":null}}`, resume, `{"a":[1, 2],"session":{"resume_file":"r.md"}}`},
		{"on one line, with blanks", `{"a": {}}`, pause, `{"a": {}, "paused": {"S-1": {"step": "tests", "paused_at": "2026-03-04T12:00:00Z", "resume_file": "f.md"}}}`},
		{"the same again", `{"session": {"resume_file": "\u0072.md"}}`, resume, `{"session": {"resume_file": "\u0072.md"}}`},
		{"an object that is null", `{"session": null}`, resume, `{"session": {"resume_file": "r.md"}}`},
		{"the older string", `{"session": "2026"}`, resume, `{"session": {"last_session": "2026", "resume_file": "r.md"}}`},
		{"two of a key: the last counts", `{"overview": {"stack": "a"}, "overview": {"stack": "b"}}`, over("stack", "<c>"),
			`{"overview": {"stack": "a"}, "overview": {"stack": "<c>"}}`},
		{"first blocker", "{\n  \"blockers\": []\n}\n", block("a \"b\""), "{\n  \"blockers\": [\n    \"a \\\"b\\\"\"\n  ]\n}\n"},
		{"second blocker", "{\"blockers\": [\"a\"]}", block("b"), `{"blockers": ["a", "b"]}`},
		{"a blocker that is there", `{"blockers": [{"description": "a"}]}`, block("a"), `{"blockers": [{"description": "a"}]}`},
		{"the older string of blockers", `{"blockers": "old"}`, block("b"), `{"blockers": ["old", "b"]}`},
		{"the older word for none", `{"blockers": "None"}`, block("b"), `{"blockers": ["b"]}`},
		{"no blockers at all", `{"x": 1}`, block("b"), `{"x": 1, "blockers": ["b"]}`},
		{"a blocker goes", "{\"blockers\": [\"a\", {\"text\": \"b\", \"n\": 1e0},\n \"b\", \"c\"]}", unblock("b"), `{"blockers": ["a", "c"]}`},
		{"the last blocker goes", "{\"blockers\": [\n  \"a\"\n]}", unblock("a"), `{"blockers": []}`},
		{"no such blocker", `{"blockers": "old"}`, unblock("b"), `{"blockers": "old"}`},
		{"unpaused", `{"paused": {"S-2": 1, "s01": {"x": 1}}}`, unpause, `{"paused": {"S-2": 1}}`},
		{"not paused", `{"paused": {"S-2": 1}}`, unpause, `{"paused": {"S-2": 1}}`},
		{"paused in another spelling", `{"paused": {"s01": true}}`, pause, `{"paused": {"s01": {"step": "tests", "paused_at": "2026-03-04T12:00:00Z", "resume_file": "f.md"}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := edited(t, tt.text, tt.edit)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if again := edited(t, got, tt.edit); again != got {
				t.Errorf("again: %s", again)
			}
		})
	}
}

func TestProjectStateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\n]": "line 2", "[]": "not a JSON object", "{} x": "line 1", "{\n<<<<<<< HEAD\n": "merge conflict in line 2", "\x00": "line 1",
	} {
		if _, err := ParseProjectState([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	p, err := ParseProjectState([]byte(`{"paused": [1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Pause("S-1", "", noon, "") == nil || p.Pause("../x", "", noon, "") == nil || p.SetOverview("x", "y") == nil || p.AddBlocker(" ") == nil {
		t.Error("accepted")
	}
	if string(p.Bytes()) != `{"paused": [1]}` {
		t.Errorf("%s", p.Bytes())
	}
}

func TestEditProject(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", "")})
	s := open(root)
	edit := func(f func(*ProjectState) error) {
		t.Helper()
		if err := s.EditProject(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	edit(func(*ProjectState) error { return nil })
	same(t, root, projectFile, emptyProject)
	edit(func(p *ProjectState) error { return p.Pause("a", "tests", noon, "") })
	p, err := s.ReadProject()
	if err != nil {
		t.Fatal(err)
	}
	if mark, ok := p.Paused("A"); !ok || mark != (PausedSlice{Step: "tests", PausedAt: "2026-03-04T12:00:00Z"}) {
		t.Errorf("%+v, %v", mark, ok)
	}
	if !load(t, root).Items[0].Paused {
		t.Error("the slice isn't paused")
	}
	edit(func(p *ProjectState) error { return p.AddBlocker("stuck") })
	if !strings.Contains(get(t, root, "STATE.md"), "## Blockers\n\n- stuck\n") {
		t.Errorf("%s", get(t, root, "STATE.md"))
	}
	edit(func(p *ProjectState) error { p.Unpause("a"); return nil })
	if load(t, root).Items[0].Paused {
		t.Error("still paused")
	}
	put(t, root, projectFile, "{")
	if err := s.EditProject(t.Context(), func(*ProjectState) error { return nil }); err == nil || !strings.Contains(err.Error(), projectFile) || get(t, root, projectFile) != "{" {
		t.Errorf("%v", err)
	}
}

func TestConcurrentProjectEdits(t *testing.T) {
	root := project(t, map[string]string{"slices/": "", projectFile: `{"mine": 1.0}`})
	var all sync.WaitGroup
	for w := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 10 {
				if err := Open(root).EditProject(t.Context(), func(p *ProjectState) error { return p.AddBlocker(fmt.Sprintf("%d-%d", w, n)) }); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	all.Wait()
	p, err := Open(root).ReadProject()
	if err != nil || len(p.Blockers()) != 80 || !strings.HasPrefix(string(p.Bytes()), `{"mine": 1.0, "blockers": [`) {
		t.Errorf("%d blockers, %v", len(p.Blockers()), err)
	}
}

// Setting values and removing them again keeps every other byte.
func TestProjectStateKeepsTheRest(t *testing.T) {
	scalar := rapid.SampledFrom([]string{"1", "1.50", "-0", "1e400", `"a\u00e9\/"`, "null", "true", `"S-1"`})
	value := rapid.Custom(func(rt *rapid.T) string {
		gap := rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n  "}).Draw(rt, "gap")
		switch rapid.IntRange(0, 3).Draw(rt, "kind") {
		case 0:
			return "[" + gap + strings.Join(rapid.SliceOfN(scalar, 0, 3).Draw(rt, "list"), ","+gap) + gap + "]"
		case 1:
			var parts []string
			for i, v := range rapid.SliceOfN(scalar, 0, 3).Draw(rt, "object") {
				parts = append(parts, fmt.Sprintf(`"k%d"%s:%s%s`, i, gap, gap, v))
			}
			return "{" + gap + strings.Join(parts, gap+","+gap) + gap + "}"
		}
		return scalar.Draw(rt, "scalar")
	})
	rapid.Check(t, func(rt *rapid.T) {
		gap := rapid.SampledFrom([]string{"", " ", "\n  ", "\r\n\t"}).Draw(rt, "gap")
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "session", "c"}), 0, 4, rapid.ID).Draw(rt, "keys")
		var parts, kept []string
		for _, k := range keys {
			v := value.Draw(rt, "value")
			if k == "session" {
				v = `{"own":` + gap + scalar.Draw(rt, "own") + gap + `}`
				kept = append(kept, strings.TrimSuffix(v, gap+"}"))
			} else {
				kept = append(kept, `"`+k+`":`+v)
			}
			parts = append(parts, `"`+k+`":`+v)
		}
		text := "{" + gap + strings.Join(parts, ","+gap) + gap + "}\n"
		p, err := ParseProjectState([]byte(text))
		if err != nil {
			rt.Fatalf("%q: %v", text, err)
		}
		if p.Pause("S-1", "x", noon, "y") != nil || p.SetResumeFile("r") != nil || p.AddBlocker("b") != nil || p.SetOverview("stack", "s") != nil {
			rt.Fatalf("%q", text)
		}
		got := string(p.Bytes())
		at := 0
		for _, k := range kept {
			i := strings.Index(got[at:], k)
			if i < 0 {
				rt.Fatalf("%q lost %q: %q", text, k, got)
			}
			at += i + len(k)
		}
		mark, ok := p.Paused("S-1")
		if _, stack, _ := p.Overview(); !json.Valid(p.Bytes()) || !ok || mark.Step != "x" || p.ResumeFile() != "r" || stack != "s" || !slices.Contains(p.Blockers(), "b") {
			rt.Fatalf("%q became %q", text, got)
		}
		p.Unpause("S-1")
		if ok, err := p.RemoveBlocker("b"); !ok || err != nil || !json.Valid(p.Bytes()) || len(p.Blockers()) != 0 {
			rt.Fatalf("%q: %v", p.Bytes(), err)
		}
	})
}

func FuzzProjectState(f *testing.F) {
	f.Add(emptyProject)
	f.Add("\ufeff{\"paused\":{\"S-1\":{}},\"blockers\":[1,{\"text\":\"b\"}]}")
	f.Add("\v")
	f.Add(`{"overview":"x","session":"y","blockers":"None","a":1e5}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseProjectState([]byte(text))
		if err != nil {
			return
		}
		if strings.TrimSpace(strings.TrimPrefix(text, textline.BOM)) != "" && string(p.Bytes()) != text {
			t.Fatalf("%q reads as %q", text, p.Bytes())
		}
		if p.AddBlocker("b") != nil {
			return
		}
		if p.SetLastSession(noon) == nil && p.LastSession() != "2026-03-04T12:00:00Z" && strings.Count(strings.ToLower(text), "session") < 2 {
			t.Fatalf("%q became %q", text, p.Bytes())
		}
		if !json.Valid([]byte(strings.TrimPrefix(string(p.Bytes()), textline.BOM))) {
			t.Fatalf("%q became %q", text, p.Bytes())
		}
	})
}
