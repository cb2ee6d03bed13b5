package git

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// What a ref names is asked a dozen times while one slice lands, and a git for each takes longer than all that is done with the answers. So
// refs are read from git's files, as HEAD is. Where these don't tell, git is asked.

// mostLinks is how many symbolic refs may lead to each other.
const mostLinks = 5

// readRef reads what a ref names: a commit's hash, or the ref that a symbolic one names; both are "" where there is no such ref. It isn't
// known where the files don't tell: the refs aren't kept in files (reftable), or somebody has written something else there.
func readRef(gitDir, name string) (id, target string, known bool) {
	common, own := commonOf(gitDir), name == "HEAD"
	// Refs of gl and branches are shared by all worktrees, and name commits.
	if !own && (!strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/gl/") || !isRefName(name)) {
		return "", "", false
	}
	if !paths.IsDir(filepath.Join(common, "refs", "heads")) { // a file in every repository that keeps its refs elsewhere
		return "", "", false
	}
	dir := common
	if own {
		dir = gitDir
	}
	data, err := durable.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	switch {
	case err == nil:
		text := strings.TrimRight(string(data), " \t\r\n")
		target, symbolic := strings.CutPrefix(text, "ref:")
		target = strings.TrimSpace(target)
		if symbolic && target != "" {
			return "", target, true
		}
		return text, "", isID(text)
	case own:
		return "", "", false
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), paths.IsDir(filepath.Join(dir, filepath.FromSlash(name))):
		// Git writes the packed one before it removes the loose one.
		return packedRef(common, name)
	}
	return "", "", false
}

// packedRef looks a ref up among those that git has packed.
func packedRef(common, name string) (id, target string, known bool) {
	data, err := durable.ReadFile(filepath.Join(common, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", true
	}
	if err != nil {
		return "", "", false
	}
	at := bytes.Index(data, []byte(" "+name+"\n"))
	if at < 0 {
		return "", "", true
	}
	id = string(data[bytes.LastIndexByte(data[:at], '\n')+1 : at])
	return id, "", isID(id)
}

// isRefName says whether the name can be part of a path that stays below the refs, and of one line.
func isRefName(name string) bool {
	return filepath.IsLocal(filepath.FromSlash(name)) && !strings.ContainsAny(name, " \n^~:?*[\\{") && !strings.Contains(name, "..") &&
		filepath.Clean(name) == name
}

// commonOf is the git directory that the worktree of a git directory shares with the others.
func commonOf(gitDir string) string {
	if common, err := pointer(filepath.Join(gitDir, "commondir"), ""); err == nil {
		return common
	}
	return gitDir
}

// readCommit is the commit that a ref names, by way of symbolic ones.
func readCommit(gitDir, name string) (id string, known bool) {
	for range mostLinks {
		id, target, known := readRef(gitDir, name)
		if !known || target == "" {
			return id, known
		}
		name = target
	}
	return "", false
}
