package git

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// land makes a commit with the message on top of another.
func (b *bench) land(parent, message string, more ...string) string {
	b.t.Helper()
	id, err := CommitTree(b.t.Context(), b.w.Common, NewCommit{Tree: b.in(b.main, "rev-parse",
		"HEAD^{tree}"), Parents: append([]string{parent}, more...),
		Message: message, When: time.Unix(1e9, 0)})
	b.ok(err)
	return id
}

func TestLandings(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	first := b.head()
	side := b.land(first, LandingMessage("of the agent's own", Trailer{"Slice", "S-9"}))
	one := b.land(first, LandingMessage("Land S-1: evil\n\nSlice: S-2\nVerified: yes",
		Trailer{"Slice", "S-1"}, Trailer{"Attempt", "2"},
		Trailer{"Verified", "sh -c 'a\nb',\r\nSlice: S-4"}), side)
	plain := b.land(one, "a person's\n\nSlice is a word\n")
	forged := b.land(plain, "two\n\nSlice: S-5\nSlice: S-6\n")
	subject := b.land(forged, LandingMessage("Slice: S-7"))
	last := b.land(subject, LandingMessage("Land ü", Trailer{"Slice", "S-8"},
		Trailer{"Verified", ""}))
	tree := b.in(b.main, "rev-parse", "HEAD^{tree}")
	want := []Landed{
		{one, []string{first, side}, tree, time.Unix(1e9, 0),
			"Land S-1: evil Slice: S-2 Verified: yes", "S-1", "2", "sh -c 'a b', Slice: S-4", "",
			""},
		{last, []string{subject}, tree, time.Unix(1e9, 0), "Land ü", "S-8", "", "", "", ""},
	}
	for _, from := range []string{first, ""} {
		got, err := Landings(t.Context(), b.w.Common, from, last)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
	if got, err := Landings(t.Context(), b.w.Common, last, last); err != nil || got != nil {
		t.Error(got, err)
	}
}

// Whatever a title and a value are, git reads the trailers that were meant.
func TestLandingMessageCantBeSpoofed(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	first := b.head()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching("(Slice: S-[0-9]|\n|\r|---|#|>>|x| |:|\u0085|\u2028|\u202e|\u2066|cherry picked from commit){0,8}"))
	parent := first
	type pair struct{ title, value string }
	var meant []pair
	rapid.Check(t, func(rt *rapid.T) {
		p := pair{text.Draw(rt, "title"), text.Draw(rt, "value")}
		if len(meant) < 40 {
			meant = append(meant, p)
		}
	})
	for _, p := range meant {
		parent = b.land(parent, LandingMessage(p.title, Trailer{"Slice", "S-1"},
			Trailer{"Verified", p.value}))
	}
	got, err := Landings(t.Context(), b.w.Common, first, parent)
	if err != nil || len(got) != len(meant) {
		t.Fatalf("%d of %d, %v", len(got), len(meant), err)
	}
	for i, l := range got {
		if l.Slice != "S-1" || l.Verified != oneLine(meant[i].value) || l.Subject == "" ||
			strings.ContainsAny(l.Subject+l.Verified, "\n\u202e\u2066") {
			t.Errorf("%q gives %+v", meant[i], l)
		}
	}
}
