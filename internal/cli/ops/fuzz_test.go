package ops

import (
	"fmt"
	"testing"
)

func FuzzParsePlace(f *testing.F) {
	for _, text := range []string{"a.go:12", ":1", "a:0", "a:b:3", "a:-1", "a:99999999999999999999", "a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, line, ok := ParsePlace(text)
		if ok && (file == "" || line < 1 || len(fmt.Sprintf("%s:%d", file, line)) > len(text)) {
			t.Fatalf("%q became %q, line %d", text, file, line)
		}
	})
}

func FuzzParsePick(f *testing.F) {
	for _, text := range []string{"", "3", "2/5/index", "2/5", "0", "-1/2", "1/2/3/4", "99999999999999999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePick(text)
		if err == nil && (p.Lineage < 0 || p.Snapshot < 0) {
			t.Fatalf("%q became %+v", text, p)
		}
	})
}
