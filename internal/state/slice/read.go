package slice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/statcache"
	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

// A sliceFile is one slice file as read, or the row of a slice without one.
type sliceFile struct {
	id, name, heading string

	item     plan.Item // the values of the table of fields; also Changed and Corrupt
	deps     []string
	hasDeps  bool // the key exists, even if empty
	row      bool
	warnings []string
}

func readSlice(data []byte, at statcache.Stamp) *sliceFile {
	s := parseSlice(data)
	s.item.Changed = at.Changed()
	return s
}

// parseSlice parses a slice file. What it keeps shares no memory with the file's text.
func parseSlice(data []byte) *sliceFile {
	f, err := ParseFile(data)
	if err != nil {
		return corruptFile(reason(err))
	}
	s := &sliceFile{id: strings.Clone(f.get("id")), name: strings.Clone(f.get("name")),
		heading: strings.Clone(f.Heading()), deps: cloned(f.List("deps")),
		hasDeps: f.Has("deps"), warnings: cloned(f.Warnings())}
	for i := range fields {
		if v := fields[i].value; v != nil {
			v.read(&s.item, f.File, fields[i].Key)
		}
	}
	return s
}

func corruptFile(why string) *sliceFile { return &sliceFile{item: plan.Item{Corrupt: why}} }

// signed parses a number that may be negative.
func signed(text string) int {
	if lost, ok := strings.CutPrefix(text, "-"); ok {
		return -count(lost)
	}
	return count(text)
}

// uncounted is a file's value for an unknown number of failing tests.
const uncounted = "unknown"

func failing(text string) int {
	if text == uncounted {
		return plan.Uncounted
	}
	return count(text)
}

func (f *File) failing() int {
	if f.Has("failing") {
		return failing(f.get("failing"))
	}
	return count(f.get("tests_failing"))
}

// verified parses a file's verdict; an unknown word gives plan.NotKnown.
func verified(word string) string {
	switch v := plan.Verified(strings.ToLower(word)); v {
	case plan.Green, plan.KnownRed, plan.Unverified:
		return string(v)
	}
	return string(plan.NotKnown)
}

// noneAsEmpty returns the text, or "" if it means "none".
func noneAsEmpty(text string) string {
	if isNone(strings.Trim(text, " \t")) {
		return ""
	}
	return text
}

func reason(err error) string {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return corrupt.Reason
	}
	return err.Error()
}

func fromRow(r Row) *sliceFile {
	f := &sliceFile{id: r.ID, heading: r.Name, deps: r.Deps, hasDeps: len(r.Deps) > 0, row: true}
	f.item = plan.Item{Status: r.Status, Step: StepOf(r.Status), Tests: r.Tests,
		SecurityTests: r.Security, Wave: plan.None, Priority: plan.None}
	return f
}

func fromRowSlice(r RowSlice) *sliceFile {
	f := fromRow(r.Row)
	f.name, f.item.Changed = r.Name, r.Changed
	for i := range fields {
		if fd := &fields[i]; fd.side() {
			fd.value.read(&f.item, r.Side, fd.Key)
		}
	}
	return f
}

// The sliceFiles are the files of the slices, as last read. They are shared by all users of a
// Store, and Dir.mu guards them.
type sliceFiles struct {
	dir    *Dir
	cache  fileCache
	temps  temps   // among the slice files
	memory *memory // nil without a follower
}

// temps records temporary files of other writers.
type temps struct{ seen, swept bool }

// A fileCache holds the slice files read so far.
type fileCache struct {
	stems []string // sorted
	files []*cached[*sliceFile]
}

func (c *fileCache) get(stem string) *cached[*sliceFile] {
	if i, ok := slices.BinarySearch(c.stems, stem); ok {
		return c.files[i]
	}
	return nil
}

func (c *fileCache) put(stem string, f *cached[*sliceFile]) {
	i, ok := slices.BinarySearch(c.stems, stem)
	if ok {
		c.files[i] = f
		return
	}
	// views share them
	c.stems, c.files = slices.Insert(slices.Clip(c.stems), i, stem),
		slices.Insert(slices.Clip(c.files), i, f)
}

// of returns the cached file of each stem, nil if there is none.
func (c *fileCache) of(stems []string) []*cached[*sliceFile] {
	known := make([]*cached[*sliceFile], len(stems))
	k := 0
	for i, stem := range stems {
		for k < len(c.stems) && c.stems[k] < stem {
			k++
		}
		if k < len(c.stems) && c.stems[k] == stem {
			known[i] = c.files[k]
		}
	}
	return known
}

// readFiles reads the slice files of the sorted stems, if they changed since the last time. A
// file that no longer exists is nil. The caller holds s.mu.
func (s *sliceFiles) readFiles(stems []string) []*sliceFile {
	read := s.cache.of(stems)
	var now []statcache.Stamp
	if len(s.cache.stems) > 0 {
		now = s.statFiles(stems)
	}
	var changed []int
	for i, c := range read {
		if c == nil || now == nil || !c.is(now[i]) {
			changed = append(changed, i)
		}
	}
	dir := s.dir.path("slices") + string(os.PathSeparator)
	inParallel(len(changed), func(from, to int) {
		for _, i := range changed[from:to] {
			read[i] = readCached(dir+stems[i]+".md", readSlice)
		}
	})
	s.cache = fileCache{stems, read}
	files := make([]*sliceFile, len(stems))
	for i, c := range read {
		files[i] = sliceOf(c)
	}
	return files
}

// statFiles returns the files' stamps, zero for one that can't be checked.
func (s *sliceFiles) statFiles(stems []string) []statcache.Stamp {
	stamps := make([]statcache.Stamp, len(stems))
	dir, err := statcache.OpenDir(s.dir.path("slices"))
	if err != nil {
		return stamps
	}
	defer dir.Close()
	inParallel(len(stems), func(from, to int) {
		for i := from; i < to; i++ {
			stamps[i], _ = dir.Stat(stems[i] + ".md")
		}
	})
	return stamps
}

// inParallel calls f for parts of the range from 0 to n, on as many goroutines as there are
// processors.
func inParallel(n int, f func(from, to int)) {
	const part = 32
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n/part+1) {
		workers.Go(func() {
			for from := int(next.Add(part)) - part; from < n; from = int(next.Add(part)) - part {
				f(from, min(from+part, n))
			}
		})
	}
	workers.Wait()
}

// readFile reads one slice file if it has changed. The caller holds s.mu.
func (s *sliceFiles) readFile(stem string) *sliceFile {
	was := s.cache.get(stem)
	c := refresh(was, s.slicePath(stem), readSlice)
	s.cache.put(stem, c)
	if s.memory != nil && c != was {
		s.memory.due[stem] = true
	}
	return sliceOf(c)
}

// sliceOf returns the cached file: corrupt if it can't be read, nil if it doesn't exist.
func sliceOf(c *cached[*sliceFile]) *sliceFile {
	var path *fs.PathError
	switch {
	case errors.As(c.err, &path):
		return corruptFile("can't be read: " + path.Err.Error())
	case c.err != nil:
		return corruptFile("can't be read: " + c.err.Error())
	}
	return c.value
}

// listSlices returns the sorted names of the slice files without .md, and notes on files that
// were perhaps meant as slice files. The caller holds s.mu.
func (s *sliceFiles) listSlices() (stems []string, notes []plan.Warning, err error) {
	entries, err := durable.ReadDir(s.dir.path("slices"))
	if err != nil {
		return nil, nil, listError(err)
	}
	stems, notes = s.stemsOf(entries)
	slices.Sort(stems) // this differs from the order of file names: "a-b.md" sorts before "a.md"
	slices.SortFunc(notes, func(a, b plan.Warning) int { return strings.Compare(a.Path, b.Path) })
	return stems, notes, nil
}

func listError(err error) error { return fmt.Errorf("read the slice files: %w", err) }

// stemsOf returns the names of slice files in a directory listing, without .md; the notes are
// about files that were perhaps meant as slice files.
func (s *sliceFiles) stemsOf(entries []fs.DirEntry) (stems []string, notes []plan.Warning) {
	for _, d := range entries {
		name := d.Name()
		stem, ok := strings.CutSuffix(name, ".md")
		why := ""
		switch {
		case isForeign(name):
			s.temps.seen = s.temps.seen || isTemp(name)
			continue
		case d.IsDir():
			why = "is a directory"
		case !ok:
			why = "a slice file's name ends in .md"
		default:
			if err := sliceid.Valid(stem); err != nil {
				why = err.Error()
			}
		}
		if why == "" {
			stems = append(stems, stem)
			continue
		}
		notes = append(notes, plan.Warning{Path: sliceRel(name), Message: "ignored: " + why})
	}
	return stems, notes
}

// listStamped lists the slice files with their stamps, zero for one that can't be checked. The
// caller holds s.mu.
func (s *sliceFiles) listStamped() (stems []string, stamps []statcache.Stamp, err error) {
	if stems, _, err = s.listSlices(); err != nil {
		return nil, nil, err
	}
	return stems, s.statFiles(stems), nil
}

// isForeign reports whether a file is neither a slice file nor likely meant as one.
func isForeign(name string) bool {
	return name[0] == '.' || strings.EqualFold(name, "readme.md") ||
		!endsIn(name, ".md") && !endsIn(name, ".markdown")
}

// isTemp reports whether the name is that of a temporary file.
func isTemp(name string) bool { return endsIn(name, ".tmp") }

// endsIn is strings.HasSuffix, ignoring case, for file systems that fold it.
func endsIn(name, end string) bool {
	return len(name) >= len(end) && strings.EqualFold(name[len(name)-len(end):], end)
}

// A graphFile is GRAPH.json as read.
type graphFile struct {
	*graph
	err error
}

// readGraph returns the graph, empty if there is none. The caller holds d.mu.
func (d *Dir) readGraph() graphFile {
	d.graph = refresh(d.graph, d.path("GRAPH.json"),
		func(data []byte, _ statcache.Stamp) graphFile {
			g, err := parseGraph(data)
			return graphFile{g, err}
		})
	switch {
	case d.graph.err != nil:
		return graphFile{&d.noGraph, d.graph.err}
	case d.graph.value.graph == nil:
		return graphFile{&d.noGraph, nil}
	}
	return d.graph.value
}

// A stateFile is STATE.md, or a backup of it, as read.
type stateFile struct {
	there bool
	text  string
	body  string // text without a byte order mark
	rows  func() (rows []Row, table bool)
	err   error
}

// readState reads STATE.md or its backup. The caller holds d.mu.
func (d *Dir) readState(old **cached[stateFile], name string) stateFile {
	was := *old
	*old = refresh(was, d.path(name), func(data []byte, _ statcache.Stamp) stateFile {
		// rewritten with the same text, maybe by us
		if was != nil && was.value.there && was.value.text == string(data) {
			return was.value
		}
		f := stateFile{there: true, text: string(data)}
		f.body = strings.TrimPrefix(f.text, textline.BOM)
		f.rows = sync.OnceValues(func() ([]Row, bool) { return parseRows(f.body) })
		return f
	})
	f := (*old).value
	f.err = (*old).err
	if f.rows == nil {
		f.rows = func() ([]Row, bool) { return nil, false }
	}
	return f
}

// A projectState is the content of project-state.json.
type projectState struct {
	value, stack, mode  string
	lastSession, resume string
	blockers            []string
	paused              []string
	suite               *plan.Suite // the last verdict on the whole suite, stored in runs
	err                 error
}

// suiteFile stores the last verdict on the whole suite.
const suiteFile = "runs/suite.json"

// readProject reads project-state.json, and the mode from config.json, which takes precedence.
// The caller holds d.mu.
func (d *Dir) readProject() projectState {
	d.project = refresh(d.project, d.path("project-state.json"), parseProject)
	p := d.project.value
	if d.project.err != nil {
		p.err = d.project.err
	}
	d.config = refresh(d.config, d.path("config.json"),
		func(data []byte, _ statcache.Stamp) configFile { return parseConfig(data) })
	if d.config.value.mode != "" {
		p.mode = d.config.value.mode
	}
	d.suite = refresh(d.suite, d.path(suiteFile), func(data []byte, _ statcache.Stamp) *plan.Suite {
		suite := &plan.Suite{}
		if json.Unmarshal(data, suite) != nil {
			return nil
		}
		return suite
	})
	p.suite = d.suite.value.Of(d.config.value.test)
	return p
}

// A configFile is what STATE.md needs of config.json.
type configFile struct {
	mode string
	test string // the test command in one line; "" for none
}

// parseConfig ignores what is wrong: it is reported where it is needed.
func parseConfig(data []byte) configFile {
	var top, test map[string]json.RawMessage // maps keep keys case-sensitive: "Mode" isn't mode
	_ = jsonedit.Unmarshal(data, &top)
	_ = json.Unmarshal(top["test"], &test)
	var argv []string
	var line string
	if json.Unmarshal(test["command"], &argv) == nil {
		line = shellwords.Join(argv)
	} else {
		_ = json.Unmarshal(test["command"], &line)
	}
	return configFile{text(top["mode"]), strings.TrimSpace(line)}
}

func parseProject(data []byte, _ statcache.Stamp) projectState {
	var p projectState
	data = []byte(strings.TrimPrefix(string(data), textline.BOM))
	var top map[string]json.RawMessage
	if p.err = json.Unmarshal(data, &top); p.err != nil {
		s := jsonedit.NewScanner(data)
		s.Skip()
		s.End()
		if line, _ := conflict.Find(string(data)); line > 0 {
			p.err = fmt.Errorf("merge conflict in line %d", line)
		} else if s.Err() != nil {
			p.err = s.Err()
		}
		return p
	}
	if o, ok := object(top["overview"]); ok {
		p.value, p.stack, p.mode = text(o["value_prop"]), text(o["stack"]), text(o["mode"])
	} else {
		p.value = text(top["overview"])
	}
	if o, ok := object(top["session"]); ok {
		p.lastSession, p.resume = text(o["last_session"]), text(o["resume_file"])
	} else {
		p.lastSession = text(top["session"])
	}
	p.blockers = texts(top["blockers"])
	paused, _ := object(top["paused"])
	for id := range paused {
		p.paused = append(p.paused, id)
	}
	return p
}

func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var o map[string]json.RawMessage
	return o, json.Unmarshal(raw, &o) == nil && o != nil
}

// text returns a JSON value on one line: a string as is, null as "", anything else as JSON.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	return textline.Join(s)
}

// texts returns a list of values, each on one line; a lone string is a list of one, a word for
// "none" an empty list.
func texts(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var all []string
	for _, r := range list {
		t := text(r)
		if o, ok := object(r); ok {
			for _, key := range []string{"description", "text", "title", "reason"} {
				if v := text(o[key]); v != "" {
					t = v
					break
				}
			}
		}
		if !isNone(strings.Trim(t, " \t")) {
			all = append(all, t)
		}
	}
	return all
}
