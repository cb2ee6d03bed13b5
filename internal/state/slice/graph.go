package slice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/text/conflict"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/sliceid"
)

// An entry is one slice in GRAPH.json.
type entry struct {
	id, name, description, why string

	deps      []string
	hasDeps   bool // the entry has a key for dependencies, even if the list is empty
	contracts []string
	wraps     []string
	given     []given // what it has of the other fields that a graph may have
}

// A given is the value of one field in an entry.
type given struct {
	key, text string
	list      []string
}

// give sets a field that a graph may have; empty values remove it.
func (e *entry) give(key, text string, list []string) {
	i := slices.IndexFunc(e.given, func(g given) bool { return g.key == key })
	switch empty := text == "" && len(list) == 0; {
	case i >= 0 && empty:
		e.given = slices.Delete(e.given, i, i+1)
	case i >= 0:
		e.given[i] = given{key, text, list}
	case !empty:
		e.given = append(e.given, given{key, text, list})
	}
}

// Get implements keyed.
func (e *entry) Get(key string) (string, bool) {
	for _, g := range e.given {
		if g.key == key {
			return g.text, true
		}
	}
	return "", false
}

// List implements keyed.
func (e *entry) List(key string) []string {
	for _, g := range e.given {
		if g.key == key {
			return g.list
		}
	}
	return nil
}

// fill copies to the item what the graph may have.
func (e *entry) fill(it *plan.Item) {
	for _, g := range e.given {
		if f := fieldOf()[g.key]; f != nil && f.graph {
			f.value.read(it, e, g.key)
		}
	}
}

// A graph is the parsed GRAPH.json. Agents write it in many shapes; gl reads all of them and
// normalizes none.
type graph struct {
	entries  []entry
	at       map[string]int      // id → index into entries
	edges    map[string][]string // id → its dependencies
	waves    map[string]int      // from waves or parallel groups
	warnings []string
}

// parseGraph parses GRAPH.json. A malformed file gives an empty graph and an error that names
// the line.
func parseGraph(data []byte) (*graph, error) {
	g := &graph{at: map[string]int{}, edges: map[string][]string{}, waves: map[string]int{}}
	if line, _ := conflict.Find(string(data)); line > 0 {
		return &graph{}, fmt.Errorf("merge conflict in line %d", line)
	}
	s := jsonedit.NewScanner(data)
	found := false
	if s.Peek() == '[' {
		found = true
		g.slices(s)
	} else {
		s.Object(func(key string) { found = g.key(s, key) || found })
	}
	s.End()
	if s.Err() != nil {
		return &graph{}, s.Err()
	}
	if !found {
		g.warnings = append(g.warnings, `has no "slices", neither an object nor an array`)
	}
	for i := range g.entries {
		g.entries[i].deps = expandAll(g.entries[i].deps)
	}
	g.setWaves()
	return g, nil
}

// key reads one top-level key and reports whether it held the slices.
func (g *graph) key(s *jsonedit.Scanner, key string) bool {
	switch c := s.Peek(); {
	case key == "slices" && (c == '{' || c == '['):
		g.slices(s)
		return true
	case key == "edges" && c == '[':
		s.Array(func() { g.edge(s) })
	case key == "waves", key == "parallel_groups", key == "parallelGroups":
		g.groups(s, key == "waves")
	default:
		s.Skip()
	}
	return false
}

func (g *graph) slices(s *jsonedit.Scanner) {
	if s.Peek() == '[' {
		s.Array(func() { g.add(readEntry(s, "")) })
		return
	}
	s.Object(func(id string) {
		e := readEntry(s, id)
		e.id = id
		g.add(e)
	})
}

// add adds an entry, merging it with an earlier one with the same id.
func (g *graph) add(e entry) {
	if err := sliceid.Valid(e.id); err != nil {
		g.warnings = append(g.warnings, "entry skipped: "+err.Error())
		return
	}
	if i, ok := g.at[e.id]; ok {
		first := &g.entries[i]
		first.deps = append(first.deps, e.deps...)
		first.hasDeps = first.hasDeps || e.hasDeps
		g.warnings = append(g.warnings,
			fmt.Sprintf("%s is there twice; the first one counts, with the dependencies of both", e.id))
		return
	}
	g.at[e.id] = len(g.entries)
	g.entries = append(g.entries, e)
}

// readEntry reads one slice: an object, just its id, or (under its id) just its dependencies.
func readEntry(s *jsonedit.Scanner, key string) entry {
	e := entry{id: key}
	switch c := s.Peek(); {
	case c == '{':
		s.Object(func(k string) { e.read(s, k) })
	case key == "":
		e.id = s.Scalar()
	case c == '[' || c == '"':
		e.readDeps(s)
	default:
		s.Skip()
	}
	return e
}

func (e *entry) read(s *jsonedit.Scanner, key string) {
	switch key {
	case "id":
		e.id = s.Scalar()
	case "name":
		e.name = s.Scalar()
	case "description", "what":
		if text := s.Scalar(); e.description == "" || key == "description" {
			e.description = text
		}
	case "why":
		e.why = s.Scalar()
	case "depends_on", "deps", "dependencies", "dependsOn":
		e.readDeps(s)
	case "contracts":
		e.contracts = append(e.contracts, idList(s)...)
	case "wraps":
		e.wraps = append(e.wraps, idList(s)...)
	default:
		e.readField(s, key)
	}
}

// readField reads a field of the table that a graph may have.
func (e *entry) readField(s *jsonedit.Scanner, key string) {
	f := fieldOf()[key]
	if f == nil || !f.graph {
		s.Skip()
		return
	}
	if _, ok := f.value.(listValue); ok {
		e.give(key, "", append(e.List(key), idList(s)...))
		return
	}
	e.give(key, s.Scalar(), nil)
}

func (e *entry) readDeps(s *jsonedit.Scanner) {
	if s.Peek() == 'n' { // null leaves the dependencies unspecified
		s.Skip()
		return
	}
	e.hasDeps = true
	e.deps = append(e.deps, idList(s)...)
}

// idList reads ids: an array of strings, numbers or objects with an id, or a string with commas.
func idList(s *jsonedit.Scanner) []string {
	if s.Peek() != '[' {
		return splitList(s.Scalar())
	}
	var ids []string
	s.Array(func() {
		if s.Peek() != '{' {
			ids = append(ids, s.Scalar())
			return
		}
		s.Object(func(k string) {
			if k == "id" || k == "slice" {
				ids = append(ids, s.Scalar())
			} else {
				s.Skip()
			}
		})
	})
	return ids
}

func (g *graph) edge(s *jsonedit.Scanner) {
	if s.Peek() != '{' {
		s.Skip()
		return
	}
	var from, to string
	s.Object(func(k string) {
		switch k {
		case "from":
			from = s.Scalar()
		case "to":
			to = s.Scalar()
		default:
			s.Skip()
		}
	})
	if from != "" && to != "" {
		g.edges[from] = append(g.edges[from], to)
	}
}

// groups reads waves or parallel groups: an array or an object whose values are id lists or
// objects with "slices". The keys of waves are their numbers; any other group is numbered by
// its position.
func (g *graph) groups(s *jsonedit.Scanner, numbered bool) {
	n := 0
	group := func(key string) {
		n++
		wave := n
		if k := rank(key); numbered && k != plan.None {
			wave = k
		}
		g.group(s, wave)
	}
	switch s.Peek() {
	case '{':
		s.Object(group)
	case '[':
		s.Array(func() { group("") })
	default:
		s.Skip()
	}
}

func (g *graph) group(s *jsonedit.Scanner, wave int) {
	var ids []string
	switch s.Peek() {
	case '[':
		ids = idList(s)
	case '{':
		s.Object(func(k string) {
			switch {
			case k == "slices":
				ids = append(ids, idList(s)...)
			case k == "wave" || k == "number":
				if w := rank(s.Scalar()); w != plan.None {
					wave = w
				}
			default:
				s.Skip()
			}
		})
	default:
		s.Skip()
	}
	for _, id := range ids {
		if _, ok := g.waves[id]; !ok {
			g.waves[id] = wave
		}
	}
}

// setWaves gives entries without a wave of their own the wave of the group that lists them.
func (g *graph) setWaves() {
	for i := range g.entries {
		e := &g.entries[i]
		own, _ := e.Get("wave")
		if w, ok := g.waves[e.id]; ok && rank(own) == plan.None {
			e.give("wave", strconv.Itoa(w), nil)
		}
	}
}

// rank parses a number or a word for a priority; lower goes first. It returns plan.None for
// anything else.
func rank(text string) int {
	text = strings.ToLower(strings.TrimSpace(text))
	switch text {
	case "p0", "critical":
		return 0
	case "p1", "high":
		return 1
	case "p2", "medium", "normal":
		return 2
	case "p3", "low":
		return 3
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > -1e9 && n < 1e9 {
		return int(n)
	}
	return plan.None
}
