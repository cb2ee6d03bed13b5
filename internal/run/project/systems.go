package project

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/run/attempt"
	"greenlight/internal/state/gsd"
	"greenlight/internal/state/legacy"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/specwright"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

// A System is one way in which a project may store its state.
type System struct {
	Key     string // in records and flags
	Name    string // for people
	Command string // gl's commands for it
	Keep    string // the command that keeps an idea, with its text behind; "" for none
	// path of a state file, relative to the root, that agents may write by themselves; "" for
	// none
	state string
	// paths relative to the root, directories with a slash: if one exists, the system may be in
	// use
	where []string

	// begin makes an empty project; nil for Greenlight, whose projects package ops makes
	begin func(ctx context.Context, root string) (file string, err error)
	// open opens the tracker, for a project with parts the named part's, or else the selected
	// one's.
	open func(root string, part *string) tracker.Tracker
}

const greenlight = "greenlight"

// systems returns all systems; the first one that a project uses is its default.
func systems() []System {
	return []System{
		{greenlight, "Greenlight", "gl state", "", "", []string{statedir.Name + "/"}, nil, openOwn},
		{"specwright", "Specwright", "gl sw", "", specwright.StateFile, []string{specwright.StateFile}, beginSpecwright, openSpecwright},
		{"gsd", "GSD", "gl gsd", "gl gsd todo add --title", ".planning/STATE.md", []string{".planning/"}, beginGSD, openGSD},
	}
}

// Begin makes an empty project of a system other than Greenlight at root, and returns its state
// file.
func Begin(ctx context.Context, system, root string) (file string, err error) {
	for _, s := range systems() {
		if s.Key == system && s.begin != nil {
			return s.begin(ctx, root)
		}
	}
	return "", fmt.Errorf("gl can't make a project of a system %q", system)
}

func beginSpecwright(ctx context.Context, root string) (string, error) {
	return specwright.StateFile, specwright.Open(root).Init(ctx)
}

func beginGSD(ctx context.Context, root string) (string, error) {
	s, err := gsd.OpenStore(root, func(string) string { return "" })
	if err != nil {
		return "", err
	}
	const file = ".planning/STATE.md"
	r, err := (&gsd.Project{Store: s}).Init(ctx)
	if err == nil && r.Failed {
		err = errors.New(file + " already exists: run gl gsd line")
	}
	return file, err
}

func openOwn(root string, _ *string) tracker.Tracker { return legacy.OpenEither(root) }

func openSpecwright(root string, _ *string) tracker.Tracker { return specwright.Open(root) }

func openGSD(root string, part *string) tracker.Tracker {
	t := gsd.Open(root)
	if part == nil {
		chosen := t.Part()
		part = &chosen
	}
	return t.In(*part)
}

// Keeper returns the commands that change a state file of a system other than Greenlight, where
// rel is its path relative to the root; "" for any other file.
func Keeper(rel string) string {
	for _, s := range systems() {
		if s.state != "" && s.state == rel {
			return s.Command
		}
	}
	return ""
}

// GSDCommand returns a slash command of GSD as it is installed for the project at root or the
// person: /gsd-name, or in older installations /gsd:name.
func GSDCommand(root, name string, getenv func(string) string) string {
	return gsd.Slash(root, name, getenv)
}

// SystemName returns the name for people of the system with that key.
func SystemName(key string) string {
	for _, s := range systems() {
		if s.Key == key {
			return s.Name
		}
	}
	return key
}

// there reports whether the system's files are under root.
func (s System) there(root string) bool {
	for _, path := range s.where {
		exists := paths.Exists
		path, isDir := strings.CutSuffix(path, "/")
		if isDir {
			exists = paths.IsDir
		}
		if exists(filepath.Join(root, filepath.FromSlash(path))) {
			return true
		}
	}
	return false
}

// used reports whether the project at root stores state in the system. Greenlight's directory
// alone isn't sufficient: it contains the runs of every project.
func (s System) used(root string) (bool, error) {
	if s.Key != greenlight {
		return s.there(root), nil
	}
	_, err := slice.Detect(root)
	if errors.Is(err, slice.ErrNoState) {
		return false, nil
	}
	return err == nil, err
}

// isRoot reports whether any system's files are in dir.
func isRoot(dir string) bool {
	for _, s := range systems() {
		if s.there(dir) {
			return true
		}
	}
	return false
}

// A tracked is a system that a project uses.
type tracked struct {
	System
	tracker.Tracker
}

// track opens the trackers of the project at root, in order. If there are none, the error is
// slice.ErrNoState.
func track(root string) (list []tracked, err error) {
	for _, s := range systems() {
		used, err := s.used(root)
		if err != nil {
			return nil, err
		}
		if used {
			list = append(list, tracked{s, s.open(root, nil)})
		}
	}
	if len(list) == 0 {
		_, err := slice.Detect(root)
		return nil, err
	}
	return list, nil
}

// System returns the active system.
func (p *Project) System() System { return p.all[0].System }

// Views returns the project as seen by each of its systems, the active one first.
func (p *Project) Views() []*Project {
	list := []*Project{p}
	for i := range p.all[1:] {
		list = append(list, p.as(p.all[i+1:i+2]))
	}
	return list
}

func (p *Project) as(all []tracked) *Project {
	q := *p
	q.use(all)
	return &q
}

// Has reports whether the attempt is at an item of the active system, or at a task, which
// belongs to none.
func (p *Project) Has(r *attempt.Record) bool {
	return joiner{p.Runs, p.Key()}.has(r)
}

// Key identifies the active system in a record, with the part of the project if it has parts.
func (p *Project) Key() string {
	if p.part == "" {
		return p.System().Key
	}
	return p.System().Key + "/" + p.part
}

// AgentEnv returns the variables that identify the part to agents, KEY=VALUE.
func (p *Project) AgentEnv() []string { return p.Tracker.Traits().Env }

// View returns the project as seen by the system with that key, "" for Greenlight; p itself if
// it doesn't use that system.
func (p *Project) View(system string) *Project {
	for i := range p.used {
		if key := p.used[i].Key; key == system || system == "" && key == greenlight {
			return p.as(p.used[i : i+1])
		}
	}
	return p
}

// Whose returns the project as seen by the system that owns the attempt's item. If that
// system's files have disappeared meanwhile, no view has the item: another system may have one
// with the same name, which is unrelated to the attempt.
func (p *Project) Whose(r *attempt.Record) *Project {
	system, part, _ := strings.Cut(r.ID.System, "/")
	v := p.View(system)
	if v.Has(r) {
		return v
	}
	if s := v.System(); s.Key == system {
		v = p.as([]tracked{{s, s.open(p.Root, &part)}})
	}
	if v.Has(r) {
		return v
	}
	return p.as([]tracked{{System{Key: r.ID.System, Name: r.ID.System}, stateless{root: p.Root}}})
}

// Flags returns the flags that make a command refer to this view of the project: " --system
// gsd", or nothing.
func (p *Project) Flags() string {
	flags := ""
	if p.Away {
		flags = " -C " + shellwords.Quote(p.Root)
	}
	if len(p.used) == 0 || p.System().Key == p.used[0].Key {
		return flags
	}
	return flags + " --system " + p.System().Key
}

// Keys returns the systems that the project uses, the default one first.
func (p *Project) Keys() []string {
	keys := make([]string, len(p.used))
	for i, t := range p.used {
		keys[i] = t.Key
	}
	return keys
}

// use makes the first of them the active one.
func (p *Project) use(all []tracked) {
	p.all = all
	p.Tracker = all[0].Tracker
	p.Slices, _ = p.Tracker.(SliceKeeper)
	p.part = p.Tracker.Traits().Part
	if len(p.used) > 1 || p.part != "" {
		p.Runs = p.Runs.Of(p.Has)
	}
}
