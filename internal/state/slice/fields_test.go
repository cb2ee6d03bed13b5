package slice

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/plan"
)

// Each field that is an item's is read from a file, kept in the index, and taken over from a file.
func TestFieldsHaveTheirValue(t *testing.T) {
	for _, f := range fields {
		if f.value == nil {
			continue
		}
		text := "12"
		if f.Key == "verified" {
			text = "true"
		}
		read := parseSlice([]byte("---\n" + f.Key + ": " + text + "\n---\n"))
		without := *parseSlice([]byte("---\nother: 12\n---\n"))
		if cmp.Equal(read.item, without.item) {
			t.Errorf("%s isn't read", f.Key)
		}
		taken := without.item
		f.value.take(&taken, &read.item)
		if diff := cmp.Diff(read.item, taken); diff != "" {
			t.Errorf("%s taken over: %s", f.Key, diff)
		}
	}
}

// A field in GRAPH.json counts if the slice's file has none; others mean nothing there.
func TestFieldsOfTheGraph(t *testing.T) {
	for _, f := range fields {
		if f.value == nil {
			continue
		}
		g, err := parseGraph([]byte(`{"slices":{"a":{"` + f.Key + `":"12"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		var it, none plan.Item
		none.Wave, none.Priority = plan.None, plan.None
		it = none
		if g.entries[0].fill(&it); f.graph == cmp.Equal(it, none) {
			t.Errorf("%s in the graph gives %+v", f.Key, it)
		}
		own := parseSlice([]byte("---\n" + f.Key + ": 13\n---\n"))
		if own.fill(&it); f.graph && cmp.Equal(it, g.entries[0].item()) {
			t.Errorf("%s: the graph's value wins over the file's", f.Key)
		}
	}
}

func (e *entry) item() plan.Item {
	it := plan.Item{Wave: plan.None, Priority: plan.None}
	e.fill(&it)
	return it
}

// The places of a row's fields are distinct, and without a gap.
func TestFieldsOfRows(t *testing.T) {
	at := map[int]string{}
	for _, f := range fields {
		if f.row > 0 && at[f.row] != "" {
			t.Errorf("%s and %s have one place", f.Key, at[f.row])
		}
		if at[f.row] = f.Key; f.cell && f.row == 0 {
			t.Errorf("%s is a cell of no row", f.Key)
		}
	}
	for i := range len(RowKeys()) {
		if at[i+1] == "" {
			t.Errorf("no field has place %d", i+1)
		}
	}
}

// Today's keys keep their order, and what they are; new ones may come between them.
func TestFieldLists(t *testing.T) {
	words := []string{"id", "status", "step", "started", "updated", "tests", "security_tests", "session", "deps",
		"failing", "tests_failing", "new_tests", "wave", "priority", "verified"}
	for _, key := range words {
		if !token(key) {
			t.Errorf("the values of %s are single words", key)
		}
	}
	for _, tt := range []struct{ want, got []string }{
		{[]string{"id", "name", "status", "step", "started", "tests", "security_tests", "session", "waiting_for", "waiting_kind", "verified", "failing", "deps"}, RowKeys()},
		{[]string{"step", "started", "session", "waiting_for", "waiting_kind", "verified", "failing"}, SideKeys()},
		{[]string{"status", "step", "tests", "security_tests", "failing", "tests_failing", "deps", "milestone",
			"name", "session", "started", "updated", "waiting_for", "waiting_kind", "review", "agent", "model", "labels", "wave", "priority", "contracts", "wraps", "files", "id"}, Keys(ByPerson)},
		{[]string{"status", "step", "tests", "security_tests", "failing", "tests_failing", "waiting_for", "waiting_kind", "contracts", "files"}, Keys(ByAgent)},
	} {
		got := slices.DeleteFunc(tt.got, func(key string) bool { return !slices.Contains(tt.want, key) })
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
}
