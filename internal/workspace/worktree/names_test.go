package worktree

import (
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/workspace/git"

	"pgregory.net/rapid"
)

// parts are texts that git, or a file system, makes something of.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "_", "lane", "@", "@lane", "@quick.1", "@Quick.1", "a.lock",
		"a.LOCK", ".lock", ".a", "a.", "a..b", "a@{b", "a/b", "a b", "-a", "~", "S-1", "s-1",
		"é", "e\u0301", "S-1", "a%2elock", "\xff", strings.Repeat("A", 200),
		strings.Repeat("A", 201), strings.Repeat("x/", 99)}),
	rapid.StringMatching(`[a-zA-Z0-9._%/@{~^: -]{0,12}`),
	rapid.String(),
)

func TestPartsAreRefsAndTellTextsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		if (a == b) != strings.EqualFold(part(a), part(b)) {
			t.Fatalf("%q is %s, %q is %s", a, part(a), b, part(b))
		}
		if (a == b) != strings.EqualFold(idPart(a), idPart(b)) {
			t.Fatalf("id %q is %s, %q is %s", a, idPart(a), b, idPart(b))
		}
		if p := idPart(a); len(p) > 200 || strings.Contains(p, "/") {
			t.Fatalf("%q is %s", a, p)
		}
		if n := name(a); n == "" || len(n) > 100 || filepath.Base(n) != n || n == ".." || n == "." {
			t.Fatalf("the name of %q is %q", a, n)
		}
	})
}

func TestGitTakesParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		ref := "refs/heads/gl/s/" + part(texts.Draw(rt, "project")) + "/" +
			idPart(texts.Draw(rt, "id")) + "/1"
		if ok, err := git.ValidRef(t.Context(), ref); err != nil || !ok {
			rt.Fatalf("git refuses %s: %v", ref, err)
		}
	})
}

func TestFileNamesTellSystemsFromSlices(t *testing.T) {
	t.Parallel()
	if a, b := fileName("a.b", "c"), fileName("a", "b.c"); a == b {
		t.Errorf("both are %s", a)
	}
}
