package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"greenlight/internal/base/durable"
)

const (
	schemaVersion = 1
	lockName      = ".lock"

	// written before the first file; until the state is installed, hashes show how far the
	// installation got
	installing = "installing"
	installed  = "installed"
	removing   = "removing"
)

// A manifest records an installation.
type manifest struct {
	SchemaVersion int       `json:"schema_version"`
	Agent         string    `json:"agent"`
	Version       string    `json:"version"` // version of the gl that installed
	State         string    `json:"state"`
	Dirs          []string  `json:"dirs"` // directories we created, parents first
	Files         []entry   `json:"files"`
	Memory        *block    `json:"memory"`   // our part of CLAUDE.md; null for none
	Settings      *settings `json:"settings"` // our part of settings.json; null for none
}

// An entry is one of our files.
type entry struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"` // of the current content
	// of earlier contents, until the installation is complete
	Was    []string `json:"was,omitempty"`
	Before string   `json:"before,omitempty"` // of the user's original file
	Saved  string   `json:"saved,omitempty"`  // where the original is now
}

// ours reports whether we wrote the content with that hash.
func (e *entry) ours(sum string) bool { return sum == e.SHA256 || slices.Contains(e.Was, sum) }

// since returns the entry with the file's earlier contents from an older one.
func (e entry) since(old *entry) entry {
	if old != nil {
		e.Was = slices.Clone(old.Was)
		if old.SHA256 != e.SHA256 {
			e.Was = append(e.Was, old.SHA256)
		}
	}
	return e
}

func (m *manifest) entry(path string) *entry {
	if m == nil {
		return nil
	}
	i := slices.IndexFunc(m.Files, func(e entry) bool { return e.Path == path })
	if i < 0 {
		return nil
	}
	return &m.Files[i]
}

// complete reports whether the last installation or removal finished.
func (m *manifest) complete() bool { return m != nil && m.State == installed }

func (m *manifest) text() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	_ = enc.Encode(m) // it consists of strings and can't fail
	return b.Bytes()
}

// readManifest returns the target's manifest, nil if there is none, and its text.
func readManifest(t Target) (*manifest, []byte, error) {
	data, err := t.read(t.manifestPath())
	if data == nil || err != nil {
		return nil, nil, err
	}
	m := &manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, nil, fmt.Errorf("%s: %w; restore it, or remove it and what it lists by hand",
			t.Path(t.manifestPath()), err)
	}
	if err := m.check(t); err != nil {
		return nil, nil, fmt.Errorf("%s %w", t.Path(t.manifestPath()), err)
	}
	return m, data, nil
}

// check rejects a manifest that names paths we never write.
func (m *manifest) check(t Target) error {
	switch {
	case m.SchemaVersion > schemaVersion:
		return fmt.Errorf("is of a newer gl (%.40q): use that one", m.Version)
	case m.Agent != t.Agent:
		return fmt.Errorf("is for the agent %.40q, not %s", m.Agent, t.Agent)
	}
	for _, e := range m.Files {
		if !t.owns(e.Path) || e.Saved != "" && !t.owns(e.Saved) {
			return fmt.Errorf("names %.80q, which gl never installs: it isn't what gl wrote",
				e.Path)
		}
	}
	for _, dir := range m.Dirs {
		if !t.ownsDir(dir) {
			return fmt.Errorf("names the directory %.80q, which gl never makes: it isn't what gl wrote", dir)
		}
	}
	if b := m.Memory; b != nil && (t.Memory == "" || b.Saved != "" && !t.owns(b.Saved)) {
		return errors.New("names a memory file that gl never writes: it isn't what gl wrote")
	}
	if m.Settings != nil && t.Settings == "" {
		return errors.New("names settings for an agent that has none: it isn't what gl wrote")
	}
	return nil
}

// read returns a file's content: nil, rather than empty, if the file doesn't exist.
func (t Target) read(rel string) ([]byte, error) {
	if err := t.contains(rel); err != nil {
		return nil, err
	}
	data, err := durable.ReadFile(t.Path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Path(rel), unpath(err))
	}
	if data == nil {
		data = []byte{}
	}
	return data, nil
}

// write replaces the content that was read.
func (t Target) write(rel string, old, data []byte) error {
	if err := t.contains(rel); err != nil {
		return err
	}
	return durable.Replace(t.Path(rel), old, data)
}

// remove removes a file. For a link it removes the target, because that is what we wrote; the
// link is the user's.
func (t Target) remove(rel string) error {
	if err := t.contains(rel); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(t.Path(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", t.Path(rel), unpath(err))
	}
	return durable.Remove(real)
}

// free returns the first unused name of the form rel, rel.1, rel.2 and so on.
func (t Target) free(rel string) string {
	name := rel
	for i := 1; ; i++ {
		if _, err := os.Lstat(t.Path(name)); err != nil { // writing reports any other error
			return name
		}
		name = fmt.Sprintf("%s.%d", rel, i)
	}
}

func unpath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
