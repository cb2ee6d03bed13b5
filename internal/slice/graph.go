package slice

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"greenlight/internal/plan"
)

// An entry is one slice in GRAPH.json.
type entry struct {
	id, name, description, milestone string

	deps      []string
	hasDeps   bool // the entry has a key for them, even if the list is empty
	contracts []string
	wave      int // plan.None
	priority  int // plan.None
}

// A graph is what GRAPH.json says. Agents write it in many shapes; all of them are read, none is written.
type graph struct {
	entries  []entry
	at       map[string]int      // id → index into entries
	edges    map[string][]string // id → what it depends on
	waves    map[string]int      // from waves or parallel groups
	warnings []string
}

// parseGraph reads GRAPH.json. A malformed file gives an empty graph and the error, which names the line.
func parseGraph(data []byte) (*graph, error) {
	g := &graph{at: map[string]int{}, edges: map[string][]string{}, waves: map[string]int{}}
	if bytes.Contains(data, []byte("<<<<<<<")) {
		if line := conflict(string(data)); line > 0 {
			return &graph{}, fmt.Errorf("merge conflict in line %d", line)
		}
	}
	s := &scanner{b: bytes.TrimPrefix(data, []byte(bom))}
	found := false
	if s.peek() == '[' {
		found = true
		g.slices(s)
	} else {
		s.object(func(key string) { found = g.key(s, key) || found })
	}
	s.end()
	if s.err != nil {
		return &graph{}, s.err
	}
	if !found {
		g.warnings = append(g.warnings, `has no "slices", neither an object nor an array`)
	}
	g.setWaves()
	return g, nil
}

// key reads one top-level key and says whether it held the slices.
func (g *graph) key(s *scanner, key string) bool {
	switch c := s.peek(); {
	case key == "slices" && (c == '{' || c == '['):
		g.slices(s)
		return true
	case key == "edges" && c == '[':
		s.array(func() { g.edge(s) })
	case key == "waves", key == "parallel_groups", key == "parallelGroups":
		g.groups(s, key == "waves")
	default:
		s.skip()
	}
	return false
}

func (g *graph) slices(s *scanner) {
	if s.peek() == '[' {
		s.array(func() { g.add(readEntry(s, "")) })
		return
	}
	s.object(func(id string) {
		e := readEntry(s, id)
		e.id = id
		g.add(e)
	})
}

// add takes an entry, merging it with an earlier one of the same id.
func (g *graph) add(e entry) {
	if err := ValidID(e.id); err != nil {
		g.warnings = append(g.warnings, "entry skipped: "+err.Error())
		return
	}
	if i, ok := g.at[e.id]; ok {
		first := &g.entries[i]
		for _, d := range e.deps {
			first.deps = appendItem(first.deps, d)
		}
		first.hasDeps = first.hasDeps || e.hasDeps
		g.warnings = append(g.warnings,
			fmt.Sprintf("%s is there twice; the first one counts, with the dependencies of both", e.id))
		return
	}
	g.at[e.id] = len(g.entries)
	g.entries = append(g.entries, e)
}

// readEntry reads one slice: an object, just its id, or (under its id) just its dependencies.
func readEntry(s *scanner, key string) entry {
	e := entry{id: key, wave: plan.None, priority: plan.None}
	switch c := s.peek(); {
	case c == '{':
		s.object(func(k string) { e.read(s, k) })
	case key == "":
		e.id = s.scalar()
	case c == '[' || c == '"':
		e.readDeps(s)
	default:
		s.skip()
	}
	return e
}

func (e *entry) read(s *scanner, key string) {
	switch key {
	case "id":
		e.id = s.scalar()
	case "name":
		e.name = s.scalar()
	case "description":
		e.description = s.scalar()
	case "milestone":
		e.milestone = s.scalar()
	case "depends_on", "deps", "dependencies", "dependsOn":
		e.readDeps(s)
	case "contracts":
		e.contracts = append(e.contracts, idList(s)...)
	case "wave":
		e.wave = rank(s.scalar())
	case "priority":
		e.priority = rank(s.scalar())
	default:
		s.skip()
	}
}

func (e *entry) readDeps(s *scanner) {
	if s.peek() == 'n' { // null says nothing about dependencies
		s.skip()
		return
	}
	e.hasDeps = true
	for _, d := range idList(s) {
		e.deps = appendItem(e.deps, d)
	}
}

// idList reads ids: an array of strings, numbers or objects with an id, or a string with commas.
func idList(s *scanner) []string {
	if s.peek() != '[' {
		return splitList(s.scalar())
	}
	var ids []string
	s.array(func() {
		if s.peek() != '{' {
			ids = append(ids, s.scalar())
			return
		}
		s.object(func(k string) {
			if k == "id" || k == "slice" {
				ids = append(ids, s.scalar())
			} else {
				s.skip()
			}
		})
	})
	return ids
}

func (g *graph) edge(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	var from, to string
	s.object(func(k string) {
		switch k {
		case "from":
			from = s.scalar()
		case "to":
			to = s.scalar()
		default:
			s.skip()
		}
	})
	if from != "" && to != "" {
		g.edges[from] = appendItem(g.edges[from], to)
	}
}

// groups reads waves or parallel groups: an array or an object of id lists, or of objects with "slices". The keys of
// waves are their numbers; any other group's number is its place.
func (g *graph) groups(s *scanner, numbered bool) {
	n := 0
	group := func(key string) {
		n++
		wave := n
		if k := rank(key); numbered && k != plan.None {
			wave = k
		}
		g.group(s, wave)
	}
	switch s.peek() {
	case '{':
		s.object(group)
	case '[':
		s.array(func() { group("") })
	default:
		s.skip()
	}
}

func (g *graph) group(s *scanner, wave int) {
	var ids []string
	switch s.peek() {
	case '[':
		ids = idList(s)
	case '{':
		s.object(func(k string) {
			switch {
			case k == "slices":
				ids = append(ids, idList(s)...)
			case k == "wave" || k == "number":
				if w := rank(s.scalar()); w != plan.None {
					wave = w
				}
			default:
				s.skip()
			}
		})
	default:
		s.skip()
	}
	for _, id := range ids {
		if _, ok := g.waves[id]; !ok {
			g.waves[id] = wave
		}
	}
}

// setWaves gives the entries that name no wave of their own the one whose group lists them.
func (g *graph) setWaves() {
	for i := range g.entries {
		e := &g.entries[i]
		if w, ok := g.waves[e.id]; ok && e.wave == plan.None {
			e.wave = w
		}
	}
}

// rank reads a number or a word for one; lower goes first. plan.None for anything else.
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
