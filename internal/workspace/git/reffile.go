package git

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// While one slice lands, refs are looked up a dozen times, and spawning git for each dominates the
// cost. So refs are read from git's files, as HEAD is. If these don't have the answer, git is run.

// mostLinks bounds a chain of symbolic refs.
const mostLinks = 5

// readRef reads a ref: a commit's hash, or the ref that a symbolic one names; both are "" for a
// missing ref. known is false if the refs aren't kept in files (reftable), or the file has
// something else.
func readRef(gitDir, name string) (id, target string, known bool) {
	common, own := commonOf(gitDir), name == "HEAD"
	if !own && !isShared(name) {
		return "", "", false
	}
	// A file, in every repository that keeps its refs elsewhere.
	if !paths.IsDir(filepath.Join(common, "refs", "heads")) {
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
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR),
		paths.IsDir(filepath.Join(dir, filepath.FromSlash(name))):
		// Git writes the packed one before it removes the loose one.
		return packedRef(common, name)
	}
	return "", "", false
}

// findRef returns the name of a ref of that name or, with fold, of the same name in another case;
// "" for none.
func findRef(common, name string, fold bool) (found string, known bool) {
	id, target, known := readRef(common, name)
	switch {
	case !known:
		return "", false
	case id != "" || target != "":
		return name, true
	case !fold:
		return "", true
	}
	parent, last := path.Split(name)
	entries, err := os.ReadDir(filepath.Join(common, filepath.FromSlash(parent)))
	if ignoreMissing(err) != nil {
		return "", false
	}
	for _, e := range entries {
		if !e.IsDir() && strings.EqualFold(e.Name(), last) {
			return parent + e.Name(), true
		}
	}
	known = eachPacked(common, parent, func(_, full string) {
		if strings.EqualFold(full, name) {
			found = full
		}
	})
	return found, known
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

// readRefs reads the refs below a name, as readRef reads one. A worktree has a few among the refs
// of all work ever done, and git would look at all of them.
func readRefs(common, name string) (refs []Ref, known bool) {
	if !isShared(name) || !paths.IsDir(filepath.Join(common, "refs", "heads")) {
		return nil, false
	}
	ids := map[string]string{}
	top := filepath.Join(common, filepath.FromSlash(name))
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or packed
			return nil
		}
		if err != nil || e.IsDir() || strings.HasSuffix(path, ".lock") {
			return err
		}
		rel, err := filepath.Rel(common, path)
		if err != nil {
			return err
		}
		full := filepath.ToSlash(rel)
		id, target, known := readRef(common, full)
		if !known || target != "" {
			return errUnknown
		}
		ids[full] = id
		return nil
	})
	packed := func(id, full string) {
		if _, loose := ids[full]; !loose {
			ids[full] = id
		}
	}
	if err != nil || !eachPacked(common, name+"/", packed) {
		return nil, false
	}
	for _, full := range slices.Sorted(maps.Keys(ids)) {
		if ids[full] != "" {
			refs = append(refs, Ref{Name: full, Commit: ids[full]})
		}
	}
	return refs, true
}

var errUnknown = errors.New("the files don't tell")

// eachPacked calls f for the packed refs whose names begin with a prefix. It returns false if the
// file doesn't have the answer.
func eachPacked(common, prefix string, f func(id, name string)) (known bool) {
	data, err := durable.ReadFile(filepath.Join(common, "packed-refs"))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for mark := []byte(" " + prefix); ; {
		at := bytes.Index(data, mark)
		if at < 0 {
			return true
		}
		length := bytes.IndexByte(data[at:], '\n')
		id := string(data[bytes.LastIndexByte(data[:at], '\n')+1 : at])
		if length < 0 || !isID(id) {
			return false
		}
		f(id, string(data[at+1:at+length]))
		data = data[at+length:]
	}
}

// isShared reports whether the name is that of a branch or of a ref of gl: all worktrees share
// these, and they name commits. The name is safe as part of a path below the refs, and is one line.
func isShared(name string) bool {
	if !strings.HasPrefix(name, "refs/heads/") && !strings.HasPrefix(name, "refs/gl/") &&
		name != "refs/gl" {
		return false
	}
	return filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsAny(name, " \n^~:?*[\\{") && !strings.Contains(name, "..") &&
		filepath.Clean(name) == name
}

// commonOf returns the git directory that the worktree of a git directory shares with the others.
func commonOf(gitDir string) string {
	if common, err := pointer(filepath.Join(gitDir, "commondir"), ""); err == nil {
		return common
	}
	return gitDir
}

// readCommit returns the commit that a ref names, following symbolic refs.
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
