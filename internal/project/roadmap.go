package project

import (
	"errors"
	"io/fs"

	"greenlight/internal/gsd"
	"greenlight/internal/roadmap"
)

// Roadmap reads the roadmap of the first system that has one, and returns the project as that system sees it. If none has
// one, the error is that of the project itself, a *roadmap.MissingError.
func (p *Project) Roadmap() (*Project, *roadmap.Roadmap, error) {
	for _, view := range p.Views() {
		r, err := view.readRoadmap()
		if !errors.Is(err, fs.ErrNotExist) {
			return view, r, err
		}
	}
	r, err := p.readRoadmap()
	return p, r, err
}

// readRoadmap reads the roadmap of the system that counts.
func (p *Project) readRoadmap() (*roadmap.Roadmap, error) {
	if t, ok := p.Tracker.(*gsd.Tracker); ok {
		return roadmap.Read(p.Root, t.RoadmapFile(), t.Begin(), gsdRoadmap)
	}
	return roadmap.Own(p.Root)
}

// gsdRoadmap has the milestones of a GSD roadmap, known by their versions; the phases know which is theirs.
func gsdRoadmap(text string) roadmap.Roadmap {
	var r roadmap.Roadmap
	for _, m := range gsd.ParseRoadmap(text).Milestones {
		status := ""
		if m.Shipped {
			status = "shipped"
		}
		r.Milestones = append(r.Milestones, roadmap.Milestone{Name: m.Version, Status: status})
	}
	return r
}
