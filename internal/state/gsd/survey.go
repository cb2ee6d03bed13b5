package gsd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/core/plan"
)

// maxRoadmap is how many bytes of a ROADMAP.md are read.
const maxRoadmap = 16 << 20

// A survey is one look at a project's GSD files.
type survey struct {
	t         *Tracker
	place     Place
	phases    []Phase
	road      *Roadmap
	dirs      map[string]*PhaseDir // by key
	front     *Doc                 // STATE.md
	pos       Position
	facts     Facts     // of the current milestone
	milestone int       // its index in the roadmap, -1 for none
	at        standing  // the position according to STATE.md
	changed   time.Time // when STATE.md last changed
	cfg       Config
	waiting   signal
	unsure    string // why the phases are unknown for now
	warnings  []plan.Warning
}

// A signal is a WAITING.json: a GSD agent needs an answer.
type signal struct {
	Status   string `json:"status"`
	Question string `json:"question"`
	Phase    string `json:"phase"`
}

func (t *Tracker) survey() *survey {
	s := &survey{t: t, place: t.place(), dirs: map[string]*PhaseDir{}}
	data, err := readStart(s.place.State())
	if info, statErr := durable.Stat(s.place.State()); statErr == nil {
		s.changed = info.ModTime()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.warn(s.place.State(), "can't be read: "+err.Error())
	}
	s.front = Parse(data)
	s.pos = positionOf(s.front)
	s.cfg = ReadConfig(s.place)
	s.waiting = s.readSignal()
	if s.place.NoWorkstream {
		s.warn(s.place.Planning,
			"the project has workstreams and none is chosen: "+s.place.choose())
		return s
	}
	dirs := ScanPhases(s.place.Phases())
	s.join(dirs)
	s.readRoadmap(dirs)
	return s
}

// join maps keys to directories. If two belong to the same phase, the one with plans wins.
func (s *survey) join(dirs []PhaseDir) {
	for i := range dirs {
		d := &dirs[i]
		have := s.dirs[d.Key]
		if have != nil {
			s.warn(filepath.Join(s.place.Phases(), d.Name), "is of the same phase as "+have.Name)
			if have.Had || !d.Had {
				continue
			}
		}
		s.dirs[d.Key] = d
	}
}

// readRoadmap reads the phases from ROADMAP.md or, without one, from the directories. A
// ROADMAP.md without phases may be half written, so nothing is inferred in its place.
func (s *survey) readRoadmap(dirs []PhaseDir) {
	path := s.place.Roadmap()
	data, err := readRoadmapFile(path)
	s.road = parseRoadmap(string(data))
	s.phases = s.road.Phases
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if s.phases = phasesOf(dirs); len(s.phases) == 0 {
			s.warn(path, "is missing, so there are no phases: type "+s.t.slash("new-project")+
				" in Claude Code")
		}
	case err != nil:
		s.unsure = s.place.rel(path) + " can't be read: " + err.Error()
	case len(s.phases) == 0:
		s.unsure = s.place.rel(path) +
			" names no phases: gl found no heading like `### Phase 1: Name`"
	}
	for i := range s.phases {
		if ph := &s.phases[i]; ph.Unread != "" && !ph.Done {
			s.warn(path, fmt.Sprintf("phase %s depends on %q, which names no phase: "+
				"it is taken to come after the one before it", ph.ID, ph.Unread))
		}
	}
	s.checkDirs(dirs)
	road := s.road
	if err != nil {
		road = nil
	}
	s.at = standingOf(s.front)
	s.facts, s.milestone = newFacts(road, dirs, s.at), s.road.current(s.at)
	if s.facts.Undefined && s.unsure == "" {
		s.unsure = s.facts.Milestone + " has no roadmap yet: " + s.place.rel(path) +
			" is of an earlier milestone"
	}
	s.facts.HasPhases = paths.IsDir(s.place.Phases())
}

func readRoadmapFile(path string) ([]byte, error) {
	info, err := durable.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxRoadmap:
		return nil, fmt.Errorf("it has %d MB", info.Size()>>20)
	}
	return durable.ReadFile(path)
}

// checkDirs warns about work that the roadmap doesn't mention.
func (s *survey) checkDirs(dirs []PhaseDir) {
	known := map[string]bool{}
	for i := range s.phases {
		known[s.phases[i].Key] = true
	}
	for i := range dirs {
		if d := &dirs[i]; !known[d.Key] && !sentinel(d.Key) && d.Had && !d.Complete() {
			s.warn(filepath.Join(s.place.Phases(), d.Name),
				"has plans that aren't carried out, and ROADMAP.md has no such phase")
		}
	}
}

// phasesOf builds a roadmap from the directories: one phase after the other.
func phasesOf(dirs []PhaseDir) []Phase {
	r := &Roadmap{}
	for _, d := range dirs {
		if n := len(r.Phases); sentinel(d.Key) || n > 0 && r.Phases[n-1].Key == d.Key {
			continue
		}
		_, slug, _ := strings.Cut(d.Name, phaseToken(stripCode(d.Name)))
		r.Phases = append(r.Phases, Phase{ID: d.Key, Key: d.Key,
			Name: strings.ReplaceAll(strings.Trim(slug, "-_ "), "-", " ")})
	}
	r.resolve()
	return r.Phases
}

func (s *survey) warn(path, text string) {
	s.warnings = append(s.warnings, plan.Warning{Path: s.place.rel(path), Message: text})
}

// readSignal reads the signal from where GSD writes it.
func (s *survey) readSignal() signal {
	var w signal
	for _, path := range []string{filepath.Join(s.place.Root, ".gsd", "WAITING.json"),
		filepath.Join(s.place.Planning, "WAITING.json")} {
		data, err := readStart(path)
		if err != nil {
			continue
		}
		if err := json.Unmarshal(data, &w); err != nil {
			s.warn(path, "can't be read, so it counts as a question: "+err.Error())
			return signal{Status: "waiting"}
		}
		if w.Status == "" {
			w.Status = "waiting"
		}
		return w
	}
	return w
}

// gone returns phases no longer in the roadmap because their milestone is finished: those
// numbered below all others, and those that their files call complete.
func (s *survey) gone() map[string]string {
	if s.road == nil || len(s.phases) == 0 {
		return nil
	}
	have := map[string]bool{}
	for i := range s.phases {
		have[s.phases[i].Key] = true
	}
	gone := map[string]string{}
	for i := range s.phases {
		for _, dep := range s.phases[i].Depends {
			if have[dep] {
				continue
			}
			if plan.NaturalLess(dep, s.phases[0].Key) || slices.Contains(s.phases[i].over, dep) ||
				s.dirs[dep].CarriedOut(nil) || s.archived(dep) {
				gone[dep] = "complete"
			}
		}
	}
	return gone
}

// archived reports whether a phase's directory in an archived milestone shows it as complete.
func (s *survey) archived(key string) bool {
	dirs, _ := filepath.Glob(filepath.Join(s.place.Planning, "milestones", "*-phases"))
	for _, dir := range dirs {
		for _, d := range ScanPhases(dir) {
			if d.Key == key && d.CarriedOut(nil) {
				return true
			}
		}
	}
	return false
}
