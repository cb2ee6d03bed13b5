package shellwords

import "testing"

func TestNeedsShell(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "a b": false, "a && b": true, "a|b": true, "a;b": true, "a > b": true, "a <b": true, "(a)": true, "a $b": true, "a `b`": true,
		"a *.go": true, "a [x]": true, "a\nb": true, "a ~/b": true, "a b~": false, "# a": true, "a b#c": false, "! a": true, "{ a": true,
		"A=1 b": true, "a A=1": false, "1A=1 b": false, "./a=b c": false, `a "&& $b"`: false,
		"a '&& $b'": false, `a \$b \; c`: false,
		`a "b\"c" ; d`: true, "a 'b": false, `a "b`: false, `a \`: false,
	} {
		if got := NeedsShell(s); got != want {
			t.Errorf("%q: %v", s, got)
		}
	}
}
