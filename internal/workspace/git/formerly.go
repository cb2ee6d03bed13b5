package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/paths"
)

// lookedBack is how many commits of a branch gl searches for an earlier version of a file.
const lookedBack = 50

// formerly returns the files of HEAD that exist in the checkout and, there and in the index, are as
// the branch had them recently. It returns nothing if one of those in the way is something else. A
// git of the person's that has read the index before gl's merge wrote it leaves files so, as does a
// stash with files of a merge. HEAD's history has everything that would be lost with them.
func (p place) formerly(ctx context.Context, overlap []string) ([]string, error) {
	out, err := p.ask(ctx, "", "diff-index", "--no-renames", "--ignore-submodules=none", "--raw",
		"--no-abbrev", "-z", "HEAD", "--")
	if err != nil {
		return nil, err
	}
	var names []string
	had := map[string][]string{} // what each has been, HEAD's first; "" for not there
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 {
		if f := strings.Fields(strings.TrimPrefix(fields[i], ":")); len(f) == 5 &&
			strings.Trim(f[0], "0") != "" {
			names, had[fields[i+1]] = append(names, fields[i+1]), []string{version(f[0], f[2])}
		}
	}
	if slices.ContainsFunc(overlap, func(o string) bool { return had[o] == nil }) {
		return nil, nil
	}
	if err := p.versions(ctx, names, had); err != nil {
		return nil, err
	}
	now, err := p.versionsNow(ctx, names)
	if err != nil {
		return nil, err
	}
	former := slices.DeleteFunc(names, func(n string) bool {
		return slices.ContainsFunc(now[n],
			func(v string) bool { return !slices.Contains(had[n], v) })
	})
	if slices.ContainsFunc(overlap, func(o string) bool { return !slices.Contains(former, o) }) {
		return nil, nil
	}
	return former, nil
}

// version is what is at a path: mode and id, "" for nothing.
func version(mode, id string) string {
	if strings.Trim(mode, "0") == "" {
		return ""
	}
	return mode + " " + id
}

// versions adds what was at the paths in the commits before HEAD.
func (p place) versions(ctx context.Context, names []string, had map[string][]string) error {
	args := []string{"--literal-pathspecs", "log", "-z", "--first-parent",
		"--diff-merges=first-parent", "--no-renames", "--no-show-signature", "--raw", "--no-abbrev",
		"--format=", fmt.Sprintf("--max-count=%d", lookedBack), "HEAD", "--"}
	// A command line has its limits.
	out, err := p.ask(ctx, "", append(args, names[:min(len(names), 1000)]...)...)
	fields := split(out)
	for i := 0; i+1 < len(fields); i++ { // also what ends a commit
		if raw, ok := strings.CutPrefix(strings.TrimLeft(fields[i], "\n"), ":"); ok {
			f, path := strings.Fields(raw), fields[i+1]
			if i++; len(f) == 5 {
				had[path] = append(had[path], version(f[0], f[2]))
			}
		}
	}
	return err
}

// versionsNow returns what is at the paths in the index, and as files.
func (p place) versionsNow(ctx context.Context, names []string) (map[string][]string, error) {
	out, err := p.ask(ctx, "", "ls-files", "-z", "-v", "-s")
	if err != nil {
		return nil, err
	}
	entries, err := readEntries(out)
	if err != nil {
		return nil, err
	}
	now := map[string][]string{}
	for _, e := range entries {
		now[e.path] = append(now[e.path], version(e.mode, e.id))
	}
	var read []string
	for _, n := range names {
		if now[n] == nil {
			now[n] = []string{""}
		}
		info, err := p.worktree().lstat(n)
		switch {
		case err != nil && !paths.Exists(filepath.Join(p.top, filepath.FromSlash(n))):
			now[n] = append(now[n], "")
		case err != nil || !info.Mode().IsRegular() || strings.Contains(n, "\n"):
			now[n] = append(now[n], "?")
		default:
			read = append(read, n)
		}
	}
	if len(read) == 0 {
		return now, nil
	}
	if out, err = p.ask(ctx, strings.Join(read, "\n")+"\n", "hash-object",
		"--stdin-paths"); err != nil {
		return nil, err
	}
	for i, id := range strings.Fields(out) {
		mode := "100644"
		if info, err := p.worktree().lstat(read[i]); err == nil && info.Mode()&0o100 != 0 {
			mode = "100755"
		}
		now[read[i]] = append(now[read[i]], version(mode, id))
	}
	return now, nil
}
