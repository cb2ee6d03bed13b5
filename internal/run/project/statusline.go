package project

import "greenlight/internal/state/gsd"

// A Statusline is the project's settings for its status line.
type Statusline struct {
	Compact bool // few columns
	Front   bool // the context usage comes first
}

// StatuslineOf returns the settings of the system that has some; otherwise the zero Statusline.
func StatuslineOf(dir string, getenv func(string) string) Statusline {
	place, ok := gsd.Find(dir, getenv)
	if !ok {
		return Statusline{}
	}
	cfg := gsd.ReadConfig(place)
	return Statusline{cfg.Compact, cfg.Front}
}

// Position returns the status of the project that contains dir by the rules of another system;
// "" for none. It serves directories for which Find knows no project.
func Position(dir string, getenv func(string) string, compact bool) string {
	p, _ := gsd.ReadPosition(dir, getenv)
	return p.Line(compact)
}
