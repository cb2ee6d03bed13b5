package slice

import "greenlight/internal/base/statcache"

// indexFile caches the parsed GRAPH.json and slice files: the graph's stamp and the graph as
// one text, "" for none; then a list of the files, each with its stem, stamp and fields.
const indexFile = "runs/index"

// worthKeeping is the number of files that must have been read before the index is rewritten:
// rereading fewer takes less time than writing. In a graph, entriesPerFile entries count as one
// file.
const (
	worthKeeping   = 100
	entriesPerFile = 4
)

// A keptIndex is the two parts of the index file, still encoded.
type keptIndex struct{ graphText, filesText string }

// readIndex reads the index file. An unusable file is treated as missing.
func (d *Dir) readIndex() (ix keptIndex) {
	c := statcache.Reading(statcache.Read(d.path(indexFile), d.program))
	c.Text(&ix.graphText)
	ix.filesText = c.Rest()
	return ix
}

// graph returns the cached GRAPH.json, or nil if there is none.
func (ix keptIndex) graph() *cached[graphFile] {
	c := statcache.Reading(ix.graphText)
	g := &cached[graphFile]{trusted: true, kept: true, value: graphFile{graph: &graph{}}}
	c.Stamp(&g.stamp)
	codeGraph(c, g.value.graph)
	if c.Bad() {
		return nil
	}
	return g
}

// files returns the cached slice files.
func (ix keptIndex) files() fileCache {
	c := statcache.Reading(ix.filesText)
	n, _ := c.Size(0, true)
	if n <= 0 {
		return fileCache{}
	}
	stems, files := make([]string, n), make([]*cached[*sliceFile], n)
	all, values := make([]cached[*sliceFile], n), make([]sliceFile, n)
	for i := range n {
		all[i] = cached[*sliceFile]{trusted: true, kept: true, value: &values[i]}
		files[i] = &all[i]
		c.Text(&stems[i])
		c.Stamp(&all[i].stamp)
		codeFile(c, &values[i])
		values[i].item.Changed = all[i].stamp.Changed()
		if c.Bad() || i > 0 && stems[i] <= stems[i-1] {
			return fileCache{}
		}
	}
	return fileCache{stems, files}
}

// recall loads the cached slice files from the index, once. The caller holds s.mu.
func (s *sliceFiles) recall() {
	if s.recalled {
		return
	}
	s.recalled = true
	kept := s.keptFiles()                // not shared with anything else
	for i, stem := range s.cache.stems { // single files may have been read since
		kept.put(stem, s.cache.files[i])
	}
	s.cache = kept
}

// keepIndex writes the index file if enough files were read since.
func (s *sliceFiles) keepIndex() {
	s.dir.mu.Lock()
	defer s.dir.mu.Unlock()
	if s.dir.program == "" || !s.recalled || s.unkept() < s.dir.worth {
		return
	}
	var graph, all statcache.Coder
	if g := s.dir.graph; g != nil && g.trusted && g.value.err == nil && g.value.graph != nil {
		g.kept = true
		graph.Stamp(&g.stamp)
		codeGraph(&graph, g.value.graph)
	}
	graphText := string(graph.Bytes())
	all.Text(&graphText)
	kept := 0
	for _, c := range s.cache.files {
		if c != nil && c.trusted {
			kept++
		}
	}
	all.Size(kept, false)
	for i, c := range s.cache.files {
		if c != nil && c.trusted {
			c.kept = true
			all.Text(&s.cache.stems[i])
			all.Stamp(&c.stamp)
			codeFile(&all, c.value)
		}
	}
	statcache.Write(s.dir.path(indexFile), s.dir.program, all.Bytes())
}

// unkept counts the files read that a new index would add. The caller holds s.mu.
func (s *sliceFiles) unkept() (n int) {
	for _, c := range s.cache.files {
		if c != nil && c.trusted && !c.kept {
			n++
		}
	}
	if g := s.dir.graph; g != nil && g.trusted && !g.kept && g.value.graph != nil {
		n += len(g.value.graph.entries) / entriesPerFile
	}
	return n
}

func codeFile(c *statcache.Coder, f *sliceFile) {
	c.Text(&f.id)
	c.Text(&f.name)
	c.Text(&f.heading)
	for i := range fields {
		if v := fields[i].value; v != nil {
			v.code(c, &f.item)
		}
	}
	c.Text(&f.item.Corrupt)
	c.Texts(&f.deps)
	c.Bool(&f.hasDeps)
	c.Bool(&f.row)
	c.Texts(&f.warnings)
}

func codeEntry(c *statcache.Coder, e *entry) {
	c.Text(&e.id)
	c.Text(&e.name)
	c.Text(&e.description)
	c.Text(&e.why)
	c.Texts(&e.deps)
	c.Bool(&e.hasDeps)
	c.Texts(&e.contracts)
	c.Texts(&e.wraps)
	if n, isNil := c.Size(len(e.given), e.given == nil); c.IsReading() && !isNil {
		e.given = make([]given, n)
	}
	for i := range e.given {
		c.Text(&e.given[i].key)
		c.Text(&e.given[i].text)
		c.Texts(&e.given[i].list)
	}
}

func codeGraph(c *statcache.Coder, g *graph) {
	n, _ := c.Size(len(g.entries), false)
	if c.IsReading() {
		g.entries, g.edges = make([]entry, max(n, 0)), map[string][]string{}
	}
	for i := range g.entries {
		codeEntry(c, &g.entries[i])
	}
	n, _ = c.Size(len(g.edges), false)
	if c.IsReading() {
		for range n {
			codeEdge(c, "", nil, g)
		}
	} else {
		for from, to := range g.edges {
			codeEdge(c, from, to, g)
		}
	}
	c.Texts(&g.warnings)
}

func codeEdge(c *statcache.Coder, from string, to []string, g *graph) {
	c.Text(&from)
	c.Texts(&to)
	if c.IsReading() && !c.Bad() {
		g.edges[from] = to
	}
}
