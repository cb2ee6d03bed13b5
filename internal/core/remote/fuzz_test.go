package remote

import "testing"

// A ref that comes from a worker is read back as it is written, or refused.
func FuzzParseRef(f *testing.F) {
	for _, ref := range []string{refs + "S-1.1.2", refs + "@quick.3.1", refs + "a/../b.1", refs + "S-1.01", "refs/heads/main", refs + "-x.1"} {
		f.Add(ref)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		fence, err := ParseRef(ref)
		if err == nil && (fence.Ref() != ref || fence.Check() != nil) {
			t.Fatalf("%q became %q", ref, fence.Ref())
		}
	})
}
