package frontmatter

import (
	"fmt"
	"strings"
	"testing"
)

// many returns front matter with n keys, each twice.
func many(n int) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	for i := range 2 * n {
		fmt.Fprintf(&b, "key%d: %d\n", i%n, i)
	}
	b.WriteString("---\n")
	return []byte(b.String())
}

// With any number of keys, reading, finding and setting one costs the same, and a key that
// occurs often gives one warning.
func TestManyKeys(t *testing.T) {
	const n = 30_000
	f, err := ParseFile(append(many(n)[:len(many(n))-4],
		[]byte(strings.Repeat("key7: again\n", n)+"---\n")...), Rules{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := f.Get("key7"); !ok || v != "7" {
		t.Errorf("key7 is %q", v)
	}
	if err := f.Set("key8", "x"); err != nil {
		t.Error(err)
	}
	if err := f.Set("another", "y"); err != nil || !strings.HasSuffix(f.Head(), "\nanother: y\n") ||
		!f.Has("another") {
		t.Error("no key was added", err)
	}
	if keys := f.Keys(); len(keys) != n+1 || keys[7] != "key7" {
		t.Errorf("%d keys", len(keys))
	}
	if w := f.Warnings(); len(w) != n {
		t.Errorf("%d warnings", len(w))
	}
	if f.compared > few*(few+2) {
		t.Errorf("compared %d keys one by one", f.compared)
	}
}

func BenchmarkParseManyKeys(b *testing.B) {
	for _, n := range []int{10, 1000, 60_000} {
		data := many(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := ParseFile(data, Rules{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
