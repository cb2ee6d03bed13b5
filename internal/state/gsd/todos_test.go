package gsd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Todos are counted if a tool wrote their number; a person's list stays.
func TestTodos(t *testing.T) {
	for _, test := range []struct{ before, after string }{
		{"[From .planning/todos/pending/]\n\nNone yet.\n", "[From .planning/todos/pending/]\n\n2 pending — see .planning/todos/pending/\n"},
		{"3 pending todo(s) in `.planning/todos/pending/`\n", "2 pending todo(s) in `.planning/todos/pending/`\n"},
		{"2 pending\n", "2 pending\n"},
		{"- mine\n- None\n", "- mine\n- None\n"},
	} {
		s := planning{"STATE.md": "---\nstatus: x\n---\n### Pending Todos\n\n" + test.before + "\n### Blockers\n\nNone\n", "ROADMAP.md": "### Phase 1: A\n",
			"todos/pending/a.md": "", "todos/pending/b.md": "", "todos/pending/.keep": "", "todos/done/c.md": ""}.store(t)
		valid, err := s.Validate()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := len(valid.doc(t)["warnings"].([]any)) > 0, test.before != test.after; got != want {
			t.Errorf("%q: validate warns: %v", test.before, valid.doc(t))
		}
		if _, err := s.Sync(ctx, false); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(s.text(t)[4:], "### Pending Todos\n\n")
		if d := cmp.Diff(test.after+"\n### Blockers\n\nNone\n", body); d != "" {
			t.Error(d)
		}
		if r, err := s.Snapshot(); err != nil || r.doc(t)["pending_todos"] != 2.0 {
			t.Errorf("snapshot %v, %v", r.Doc, err)
		}
	}
}

func TestValidateMentionsALongFile(t *testing.T) {
	for lines, notes := range map[int]int{97: 0, 98: 1} {
		s := planning{"STATE.md": "---\nstatus: x\n---\n" + strings.Repeat("x\n", lines)}.store(t)
		r, err := s.Validate()
		if err != nil {
			t.Fatal(err)
		}
		doc := r.doc(t)
		found := strings.Count(fmt.Sprint(doc["notes"]), "lines: it is read at every step")
		if doc["valid"] != true || found != notes {
			t.Errorf("%d lines and 3 of frontmatter: %v", lines, doc)
		}
	}
}

// state-snapshot includes the decisions and blockers written by the verbs of this program and
// of GSD.
func TestSnapshotReadsBullets(t *testing.T) {
	s := planning{"STATE.md": "## Accumulated Context\n\n### Decisions\n\nRecent:\n\n- [Phase 2]: Tokens are hashed — never stored\n- **[Phase 03]** Go\n- [Init]: monorepo\n- no phase\n\n" +
		"### Blockers/Concerns\n\nNone yet.\n- the key\n"}.store(t)
	r, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	doc := r.Doc.(snapshotDoc)
	want := []decision{{"2", "Tokens are hashed", "never stored"}, {"03", "Go", ""}, {"Init", "monorepo", ""}, {"", "no phase", ""}}
	if d := cmp.Diff(want, doc.Decisions); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"the key"}, doc.Blockers); d != "" {
		t.Errorf("blockers (-want +got):\n%s", d)
	}
}
