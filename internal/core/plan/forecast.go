package plan

import (
	"slices"
	"strings"

	"greenlight/internal/base/words"
)

// forecast adopts the collisions that still matter: one side is running, the other is running
// or waiting. Work that has landed meanwhile, or was given up, no longer collides.
func (p *Plan) forecast() {
	for _, c := range p.Snapshot.Outlook.Forecast {
		a, b := p.State(c.Slice), p.State(c.With)
		switch {
		case a == nil || c.With != "" && b == nil:
		case c.With == "" && a.Class == Active:
			p.Forecast = append(p.Forecast, c)
		case c.With != "" && (a.pending() && b.pending()) &&
			(a.Class == Active || b.Class == Active):
			p.Forecast = append(p.Forecast, c)
			a.meet(b)
			b.meet(a)
		}
	}
	p.expect()
}

// expect adds collisions from the items' own lists of files, between a ready item and one in
// progress. For two running items, their worktrees are a better source.
func (p *Plan) expect() {
	var busy []*State
	for _, i := range p.undone {
		if st := &p.States[i]; len(st.Files) > 0 && (st.Class == Active || st.Class == Landing) {
			busy = append(busy, st)
		}
	}
	for _, i := range p.undone {
		st := &p.States[i]
		if st.Class != Available || len(st.Files) == 0 {
			continue
		}
		for _, other := range busy {
			if paths := shared(st.Files, other.Files); len(paths) > 0 &&
				!slices.Contains(st.Meets, other.ID) {
				p.Forecast = append(p.Forecast,
					Collision{Slice: st.ID, With: other.ID, Paths: paths})
				st.meet(other)
			}
		}
	}
}

// spread moves ready items that expect to change the same files as an earlier one behind the
// others, because they would be launched together. Items that continue, and those that collide
// with running work, keep their places.
func (p *Plan) spread() {
	from := 0
	for from < len(p.Lists.Ready) && p.State(p.Lists.Ready[from]).Goes {
		from++
	}
	to := from
	for to < len(p.Lists.Ready) && len(p.State(p.Lists.Ready[to]).Meets) == 0 {
		to++
	}
	var first, later []string
	taken := paths{in: map[string]bool{}, above: map[string]bool{}}
	for _, id := range p.Lists.Ready[from:to] {
		files := p.State(id).Files
		if slices.ContainsFunc(files, taken.meet) {
			later = append(later, id)
			continue
		}
		first = append(first, id)
		for _, f := range files {
			taken.add(f)
		}
	}
	copy(p.Lists.Ready[from:to], append(first, later...))
}

// paths is a set of paths and the directories above them.
type paths struct{ in, above map[string]bool }

func (s paths) add(path string) {
	path = bare(path)
	s.in[path] = true
	for i := range path {
		if path[i] == '/' {
			s.above[path[:i]] = true
		}
	}
}

// meet reports whether the path covers one in the set, or is covered by one.
func (s paths) meet(path string) bool {
	path = bare(path)
	for i := range path {
		if path[i] == '/' && i > 0 && s.in[path[:i]] {
			return true
		}
	}
	return path != "" && (s.in[path] || s.above[path])
}

// shared returns those of the paths that equal, contain or lie within one of the others.
func shared(paths, others []string) []string {
	var list []string
	for _, a := range paths {
		if slices.ContainsFunc(others, func(b string) bool {
			return covers(a, b) || covers(b, a)
		}) {
			list = append(list, a)
		}
	}
	return list
}

// covers reports whether dir equals path or is a directory above it.
func covers(dir, path string) bool {
	dir, path = bare(dir), bare(path)
	return dir != "" && (dir == path || strings.HasPrefix(path, dir+"/"))
}

func bare(path string) string { return strings.Trim(strings.TrimPrefix(path, "./"), "/") }

// pending reports whether the item has, or may have, work still to land.
func (st *State) pending() bool {
	return st.Class == Active || st.Class == Landing || st.Class == Available
}

func (st *State) meet(other *State) {
	if other.Class != Available && !slices.Contains(st.Meets, other.ID) {
		st.Meets = append(st.Meets, other.ID)
	}
}

// Foreseen returns the collisions of an item.
func (p *Plan) Foreseen(id string) []Collision {
	var list []Collision
	for _, c := range p.Forecast {
		if c.With == id {
			c.Slice, c.With = c.With, c.Slice
		}
		if c.Slice == id {
			list = append(list, c)
		}
	}
	return list
}

// Other describes what the work collides with.
func (c Collision) Other() string {
	if c.With == "" {
		return "merged work"
	}
	return c.With
}

// String formats the collision for a list: "S-1 and S-2 in routes.go".
func (c Collision) String() string { return c.Slice + " and " + c.Other() + " in " + c.in() }

// Text describes the collision from one item's side: "likely to conflict with S-2 in
// routes.go".
func (c Collision) Text() string { return "likely to conflict with " + c.Other() + " in " + c.in() }

// in names the paths.
func (c Collision) in() string {
	const most = 3
	return strings.Join(c.Paths[:min(most, len(c.Paths))], ", ") + words.More(len(c.Paths)-most)
}
