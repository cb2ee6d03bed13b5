package slice

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"

	"greenlight/internal/durable"
)

// indexFile keeps what was read of GRAPH.json and of the slice files, with the files' stamps, so that the next gl reads only
// what has changed since. It is never the truth: what it has of a file counts while the file has the very stamp, and the
// stamp is settled. Whoever can't use it does without: it has a checksum, and it is of the program that wrote it. It is
// replaced without fsync and without the lock.
//
//	"gl index 1\n"       indexMagic
//	uint32               CRC-32 (Castagnoli) of what follows, little-endian
//	text                 the program: see program
//	text                 the graph: its stamp, then the graph; "" for none
//	list of texts        the files: stem, stamp, fields
const (
	indexFile  = "runs/index"
	indexMagic = "gl index 1\n"
)

// worthKeeping is how many files must have been read for the index to be written anew: fewer are read in less time than that
// takes. Of a graph so many entries count as a file.
const (
	worthKeeping   = 100
	entriesPerFile = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// indexVar is the variable that turns the index off, or has it written however little was read: for finding out whether it is to blame.
const indexVar = "GL_INDEX"

func worth() int {
	if os.Getenv(indexVar) == "always" {
		return 1
	}
	return worthKeeping
}

// program tells one build of gl from another, which may read files differently. "": unknown, and then there is no index.
var program = sync.OnceValue(func() string {
	if os.Getenv(indexVar) == "off" {
		return ""
	}
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	s, err := stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(s)
})

// A keptIndex is the index file's two parts, still coded.
type keptIndex struct{ graphText, filesText string }

// readIndex reads the index file; what can't be used is as good as none.
func (d *Dir) readIndex() (ix keptIndex) {
	if d.program == "" {
		return ix
	}
	data, err := durable.ReadFile(d.path(indexFile))
	head := len(indexMagic) + 4
	if err != nil || len(data) < head || string(data[:len(indexMagic)]) != indexMagic ||
		crc32.Checksum(data[head:], castagnoli) != binary.LittleEndian.Uint32(data[len(indexMagic):]) {
		return ix
	}
	c := coder{reading: true, in: string(data[head:])}
	var of string
	c.text(&of)
	c.text(&ix.graphText)
	ix.filesText = c.in
	if c.bad || of != d.program {
		return keptIndex{}
	}
	return ix
}

// graph is what the index has of GRAPH.json, nil where that is nothing.
func (ix keptIndex) graph() *cached[graphFile] {
	c := coder{reading: true, in: ix.graphText}
	g := &cached[graphFile]{trusted: true, kept: true, value: graphFile{graph: &graph{}}}
	c.stamp(&g.stamp)
	c.graph(g.value.graph)
	if c.bad {
		return nil
	}
	return g
}

// files is what the index has of the slice files.
func (ix keptIndex) files() fileCache {
	c := coder{reading: true, in: ix.filesText}
	n, _ := c.size(0, true)
	if n <= 0 {
		return fileCache{}
	}
	stems, files := make([]string, n), make([]*cached[*sliceFile], n)
	all, values := make([]cached[*sliceFile], n), make([]sliceFile, n)
	for i := range n {
		all[i] = cached[*sliceFile]{trusted: true, kept: true, value: &values[i]}
		files[i] = &all[i]
		c.text(&stems[i])
		c.stamp(&all[i].stamp)
		c.file(&values[i])
		values[i].changed = all[i].stamp.changed()
		if c.bad || i > 0 && stems[i] <= stems[i-1] {
			return fileCache{}
		}
	}
	return fileCache{stems, files}
}

// recall takes over what the index file has, once. The caller holds s.mu.
func (s *Store) recall() {
	if s.recalled {
		return
	}
	s.recalled = true
	kept := s.index().files()
	for i, stem := range s.files.stems { // single ones have been read since
		kept.put(stem, s.files.files[i])
	}
	s.files = kept
}

// keepIndex writes the index file where enough has been read since. That it can't be written is nobody's trouble.
func (s *Store) keepIndex() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program == "" || !s.recalled || s.unkept() < s.worth {
		return
	}
	var graph, files coder
	if g := s.graph; g != nil && g.trusted && g.value.err == nil && g.value.graph != nil {
		g.kept = true
		graph.stamp(&g.stamp)
		graph.graph(g.value.graph)
	}
	kept := 0
	for _, c := range s.files.files {
		if c != nil && c.trusted {
			kept++
		}
	}
	files.size(kept, false)
	for i, c := range s.files.files {
		if c != nil && c.trusted {
			c.kept = true
			files.text(&s.files.stems[i])
			files.stamp(&c.stamp)
			files.file(c.value)
		}
	}
	var body coder
	of, graphText := s.program, string(graph.out)
	body.text(&of)
	body.text(&graphText)
	body.out = append(body.out, files.out...)
	data := binary.LittleEndian.AppendUint32([]byte(indexMagic), crc32.Checksum(body.out, castagnoli))
	_ = durable.WriteCache(s.path(indexFile), append(data, body.out...), 0o600)
}

// unkept counts what was read and would be kept. The caller holds s.mu.
func (s *Store) unkept() (n int) {
	for _, c := range s.files.files {
		if c != nil && c.trusted && !c.kept {
			n++
		}
	}
	if g := s.graph; g != nil && g.trusted && !g.kept && g.value.graph != nil {
		n += len(g.value.graph.entries) / entriesPerFile
	}
	return n
}
