package slice

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

func TestParseGraph(t *testing.T) {
	none := plan.None
	type read struct {
		id, name, description string
		deps                  []string
		hasDeps               bool
		contracts             []string
		milestone             string
		wave, priority        int
	}
	tests := []struct {
		name, text string
		want       []read
	}{
		{"object", `{"slices":{"b":{"name":"B","depends_on":["a"],"wave":2,"milestone":3},"a":{"description":"d"}}}`,
			[]read{{id: "b", name: "B", deps: []string{"a"}, hasDeps: true, wave: 2, priority: none, milestone: "3"},
				{id: "a", description: "d", wave: none, priority: none}}},
		{"array, ids of numbers", `{"slices":[{"id":2,"deps":[1]},{"id":1,"deps":[]}]}`,
			[]read{{id: "2", deps: []string{"1"}, hasDeps: true, wave: none, priority: none}, {id: "1", hasDeps: true, wave: none, priority: none}}},
		{"spellings of deps", `{"slices":[{"id":"a","dependencies":"b, c"},{"id":"b","dependsOn":[{"id":"c"}]},{"id":"c","deps":null}]}`,
			[]read{{id: "a", deps: []string{"b", "c"}, hasDeps: true, wave: none, priority: none},
				{id: "b", deps: []string{"c"}, hasDeps: true, wave: none, priority: none}, {id: "c", wave: none, priority: none}}},
		{"bare", `["a", 7]`, []read{{id: "a", wave: none, priority: none}, {id: "7", wave: none, priority: none}}},
		{"deps under the id", `{"slices":{"a":["b"],"b":null}}`,
			[]read{{id: "a", deps: []string{"b"}, hasDeps: true, wave: none, priority: none}, {id: "b", wave: none, priority: none}}},
		{"waves", `{"waves":{"3":{"slices":["a"],"parallel":true},"1":["b"]},"slices":[{"id":"a"},{"id":"b","wave":9}]}`,
			[]read{{id: "a", wave: 3, priority: none}, {id: "b", wave: 9, priority: none}}},
		{"parallel groups", `{"slices":["a","b","c"],"parallel_groups":[["a","b"],["c"]]}`,
			[]read{{id: "a", wave: 1, priority: none}, {id: "b", wave: 1, priority: none}, {id: "c", wave: 2, priority: none}}},
		{"named parallel groups", `{"slices":["a","b"],"parallelGroups":{"x":["b"],"7":["a"]}}`,
			[]read{{id: "a", wave: 2, priority: none}, {id: "b", wave: 1, priority: none}}},
		{"priorities", `{"slices":[{"id":"a","priority":"P1"},{"id":"b","priority":"Low"},{"id":"c","priority":7},{"id":"d","priority":"soon"}]}`,
			[]read{{id: "a", wave: none, priority: 1}, {id: "b", wave: none, priority: 3}, {id: "c", wave: none, priority: 7}, {id: "d", wave: none, priority: none}}},
		{"contracts, unknown keys, a byte order mark", textline.BOM + `{"x":{"y":[1,{}]},"slices":{"a":{"contracts":["C-1"],"z":[[]]}}}`,
			[]read{{id: "a", contracts: []string{"C-1"}, wave: none, priority: none}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := parseGraph([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []read
			for _, e := range g.entries {
				it := e.item()
				got = append(got, read{e.id, e.name, e.description, e.deps, e.hasDeps, e.contracts, it.Milestone, it.Wave, it.Priority})
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(read{})); diff != "" {
				t.Error(diff)
			}
			if len(g.warnings) > 0 {
				t.Errorf("warnings: %q", g.warnings)
			}
		})
	}
}

func TestGraphWarnings(t *testing.T) {
	g, err := parseGraph([]byte(`{"slices":[{"id":"a","deps":["b"]},{"id":"a","name":"again","deps":["c"]},{"id":"../x"},{"id":""}]}`))
	if err != nil || len(g.entries) != 1 || !equal(g.entries[0].deps, []string{"b", "c"}) || g.entries[0].name != "" {
		t.Errorf("%+v, %v", g.entries, err)
	}
	if len(g.warnings) != 3 || !strings.Contains(g.warnings[0], "a is there twice") || !strings.Contains(g.warnings[1], "../x") {
		t.Errorf("warnings: %q", g.warnings)
	}
	if g, _ := parseGraph([]byte(`{"slices":7}`)); len(g.warnings) != 1 {
		t.Errorf("no warning for a graph without slices: %q", g.warnings)
	}
}

func TestMalformedGraph(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"slices\": [\n  {\"id\": }\n]}":   "line 3 (byte 23)",
		"":                                     "unexpected end",
		"{\"slices\":[]":                       "unexpected end",
		"{}x":                                  "unexpected 'x'",
		"{\"a\":\"\\q\"}":                      "escape",
		"{\n<<<<<<< HEAD\n\"a\":1\n=======\n}": "merge conflict in line 2",
		strings.Repeat("[", 20000):             "deep",
		`{"slices":` + strings.Repeat("[", 20000):   "deep",
		`{"slices":[{"id":"a","deps":[{"id":"b"]}]`: "unexpected",
	} {
		g, err := parseGraph([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
		if len(g.entries) != 0 {
			t.Errorf("%.40q: %d entries of a malformed file", text, len(g.entries))
		}
	}
}

func FuzzGraph(f *testing.F) {
	f.Add([]byte(`{"slices":{"S-1":{"deps":["S-2"],"wave":1.5e0,"x":[true,false,null,-0.1]}},"edges":[{"from":"a","to":"b"}],"waves":{"1":["a"]}}`))
	f.Add([]byte(`{"slices":[{"id":1,"dependsOn":"a..b"}],"parallel_groups":[["\u00e4\n"]]}`))
	f.Add([]byte(`[01]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := parseGraph(data)
		if err == nil && !json.Valid([]byte(strings.TrimPrefix(string(data), textline.BOM))) {
			t.Fatalf("%q: accepted", data)
		}
		for _, e := range g.entries {
			if sliceid.Valid(e.id) != nil {
				t.Fatalf("%q: entry %q", data, e.id)
			}
		}
		newIndex([]string{"S-1", "a"}, g)
	})
}
