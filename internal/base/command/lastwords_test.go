package command

import "testing"

func TestLastWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"building\n./x.go:3:5: undefined: F\n\n": "./x.go:3:5: undefined: F",
		"./x.go:3:5: undefined: F\nFAIL\tpkg [build failed]\nFAIL\n": "./x.go:3:5: undefined: F",
		"cc: no such file\nmake: *** [Makefile:2: all] Error 1\n":    "cc: no such file",
		"exit status 3\n": "exit status 3",
		"first\nsecond":   "second",
	} {
		var w LastWords
		w.Hear(text)
		if w.Text != want {
			t.Errorf("%q: %q, want %q", text, w.Text, want)
		}
	}
}
