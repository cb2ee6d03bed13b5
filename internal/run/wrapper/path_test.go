package wrapper

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person may have started gl by its path, or by its other name.
func TestWithGL(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"both/gl", "both/greenlight", "other/greenlight", "data/gl/x"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, self, want string }{
		{"/usr/bin:TOP/both", "TOP/both/gl", "PATH=/usr/bin:TOP/both"},
		{"/nowhere", "TOP/both/gl", "PATH=/nowhere:TOP/both"},
		{"", "TOP/both/gl", "PATH=TOP/both"},
		{"TOP/data", "TOP/both/gl", "PATH=TOP/data:TOP/both"}, // a directory is no program
		{"/nowhere", "TOP/both/greenlight", "PATH=/nowhere:TOP/both"},
		{"TOP/both", "TOP/other/greenlight", "PATH=TOP/both"},
		{"TOP/other", "TOP/other/greenlight", "agents call gl, and PATH has only greenlight: run ln -s greenlight TOP/other/gl"},
		{"/nowhere", "/x/some.test", "PATH=/nowhere"},
	} {
		fill := func(text string) string { return strings.ReplaceAll(text, "TOP", top) }
		env, err := WithGL([]string{"A=1", fill("PATH=" + c.path)}, fill(c.self))
		got := env[1]
		if err != nil {
			got = err.Error()
		}
		if got != fill(c.want) {
			t.Errorf("%s, started as %s: %s, want %s", c.path, c.self, got, fill(c.want))
		}
	}
}
