package slice

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/core/plan"
)

// The table agrees with what parseSlice reads, key by key.
func TestFieldsAgreeWithParsing(t *testing.T) {
	for _, text := range []string{"", "none", "-", "12", "12/13", "-4", "unknown", "TRUE", "High", "Question", "a, S-1..S-3 # x", "[a, b]", "\"q\""} {
		for i := range fields {
			data := []byte("---\n" + fields[i].Key + ": " + text + "\n---\n# Heading\n")
			old := parseSlice(data)
			var want, got plan.Item
			want.Wave, want.Priority = old.wave, old.priority
			want.Milestone = old.milestone
			f, err := ParseFile(data)
			if err != nil {
				t.Fatal(err)
			}
			want.Status, want.Step, want.Session = old.status, old.step, old.session
			want.Started, want.Updated, want.WaitingFor, want.Was, want.Wraps, want.Files = old.started, old.updated, old.waiting, old.was, old.wraps, old.files
			want.Tests, want.SecurityTests, want.Failing, want.Verified = old.tests, old.security, old.failing, old.verified
			want.NewTests, want.Counted = old.newTests, old.counted
			want.Agent, want.Model, want.WaitKind = old.agent, old.model, plan.WaitKind(old.waitKind)
			for j := range fields {
				if v := fields[j].value; v != nil {
					v.read(&got, f.File, fields[j].Key)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s: %s", fields[i].Key, text, diff)
			}
		}
	}
}

func TestFieldsAgreeWithLists(t *testing.T) {
	words := []string{"id", "status", "step", "started", "updated", "tests", "security_tests", "session", "deps",
		"failing", "tests_failing", "new_tests", "wave", "priority", "verified"}
	for _, f := range fields {
		if f.word != slices.Contains(words, f.Key) {
			t.Errorf("%s: word is %t", f.Key, f.word)
		}
	}
	for _, tt := range []struct{ want, got []string }{
		{[]string{"id", "name", "status", "step", "started", "tests", "security_tests", "session", "waiting_for", "waiting_kind", "verified", "failing", "deps"}, RowKeys()},
		{[]string{"step", "started", "session", "waiting_for", "waiting_kind", "verified", "failing"}, SideKeys()},
		{[]string{"status", "step", "tests", "security_tests", "failing", "tests_failing", "deps", "milestone",
			"name", "session", "started", "updated", "waiting_for", "waiting_kind", "review", "agent", "model", "wave", "priority", "contracts", "wraps", "files", "id"}, Keys(ByPerson)},
		{[]string{"status", "step", "tests", "security_tests", "failing", "tests_failing", "waiting_for", "contracts", "files"}, Keys(ByAgent)},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Error(diff)
		}
	}
}
