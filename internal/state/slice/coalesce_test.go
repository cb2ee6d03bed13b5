package slice

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"greenlight/internal/state/tracker"
)

// A rendering that began after a change shows it, whichever process made it; one that began
// before doesn't.
func TestWritersShareARendering(t *testing.T) {
	root := project(t, map[string]string{"slices/a.md": sliceText("a", "pending", ""), "slices/b.md": sliceText("b", "pending", "")})
	claim := func(s *Store, id, token string) {
		t.Helper()
		do(t, s, func(tx tracker.Tx) error { return tx.Claim(id, token) })
	}
	renders := func(name string, s *Store, want bool) {
		t.Helper()
		s.page.rendered = nil
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if (s.page.rendered != nil) != want {
			t.Errorf("%s: rendered %v", name, !want)
		}
		state := get(t, root, "STATE.md")
		if err := os.Remove(filepath.Join(root, ".greenlight/STATE.md")); err != nil {
			t.Fatal(err)
		}
		if refreshed(t, root) != state {
			t.Errorf("%s: STATE.md is no fresh render", name)
		}
	}
	one, two := open(root), open(root)
	claim(one, "a", "1")
	renders("nobody has shown it", one, true)
	claim(one, "a", "2")
	claim(two, "b", "3")
	renders("the second writer", two, true)
	renders("the first one's change is shown", one, false)
	renders("without a change of its own", one, true)
	stop := one.Follow()
	claim(one, "a", "3")
	claim(two, "b", "4")
	renders("the second writer", two, true)
	renders("who follows has others' changes to show, too", one, true)
	stop()
	claim(one, "a", "4")
	renders("before the change", two, true)
	claim(one, "a", "5")
	renders("the rendering was too early", one, true)
	claim(one, "a", "6")
	for i, broken := range []string{"", "7", "x y\n", "99999999999999999999 1\n"} {
		put(t, root, viewFile, broken)
		claim(one, "a", fmt.Sprint("token ", i))
		renders("a broken count: "+broken, one, true)
	}
	claim(one, "a", "7")
	if err := os.RemoveAll(filepath.Join(root, ".greenlight/runs")); err != nil {
		t.Fatal(err)
	}
	renders("the count is gone", one, true)
}
