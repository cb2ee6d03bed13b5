package wrapper

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/shellwords"
)

// WithGL lets programs with the environment find gl, which a person may have started by its
// path: where PATH leads to none, the directory of self, the running program, comes last in it.
// Without gl an agent can't say what it did, and works for nothing: a program that is there by its
// other name alone is an error.
func WithGL(env []string, self string) ([]string, error) {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, "PATH=") })
	if i < 0 || filepath.Base(self) != "gl" && filepath.Base(self) != otherName {
		return env, nil
	}
	path := strings.TrimPrefix(env[i], "PATH=")
	for _, dir := range append(filepath.SplitList(path), filepath.Dir(self)) {
		info, err := os.Stat(filepath.Join(dir, "gl"))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			continue
		}
		if slices.Contains(filepath.SplitList(path), dir) {
			return env, nil
		}
		env = slices.Clone(env)
		env[i] = "PATH=" + strings.Trim(path+string(filepath.ListSeparator)+dir, string(filepath.ListSeparator))
		return env, nil
	}
	if filepath.Base(self) != otherName { // it was removed since
		return env, nil
	}
	return env, fmt.Errorf("agents call gl, and PATH has only %s: run ln -s %s %s", otherName, otherName,
		shellwords.Quote(filepath.Join(filepath.Dir(self), "gl")))
}

// otherName is for people whose shell has an alias gl.
const otherName = "greenlight"
