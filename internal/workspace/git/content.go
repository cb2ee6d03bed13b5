package git

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
)

// contents are the settings that make git misread files or overlook them, with their defaults. An
// agent can set each of them for its own worktree. Only the person's settings for the repository
// count.
var contents = map[string]string{
	"core.filemode": "true", "core.ignorecase": "false", "core.symlinks": "true",
	"core.precomposeunicode": "false", "core.autocrlf": "false", "core.eol": "native",
	"core.safecrlf": "warn", "core.checkroundtripencoding": "SHIFT-JIS", "core.ignorestat": "false",
	"core.trustctime": "true", "core.checkstat": "default", "core.untrackedcache": "false",
	"core.excludesfile": "", "core.attributesfile": "",
}

// ownOptions returns the options that keep an agent's configuration from changing what git runs or
// reads.
func ownOptions(ctx context.Context, common, gitDir, dir string) ([]string, error) {
	off, err := filterOptions(ctx, common, gitDir, dir)
	if err != nil {
		return nil, err
	}
	as, err := contentOptions(ctx, common, gitDir, dir)
	return slices.Concat(off, as), err
}

// contentOptions returns the options that keep the configuration of a single worktree from changing
// how git reads files.
func contentOptions(ctx context.Context, common, gitDir, dir string) ([]string, error) {
	if gitDir == common || !setsContents(filepath.Join(gitDir, "config.worktree")) {
		return nil, nil
	}
	out, err := run(ctx, dir, "--git-dir="+gitDir, "config", "--list", "-z", "--show-scope")
	if err != nil {
		return nil, err
	}
	set, theirs := map[string]string{}, map[string]bool{}
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // SCOPE, and KEY\nVALUE
		key, value, assigned := strings.Cut(fields[i+1], "\n")
		switch _, ok := contents[key]; {
		case !ok || fields[i] == "command":
		case fields[i] == "worktree":
			theirs[key] = true
		case assigned:
			set[key] = value
		default:
			set[key] = "true"
		}
	}
	var list []string
	for key := range theirs {
		value, ok := set[key]
		if !ok {
			value = defaultContent(key)
		}
		list = append(list, key+"="+value)
	}
	slices.Sort(list)
	return settings(list...), nil
}

// setsContents reports whether a configuration file may set one of them. Names have no escapes.
func setsContents(file string) bool {
	data, err := durable.ReadFile(file)
	if err != nil {
		return ignoreMissing(err) != nil
	}
	text := bytes.ToLower(data)
	for key := range contents {
		if bytes.Contains(text, []byte(strings.TrimPrefix(key, "core."))) {
			return true
		}
	}
	return bytes.Contains(text, []byte("include"))
}

// defaultContent is what git assumes if nothing is set.
func defaultContent(key string) string {
	file := map[string]string{"core.excludesfile": "ignore",
		"core.attributesfile": "attributes"}[key]
	if file == "" {
		return contents[key]
	}
	home := os.Getenv("HOME")
	if home == "" && os.Getenv("XDG_CONFIG_HOME") == "" {
		return os.DevNull
	}
	return filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")),
		"git", file)
}
