package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"greenlight/internal/base/durable"
)

// An index in git's plainest form is read without running git: version 2, which git writes unless
// it needs more (files that a sparse checkout leaves out, git add --intent-to-add), and all in one
// file. What an agent put there is data: what matters is whether it is what HEAD has, and a hash
// tells that.

// An indexFile is an index that was read.
type indexFile struct {
	entries []entry
	stats   int // bytes of an entry before its path
	hash    int // bytes of an id
	data    []byte
	at      []int // where each entry is in data
	end     int   // of the entries
}

const (
	statBytes    = 40     // what a file system told: times, device, inode, mode, owner, size
	modeAt       = 24     // of these, the mode
	assumeValid  = 0x8000 // of an entry's flags
	extendedFlag = 0x4000
	nameBits     = 0x0fff // its length, or more than it can hold
)

// readIndexFile reads an index whose ids have so many digits. known is false if its form isn't the
// plainest.
func readIndexFile(file string, digits int) (x *indexFile, known bool) {
	data, err := durable.ReadFile(file)
	if err != nil || digits != 40 && digits != 64 || len(data) < 12+digits/2 {
		return nil, false
	}
	x = &indexFile{data: data[:len(data)-digits/2], hash: digits / 2,
		stats: statBytes + digits/2 + 2}
	if string(data[:4]) != "DIRC" || binary.BigEndian.Uint32(data[4:]) != 2 {
		return nil, false
	}
	return x, x.read(binary.BigEndian.Uint32(data[8:]))
}

func (x *indexFile) read(count uint32) (known bool) {
	last := ""
	x.end = 12
	for range count {
		if x.end+x.stats > len(x.data) {
			return false
		}
		e := x.data[x.end:]
		flags := binary.BigEndian.Uint16(e[statBytes+x.hash:])
		length := bytes.IndexByte(e[x.stats:], 0)
		if length <= 0 || min(length, nameBits) != int(flags&nameBits) || flags&extendedFlag != 0 {
			return false
		}
		stage := byte('0' + flags>>12&3)
		found := entry{tag: 'H', mode: fmt.Sprintf("%06o", binary.BigEndian.Uint32(e[modeAt:])),
			id:    hex.EncodeToString(e[statBytes:][:x.hash]),
			stage: stage, path: string(e[x.stats:][:length])}
		if stage != '0' {
			found.tag = 'M'
		}
		if flags&assumeValid != 0 {
			found.tag += 'a' - 'A'
		}
		// Git refuses such an entry: it writes no index with a null id.
		if !isID(found.id) || !filepath.IsLocal(found.path) || filepath.Clean(found.path) != found.path ||
			hasDotGit(found.path) {
			return false
		}
		order := found.path + "\x00" + string(stage)
		if order <= last {
			return false
		}
		last = order
		x.entries, x.at = append(x.entries, found), append(x.at, x.end)
		// An entry ends with one to eight zero bytes.
		if x.end += (x.stats + length + 8) &^ 7; x.end > len(x.data) {
			return false
		}
	}
	// Git may ignore an extension whose name begins with a capital letter. Others mean that entries
	// are elsewhere.
	for at := x.end; at < len(x.data); {
		if at+8 > len(x.data) || x.data[at] < 'A' || x.data[at] > 'Z' {
			return false
		}
		size := binary.BigEndian.Uint32(x.data[at+4:])
		if uint64(size) > uint64(len(x.data)-at-8) {
			return false
		}
		at += 8 + int(size)
	}
	return true
}

// isTree reports whether the index has the entries of the tree, and no others.
func (x *indexFile) isTree(tree string) bool {
	files := make(map[string]File, len(x.entries))
	for _, e := range x.entries {
		if e.stage != '0' {
			return false
		}
		files[e.path] = File{e.mode, e.id}
	}
	return TreeID(files, tree) == tree
}

// bare returns the index as git read-tree writes it, without anything about the files, and hiding
// none.
func (x *indexFile) bare() []byte {
	out := append([]byte(nil), x.data[:x.end]...)
	for _, at := range x.at {
		e := out[at:]
		clear(e[:modeAt])
		clear(e[modeAt+4 : statBytes])
		flags := e[statBytes+x.hash:]
		binary.BigEndian.PutUint16(flags, binary.BigEndian.Uint16(flags)&^assumeValid)
	}
	return append(out, sumOf(2*x.hash, out)...)
}
