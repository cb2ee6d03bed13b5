package install

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
)

// The ways in which a file can differ from the installation.
const (
	Changed  = "changed"  // modified by the user
	Missing  = "missing"  // deleted
	Outdated = "outdated" // unmodified, but this gl has a newer version
	New      = "new"      // this gl has it, but it isn't installed
	Dropped  = "dropped"  // installed, but no longer part of this gl
)

// A Difference is one file that differs from what this gl would install.
type Difference struct {
	Path string // relative to the target's root
	What string
}

// A State describes the installation in one target.
type State struct {
	Target    Target
	Installed bool
	Complete  bool   // false if it was interrupted; the next install completes it
	Version   string // of the gl that installed
	Files     int
	Same      bool // nothing differs
	Diffs     []Difference
	Memory    string // path of our CLAUDE.md, or of the one that contains our part; "" for none
	Mode      string // append, replace, keep; "" without CLAUDE.md
	Hooks     bool
	Line      bool     // the status line
	Loose     []string // commands named /gl:… that aren't in a manifest
}

// Check returns the state of the target.
func (t Target) Check(c Content) (*State, error) {
	st := &State{Target: t}
	m, _, err := readManifest(t)
	if err != nil {
		return st, err
	}
	want, err := t.Files(c)
	if err != nil {
		return st, err
	}
	if m == nil {
		st.Loose = t.loose(want)
		return st, nil
	}
	st.Installed, st.Complete, st.Version, st.Files = true, m.complete(), m.Version, len(m.Files)
	beside := m.entry(t.beside()) != nil
	if beside && t.Memory != "" {
		want = append(want, File{t.beside(), c.Memory})
		st.Memory, st.Mode = t.beside(), string(Theirs)
	}
	if err := t.checkFiles(st, m, want); err != nil {
		return st, err
	}
	if err := t.checkMemory(st, m, c); err != nil {
		return st, err
	}
	if err := t.checkSettings(st, m, c); err != nil {
		return st, err
	}
	slices.SortFunc(st.Diffs, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	st.Same = st.Complete && len(st.Diffs) == 0
	return st, nil
}

func (st *State) differs(path, what string) { st.Diffs = append(st.Diffs, Difference{path, what}) }

func (t Target) checkFiles(st *State, m *manifest, want []File) error {
	wanted := make(map[string]bool)
	for _, f := range want {
		wanted[f.Path] = true
		cur, err := t.read(f.Path)
		if err != nil {
			return err
		}
		switch e, have := m.entry(f.Path), hash(cur); {
		case cur != nil && bytes.Equal(cur, f.Data):
		case e == nil:
			st.differs(f.Path, New)
		case cur == nil:
			st.differs(f.Path, Missing)
		case e.ours(have):
			st.differs(f.Path, Outdated)
		default:
			st.differs(f.Path, Changed)
		}
	}
	for _, e := range m.Files {
		if !wanted[e.Path] {
			st.differs(e.Path, Dropped)
		}
	}
	return nil
}

func (t Target) checkMemory(st *State, m *manifest, c Content) error {
	if m.Memory == nil {
		return nil
	}
	st.Memory, st.Mode = t.Memory, string(m.Memory.Mode)
	cur, err := t.read(t.Memory)
	if err != nil {
		return err
	}
	from, to, ok := findBlock(cur)
	switch have := hash(inner(cur[from:to])); {
	case !ok:
		st.differs(t.Memory, Missing)
	case have == hash(plain(c.Memory)):
	case m.Memory.ours(have):
		st.differs(t.Memory, Outdated)
	default:
		st.differs(t.Memory, Changed)
	}
	return nil
}

// checkSettings compares settings.json with what an installation would write.
func (t Target) checkSettings(st *State, m *manifest, c Content) error {
	if m.Settings == nil {
		return nil
	}
	st.Hooks, st.Line = len(m.Settings.Ours) > 0, m.Settings.Line
	j := &job{t: t, old: m, next: &manifest{}}
	if err := j.planSettings(c); err != nil {
		return err
	}
	for _, s := range j.steps {
		what := Outdated
		if s.Do == Keep {
			what = Changed
		}
		st.differs(t.Settings, what)
	}
	return nil
}

// loose returns files in the place of ours that gl didn't install.
func (t Target) loose(want []File) []string {
	var all []string
	for _, f := range want {
		if _, err := os.Lstat(t.Path(f.Path)); err == nil {
			all = append(all, f.Path)
		}
	}
	return all
}

// Has reports whether the slash command /gl:NAME is where the agent looks for it: in the
// project at root, or in the user's configuration. It checks only that the file exists, from
// any source.
func Has(root, name string, getenv func(string) string) bool {
	return slices.ContainsFunc([]Scope{Local, Global}, func(s Scope) bool {
		t, err := Find(Claude, s, root, getenv)
		if err != nil {
			return false
		}
		_, err = os.Stat(t.Path(t.dirs.commands + "/" + name + ".md"))
		return err == nil
	})
}

// HasHooks reports whether the content's hooks, from any source, are in the settings that the
// agent reads in the project at root. The project's settings may be written by others, so every
// hook there must match the content. In the user's own settings, hooks of another version
// count, too.
func HasHooks(root string, c Content, getenv func(string) string) bool {
	return slices.ContainsFunc([]Scope{Local, Global}, func(s Scope) bool {
		t, err := Find(Claude, s, root, getenv)
		if err != nil || t.Settings == "" {
			return false
		}
		data, doc, err := t.settings()
		if err != nil || s == Global {
			return err == nil && bytes.Contains(data, []byte("gl hook guard"))
		}
		want, err := contentHooks(c)
		return err == nil && len(want) > 0 && !slices.ContainsFunc(want, func(k hook) bool {
			return !slices.ContainsFunc(doc.Elements("hooks", k.Event), k.is)
		})
	})
}

// Shadowed lists the project's commands that are hidden by the user's own: a personal command
// takes precedence over a project's with that name.
func Shadowed(global, local Target) []string {
	entries, err := os.ReadDir(local.Path(local.dirs.commands))
	if err != nil || global.Dir() == local.Dir() {
		return nil
	}
	var all []string
	for _, e := range entries {
		if _, err := os.Stat(global.Path(global.dirs.commands + "/" + e.Name())); err == nil &&
			strings.HasSuffix(e.Name(), ".md") {
			all = append(all, local.dirs.commands+"/"+e.Name())
		}
	}
	return all
}

// Plugin returns the name of our plugin as enabled in Claude Code in the project at root,
// gl@MARKETPLACE; "" for none.
func Plugin(root string, getenv func(string) string) string {
	return enabledPlugin(root, []string{"gl"}, getenv)
}

// enabledPlugin returns the first plugin with one of these names that is enabled in Claude Code
// in the project at root, NAME@MARKETPLACE; "" for none.
func enabledPlugin(root string, names []string, getenv func(string) string) string {
	for _, scope := range []Scope{Local, Global} {
		t, err := Find(Claude, scope, root, getenv)
		if err != nil || t.Settings == "" {
			continue
		}
		for _, file := range []string{t.Settings,
			strings.TrimSuffix(t.Settings, ".json") + ".local.json"} {
			data, err := t.read(file)
			var doc struct {
				Enabled map[string]any `json:"enabledPlugins"`
			}
			if err != nil || json.Unmarshal(data, &doc) != nil {
				continue
			}
			for _, plugin := range slices.Sorted(maps.Keys(doc.Enabled)) {
				name, _, _ := strings.Cut(plugin, "@")
				if on, _ := doc.Enabled[plugin].(bool); on && slices.Contains(names, name) {
					return plugin
				}
			}
		}
	}
	return ""
}
