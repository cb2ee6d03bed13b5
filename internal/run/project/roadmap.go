package project

import (
	"errors"
	"io/fs"

	"greenlight/internal/state/roadmap"
)

// Roadmap reads the roadmap of the first system that has one, and returns the project as seen
// by that system. If there is none, the error is that of the project itself, a
// *roadmap.MissingError.
func (p *Project) Roadmap() (*Project, *roadmap.Roadmap, error) {
	for _, view := range p.Views() {
		r, err := view.Tracker.Roadmap()
		if !errors.Is(err, fs.ErrNotExist) {
			return view, r, err
		}
	}
	r, err := p.Tracker.Roadmap()
	return p, r, err
}
