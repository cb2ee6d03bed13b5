package project

import "greenlight/internal/gsd"

// A Statusline is how a project wants its status line.
type Statusline struct {
	Compact bool // few columns
	Front   bool // how full the context is comes first
}

// StatuslineOf reads the settings of the system that has some; the zero Statusline where none has.
func StatuslineOf(dir string, getenv func(string) string) Statusline {
	place, ok := gsd.Find(dir, getenv)
	if !ok {
		return Statusline{}
	}
	cfg := gsd.ReadConfig(place)
	return Statusline{cfg.Compact, cfg.Front}
}

// Position is where the project stands that dir belongs to by the rules of a system of its own; "" for none. It serves
// directories that Find knows no project for.
func Position(dir string, getenv func(string) string, compact bool) string {
	p, _ := gsd.ReadPosition(dir, getenv)
	return p.Line(compact)
}
