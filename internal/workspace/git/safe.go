package git

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/paths"
)

// A repository's configuration (.git/config comes with an archive, and an embedded bare repository
// with any clone) names programs in many places. gl only asks git questions, so none of them has to
// run.

// overrides are the settings by which git starts programs, each switched off for every call. An
// empty diff.external makes a diff fail rather than run something: no question here needs one.
func overrides() []string {
	return []string{
		"core.fsmonitor=false", // a mere status would start it, and it would stay
		"core.hooksPath=/dev/null",
		"core.pager=cat",
		"core.sshCommand=false",
		"core.askPass=false",
		"core.editor=false",
		"credential.helper=",
		"gpg.program=false",
		"gpg.ssh.program=false",
		"gpg.x509.program=false",
		"log.showSignature=false",
		"diff.external=",
		"status.submoduleSummary=false",
		// A directory of the checkout that looks like a repository isn't one.
		"safe.bareRepository=explicit",
	}
}

// settings returns git's options for settings, KEY=VALUE.
func settings(list ...string) []string {
	args := make([]string, 0, 2*len(list))
	for _, s := range list {
		args = append(args, "-c", s)
	}
	return args
}

// status runs git status without the repository's own content filters, through which git would
// compare files. The person's own filters (git-lfs) count. Submodules are compared by their commits
// alone, because git would run in them with their configuration.
func status(ctx context.Context, dir string, args ...string) (string, error) {
	off, err := filtersOff(ctx, dir)
	if err != nil {
		return "", err
	}
	return run(ctx, dir, slices.Concat(off,
		[]string{"status", "--porcelain", "-z", "--ignore-submodules=dirty"}, args)...)
}

// filtersOff returns the options that switch off the filters which the repository configures. at
// are options that name the repository, if it isn't to be discovered.
func filtersOff(ctx context.Context, dir string, at ...string) ([]string, error) {
	if len(at) == 0 && noFilters(dir) {
		return nil, nil
	}
	list, err := filterSettings(ctx, dir, at...)
	if err != nil {
		return nil, err
	}
	return switchOff(list)
}

// switchOff returns the options that switch off the filters, each with all its commands.
func switchOff(list []Setting) ([]string, error) {
	var names []string
	for _, s := range list {
		name := strings.TrimPrefix(s.Key, "filter.")
		names = append(names, name[:strings.LastIndexByte(name, '.')])
	}
	slices.Sort(names)
	var off []string
	for _, name := range slices.Compact(names) {
		if strings.Contains(name, "=") {
			return nil, fmt.Errorf(
				"the repository's configuration has a filter %q, which can't be switched off", name)
		}
		filter := "filter." + name
		off = append(off, filter+".clean=", filter+".smudge=", filter+".process=",
			filter+".required=false")
	}
	return settings(off...), nil
}

// A Setting is one line of git's configuration.
type Setting struct{ Key, Value string }

// Filters returns the programs by which the repository's own configuration filters content: git
// runs them when it fills a worktree. The person's own filters aren't among them.
func Filters(ctx context.Context, dir string) ([]Setting, error) {
	if nowhere(dir) {
		return nil, ErrNone
	}
	if noFilters(dir) {
		return nil, ctx.Err()
	}
	all, err := filterSettings(ctx, dir)
	if err != nil {
		return nil, err
	}
	return effective(all), nil
}

// noFilters reports whether, according to its files, the repository around dir configures no
// filters. Most have none.
func noFilters(dir string) bool {
	at, known := findPlain(dir)
	if !known {
		return false
	}
	text, plain := configTexts(at.Common, at.GitDir)
	return plain && text == nil
}

// Marked reports whether dir has a .git at which git's search for a repository ends. Git skips a
// directory of that name that is no repository, such as an empty one.
func Marked(dir string) bool {
	path := filepath.Join(dir, ".git")
	return paths.Exists(path) && (!paths.IsDir(path) || LooksLikeRepository(path))
}

// LooksLikeRepository reports whether git would take the directory for a repository.
func LooksLikeRepository(dir string) bool {
	return paths.Exists(filepath.Join(dir, "HEAD")) && paths.IsDir(filepath.Join(dir, "objects")) &&
		paths.IsDir(filepath.Join(dir, "refs"))
}

// nowhere reports whether dir is certainly in no repository, without running git: neither dir nor a
// directory above it has anything of one. A run checks that before each launch.
func nowhere(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(real) {
		return false
	}
	for at := real; ; at = filepath.Dir(at) {
		if paths.Exists(filepath.Join(at, ".git")) || paths.Exists(filepath.Join(at, "HEAD")) {
			return false
		}
		if at == filepath.Dir(at) {
			return true
		}
	}
}

// filterSettings returns the lines about filters in the repository's own configuration.
func filterSettings(ctx context.Context, dir string, at ...string) ([]Setting, error) {
	list, err := ownSettings(
		func(args ...string) (string, error) { return run(ctx, dir, slices.Concat(at, args)...) })
	return slices.DeleteFunc(list, func(s Setting) bool {
		kind := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
		return !strings.HasPrefix(s.Key, "filter.") || strings.Count(s.Key, ".") < 2 ||
			!slices.Contains([]string{"clean", "smudge", "process", "required"}, kind)
	}), err
}

// ownSettings returns the settings of the repository's own configuration, including that of the
// worktree, and of the files they include. Later ones win.
func ownSettings(run func(args ...string) (string, error)) ([]Setting, error) {
	out, err := run("config", "--list", "-z", "--show-scope")
	if err != nil {
		return nil, err
	}
	var list []Setting
	fields := split(out)
	for i := 0; i+1 < len(fields); i += 2 { // SCOPE, and KEY\nVALUE
		if scope := fields[i]; scope == "local" || scope == "worktree" {
			key, value, _ := strings.Cut(fields[i+1], "\n")
			list = append(list, Setting{key, value})
		}
	}
	if len(list) == 0 { // every repository that git has made has some
		_, err = run("rev-parse", "--git-dir")
	}
	return list, err
}
