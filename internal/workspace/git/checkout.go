package git

import (
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// Every gl, every hook and every status line begins by finding the state, so checkouts are found by
// reading git's files, without running git.

// RootFile is a file in the git directory that all worktrees of a repository share: the absolute
// path of the checkout that has the state, and a newline. Git's own files don't have that in every
// layout.
const RootFile = "gl-root"

// CommonOf returns the git directory that a linked worktree shares with the other checkouts, top
// being the worktree's top. It is "" for every other directory. A worktree that git has forgotten
// (git worktree prune) is still a linked one.
func CommonOf(top string) string {
	path := filepath.Join(top, ".git")
	if !paths.IsFile(path) {
		return ""
	}
	admin, err := pointer(path, "gitdir: ")
	if err != nil {
		return ""
	}
	if common, err := pointer(filepath.Join(admin, "commondir"), ""); err == nil {
		return common
	}
	common, kind := filepath.Split(filepath.Dir(admin))
	if common = filepath.Clean(common); kind == "worktrees" && !paths.Exists(admin) &&
		paths.IsFile(filepath.Join(common, "HEAD")) {
		return common
	}
	return ""
}

// MainCheckout returns the top of the checkout that counts for all worktrees of a repository: the
// one that RootFile names, else the main one. It is "" if neither is known: a bare repository has
// no main checkout, and a separate git directory doesn't know its checkout.
func MainCheckout(common string) string {
	if data, err := durable.ReadFile(filepath.Join(common, RootFile)); err == nil {
		top, whole := strings.CutSuffix(string(data), "\n")
		if whole && filepath.IsAbs(top) && filepath.Clean(top) == top && belongs(top, common) {
			return top
		}
	}
	if top := setting(common, "worktree"); top != "" { // a submodule
		if !filepath.IsAbs(top) {
			top = filepath.Join(common, top)
		}
		if belongs(top, common) {
			return top
		}
	}
	if top := filepath.Dir(common); belongs(top, common) {
		return top
	}
	return ""
}

// Bare reports whether the repository has no main checkout.
func Bare(common string) bool {
	switch strings.ToLower(setting(common, "bare")) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// belongs reports whether there is a checkout at top, a linked worktree or not, whose repository
// has the git directory.
func belongs(top, common string) bool {
	path := filepath.Join(top, ".git")
	if paths.Same(path, common) {
		return true
	}
	if !paths.IsFile(path) {
		return false
	}
	if own := CommonOf(top); own != "" {
		return paths.Same(own, common)
	}
	dir, err := pointer(path, "gitdir: ")
	return err == nil && paths.Same(dir, common)
}

// setting returns a setting of the section core in the repository's own configuration.
func setting(common, key string) string {
	for _, name := range []string{"config.worktree", "config"} {
		if data, err := durable.ReadFile(filepath.Join(common, name)); err == nil {
			if value := coreSetting(string(data), key); value != "" {
				return value
			}
		}
	}
	return ""
}

// coreSetting reads a setting of the section core, whose key is in lower case. It understands as
// much of git's syntax as git itself uses when it writes these settings; its callers check the
// answer.
func coreSetting(file, key string) string {
	return sectionSetting(file, "core", key)
}

// sectionSetting is coreSetting for any section without a subsection.
func sectionSetting(file, of, key string) string {
	value, core := "", false
	for line := range strings.Lines(file) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			var section string
			section, line, _ = strings.Cut(line[1:], "]")
			core = strings.EqualFold(strings.TrimSpace(section), of)
			line = strings.TrimSpace(line)
		}
		name, text, given := strings.Cut(line, "=")
		if !core || !strings.EqualFold(strings.TrimSpace(name), key) {
			continue
		}
		if value = unquoted(text); !given {
			value = "true"
		}
	}
	return value
}

// unquoted returns a value of git's configuration without its quotes and its comment.
func unquoted(text string) string {
	var b strings.Builder
	quoted := false
	text = strings.TrimSpace(text)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
