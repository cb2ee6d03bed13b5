package wrapper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WithGL lets programs with the environment find gl, which a person may have started by its
// path: where PATH leads to none, the directory of self, the running program, comes last in it.
// Without gl an agent can't say what it did, and works for nothing.
func WithGL(env []string, self string) []string {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })
	if i < 0 || filepath.Base(self) != "gl" {
		return env
	}
	path := strings.TrimPrefix(env[i], "PATH=")
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, "gl")); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return env
		}
	}
	env = slices.Clone(env)
	env[i] = "PATH=" + strings.Trim(path+string(filepath.ListSeparator)+filepath.Dir(self), string(filepath.ListSeparator))
	return env
}
