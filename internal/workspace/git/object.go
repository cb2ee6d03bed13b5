package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// Loose objects, as new ones are, and refs are read from their files: while one slice lands, gl
// looks up commits and trees a hundred times. Every object read has the hash by which it was
// requested, so it doesn't matter who wrote the file. If the files don't have the answer, git is
// run.

// mostObject is the size of the largest object that is read here; git reads larger ones.
const mostObject = 8 << 20

// An objectStore reads the objects of a repository.
type objectStore []string // directories of objects

// objectsOf returns the store that reads a repository's objects. It reads none if git would
// substitute others: replaced commits (git replace), or a history that is cut off or grafted.
func objectsOf(gitDir string) objectStore {
	common := commonOf(gitDir)
	for _, name := range []string{"shallow", "info/grafts", "refs/replace", "reftable"} {
		if paths.Exists(filepath.Join(common, filepath.FromSlash(name))) {
			return nil
		}
	}
	replaced := false
	if known := eachPacked(common, "refs/replace/",
		func(_, _ string) { replaced = true }); !known || replaced {
		return nil
	}
	return objectStore{filepath.Join(common, "objects")}
}

// read returns an object of a kind ("commit", "tree", "blob"). known is false if it is in a pack,
// too large, or isn't what its name says.
func (s objectStore) read(kind, id string) (data []byte, known bool) {
	if !isID(id) {
		return nil, false
	}
	for _, dir := range s {
		file, err := durable.ReadFile(filepath.Join(dir, id[:2], id[2:]))
		if err != nil {
			continue
		}
		return inflate(file, kind, id)
	}
	return nil, false
}

// inflate returns the content of an object's file: KIND, a blank, the size, a zero byte and the
// content.
func inflate(file []byte, kind, id string) (data []byte, known bool) {
	z, err := zlib.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, false
	}
	text, err := io.ReadAll(io.LimitReader(z, mostObject+1))
	if err != nil || len(text) > mostObject || hex.EncodeToString(sumOf(len(id), text)) != id {
		return nil, false
	}
	head, data, _ := bytes.Cut(text, []byte{0})
	return data, string(head) == fmt.Sprintf("%s %d", kind, len(data))
}

// sumOf returns the hash function of a repository whose ids have so many digits.
func sumOf(digits int, text []byte) []byte {
	var h hash.Hash = sha1.New()
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	h.Write(text)
	return h.Sum(nil)
}

// blobs calls f with the content of each of the blobs, in their order, if all can be read. Blobs of
// more than most bytes are left out.
func (s objectStore) blobs(ids []string, most int64,
	f func(id string, text []byte) error) (read bool, err error) {
	texts, size := make([][]byte, len(ids)), 0
	for i, id := range ids {
		text, known := s.read("blob", id)
		if size += len(text); !known || size > mostObject {
			return false, nil
		}
		texts[i] = text
	}
	for i, id := range ids {
		if int64(len(texts[i])) > most {
			continue
		}
		if err := f(id, texts[i]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// A commitObject is the content of a commit.
type commitObject struct {
	tree    string
	parents []string
	message string
}

func (s objectStore) commit(id string) (c commitObject, known bool) {
	data, known := s.read("commit", id)
	if !known {
		return c, false
	}
	head, message, _ := strings.Cut(string(data), "\n\n")
	c.message = message
	for line := range strings.Lines(head) {
		switch key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "encoding": // git would recode the message
			return c, false
		}
	}
	return c, isID(c.tree) &&
		!slices.ContainsFunc(c.parents, func(id string) bool { return !isID(id) })
}

// hasTree reports whether a tree is there, by its hash; else it may be in a pack.
func (s objectStore) hasTree(id string) bool {
	_, known := s.read("tree", id)
	return known
}

// resolve returns the object that a revision names: a hash, HEAD, or a branch or ref of gl, with ^1
// for its first parent, and ^{commit} or ^{tree}. It is "" for a missing ref.
func (s objectStore) resolve(gitDir, revision string) (id string, known bool) {
	name, kind, ok := strings.Cut(revision, "^{")
	if !ok || kind != "commit}" && kind != "tree}" {
		return "", false
	}
	name, parent := strings.CutSuffix(name, "^1")
	if id = name; !isID(name) {
		if id, known = readCommit(gitDir, name); !known || id == "" {
			return "", known
		}
	}
	c, known := s.commit(id)
	if known && parent {
		if len(c.parents) == 0 {
			return "", true
		}
		id = c.parents[0]
		c, known = s.commit(id)
	}
	if kind == "tree}" {
		return c.tree, known && s.hasTree(c.tree)
	}
	return id, known
}

// resolveAll resolves each of the revisions, if all are known.
func (s objectStore) resolveAll(gitDir string, revisions []string) (found []string, known bool) {
	if s == nil {
		return nil, false
	}
	found = make([]string, len(revisions))
	for i, r := range revisions {
		if r == "" || strings.HasPrefix(r, "^") { // of nothing
			continue
		}
		if found[i], known = s.resolve(gitDir, r); !known {
			return nil, false
		}
	}
	return found, true
}

// mostAncestors is how many commits are read before git is run, which is better at a long history.
const mostAncestors = 200

// ancestors returns commits that the tips are or contain, and whether these are all.
func (s objectStore) ancestors(tips ...string) (found map[string]bool, all bool) {
	found, all = map[string]bool{}, true
	next := slices.Clone(tips)
	for read := 0; len(next) > 0; read++ {
		id := next[0]
		if next = next[1:]; found[id] || id == "" {
			continue
		}
		found[id] = true
		c, known := s.commit(id)
		if !known || read == mostAncestors {
			all = false
			continue
		}
		next = append(next, c.parents...)
	}
	return found, all
}

// contains reports whether the commit tip is or contains the commit old, both by their hashes.
func (s objectStore) contains(old, tip string) (yes, known bool) {
	if !isID(old) || !isID(tip) {
		return false, false
	}
	if _, there := s.commit(tip); !there {
		return false, false
	}
	found, all := s.ancestors(tip)
	return found[old], found[old] || all
}

// A treeEntry is one of a tree.
type treeEntry struct {
	File
	name string
}

const treeMode = "040000"

// tree lists the entries of a tree in its order.
func (s objectStore) tree(id string) (list []treeEntry, whole bool) {
	data, known := s.read("tree", id)
	if !known {
		return nil, false
	}
	return treeEntries(data, len(id)/2)
}

// treeEntries reads the entries of a tree, whose ids have size bytes.
func treeEntries(data []byte, size int) (list []treeEntry, ok bool) {
	for len(data) > 0 { // MODE, a blank, the name, a zero byte, and the id
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(rest) < size || len(mode) > 6 {
			return nil, false
		}
		list = append(list, treeEntry{File{strings.Repeat("0", 6-len(mode)) + mode,
			hex.EncodeToString(rest[:size])}, name})
		data = rest[size:]
	}
	return list, true
}

// treeOf returns the tree of a commit or tree.
func (s objectStore) treeOf(id string) (tree string, known bool) {
	if c, known := s.commit(id); known {
		return c.tree, true
	}
	return id, s.hasTree(id)
}

// files adds the files of a tree to a list, by path.
func (s objectStore) files(files map[string]File, prefix, tree string) (known bool) {
	list, known := s.tree(tree)
	for _, e := range list {
		switch {
		case e.Mode != treeMode:
			files[prefix+e.name] = e.File
		case !s.files(files, prefix+e.name+"/", e.ID):
			return false
		}
	}
	return known
}

// changes compares two trees, or those of commits, as git diff-tree -r does.
func (s objectStore) changes(a, b string) (list []change, known bool) {
	if a, known = s.treeOf(a); !known {
		return nil, false
	}
	if b, known = s.treeOf(b); !known {
		return nil, false
	}
	list, known = s.differ(nil, "", a, b)
	slices.SortFunc(list, func(a, b change) int { return strings.Compare(a.path, b.path) })
	return list, known
}

// differ adds the differences of two trees; "" is for none.
func (s objectStore) differ(list []change, prefix, a, b string) (_ []change, known bool) {
	if a == b {
		return list, true
	}
	was, known := s.entries(a)
	if !known {
		return nil, false
	}
	is, known := s.entries(b)
	if !known {
		return nil, false
	}
	gone := func(f File) File { return File{"000000", strings.Repeat("0", len(f.ID))} }
	for name, old := range was {
		now := is[name]
		if old == now {
			continue
		}
		oldDir, newDir := "", ""
		if old.Mode == treeMode {
			oldDir = old.ID
		}
		if now.Mode == treeMode {
			newDir = now.ID
		}
		if oldDir != "" || newDir != "" {
			if list, known = s.differ(list, prefix+name+"/", oldDir, newDir); !known {
				return nil, false
			}
		}
		switch {
		case oldDir != "" && newDir == "" && now != File{}:
			list = append(list, change{now.Mode, now.ID, prefix + name, true})
		case oldDir == "" && (newDir != "" || now == File{}):
			list = append(list, change{gone(old).Mode, gone(old).ID, prefix + name, false})
		case oldDir == "" && newDir == "":
			list = append(list, change{now.Mode, now.ID, prefix + name, false})
		}
	}
	for name, now := range is {
		switch _, had := was[name]; {
		case had:
		case now.Mode != treeMode:
			list = append(list, change{now.Mode, now.ID, prefix + name, true})
		default:
			if list, known = s.differ(list, prefix+name+"/", "", now.ID); !known {
				return nil, false
			}
		}
	}
	return list, true
}

// entries returns a tree's entries by name; "" is the empty tree.
func (s objectStore) entries(tree string) (map[string]File, bool) {
	files := map[string]File{}
	if tree == "" {
		return files, true
	}
	list, known := s.tree(tree)
	for _, e := range list {
		files[e.name] = e.File
	}
	return files, known && len(files) == len(list)
}
