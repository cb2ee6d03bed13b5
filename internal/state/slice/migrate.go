package slice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/state/statedir"
	"greenlight/internal/state/tracker"
)

const (
	// stagePrefix begins the name of the directory in which the slice files are built; one
	// rename turns it into slices/.
	stagePrefix = ".slices.migrate-"
	// journalFile is stored among the slice files from the commit until the files outside
	// follow it.
	journalFile = ".migrate.json"
	// LegacyFile is where a legacy project stores what its table has no columns for; see
	// package legacy.
	LegacyFile = "runs/legacy.json"
)

// ErrMigrated is returned for a project that already has slice files.
var ErrMigrated = errors.New("nothing to migrate")

// A Migration describes what Migrate did, or would do.
type Migration struct {
	Slices    int      `json:"slices"`
	Files     []string `json:"files"`     // written, relative to the root
	Backup    string   `json:"backup"`    // where STATE.md was saved, relative to the root
	Decisions int      `json:"decisions"` // appended to DECISIONS.md
	Warnings  []string `json:"warnings"`
	// it completed an earlier migration that was interrupted after its commit
	Finished bool `json:"-"`
}

// A redo is what remains to do after the slice files are in place. It is idempotent.
type redo struct {
	Migration
	Project   projectNotes `json:"project"`
	Notes     []string     `json:"decision_texts"`
	StateText string       `json:"state"` // STATE.md as migrated
}

// A Source is a legacy project to migrate, as read by package legacy.
type Source struct {
	State []byte // STATE.md
	Rows  []RowSlice
}

// Migrate completes an interrupted migration. If there is none, the error is ErrMigrated.
func (s *Store) Migrate(ctx context.Context, dryRun bool) (*Migration, error) {
	return s.MigrateFrom(ctx, func() (*Source, error) { return nil, here(s.Dir.root) }, dryRun)
}

// A migrator converts a legacy project to slice files.
type migrator struct {
	dir  *Dir
	page *statePage
}

// MigrateFrom converts a legacy project to slice files, all or nothing: renaming one directory
// is the commit. A kill before it leaves a legacy project; a kill after it leaves a migrated
// one, whose remaining files the next change completes. STATE.md is kept as a backup under an
// unused name. An unreadable row is an error that names its line, unsettled attempts are an
// error that names them, and so is a project that isn't legacy; on error nothing changes. With
// dryRun, nothing is written.
func (g *migrator) MigrateFrom(ctx context.Context, read func() (*Source, error),
	dryRun bool) (*Migration, error) {
	if format, err := Detect(g.dir.root); err != nil {
		return nil, err
	} else if _, err := os.Lstat(g.dir.journalPath()); format != Legacy && err != nil {
		return nil, notLegacy()
	}
	if dryRun {
		return g.rehearseMigration(read)
	}
	var m *Migration
	err := statedir.Locked(ctx, g.dir.root, func(statedir.Held) (err error) {
		if m, err = g.finishMigration(); m != nil || err != nil {
			return err
		}
		if err := g.dir.housekeep(g.completeMigration); err != nil {
			return err
		}
		m, err = g.migrate(read)
		return err
	})
	return m, err
}

// rehearseMigration returns what Migrate would do.
func (g *migrator) rehearseMigration(read func() (*Source, error)) (*Migration, error) {
	if j, err := g.readJournal(); err != nil {
		return nil, err
	} else if j != nil {
		return &j.Migration, nil
	}
	m, err := g.planMigration(read)
	if err != nil {
		return nil, err
	}
	return &m.journal.Migration, nil
}

func (d *Dir) journalPath() string { return filepath.Join(d.path("slices"), journalFile) }

func notLegacy() error {
	return fmt.Errorf("%w: %s has a file for each slice already", ErrMigrated, stateRel("slices"))
}

// migrate performs the migration. The caller holds the lock.
func (g *migrator) migrate(read func() (*Source, error)) (*Migration, error) {
	if format, err := Detect(g.dir.root); err != nil || format != Legacy {
		return nil, errors.Join(err, notLegacy())
	}
	for range tries {
		m, err := g.planMigration(read)
		if err != nil {
			return nil, err
		}
		err = g.commitMigration(m)
		if errors.Is(err, durable.ErrChanged) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("migrate: %w; nothing was changed", err)
		}
		done, err := g.finishMigration()
		if done != nil {
			done.Finished = false
		}
		return done, err
	}
	return nil, fmt.Errorf("migrate: %s: %w", stateRel("STATE.md"), tracker.ErrChanged)
}

// commitMigration builds the slice files in a staging directory, saves STATE.md and moves the
// files into place.
func (g *migrator) commitMigration(m *migration) (err error) {
	g.dir.sweepStages()
	stage := g.dir.path(fmt.Sprintf("%s%08x", stagePrefix, rand.Uint32()))
	if err := os.Mkdir(stage, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(stage)
		}
	}()
	for _, f := range m.files {
		if err := durable.WriteFile(filepath.Join(stage, f.name), f.data, 0o644); err != nil {
			return err
		}
	}
	if m.journal.Backup, err = g.saveAs("STATE.md.backup", string(m.state)); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m.journal, "", "  ")
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(stage, journalFile), append(data, '\n'),
		0o644); err != nil {
		return err
	}
	// Agents write STATE.md without the lock: a change since it was read must be migrated, too.
	if now, err := durable.ReadFile(g.dir.path("STATE.md")); err != nil ||
		string(now) != string(m.state) {
		return errors.Join(err, durable.ErrChanged)
	}
	return durable.MoveDir(stage, g.dir.path("slices"))
}

// sweepStages removes the remains of killed migrations. The caller holds the lock, so no other
// migration is running.
func (d *Dir) sweepStages() {
	for _, dir := range d.stages() {
		os.RemoveAll(dir)
	}
}

func (d *Dir) stages() []string {
	stages, _ := filepath.Glob(filepath.Join(paths.EscapeGlob(d.path("")), stagePrefix+"*"))
	return stages
}

// readJournal returns the remaining work of an interrupted migration, or nil if there is none.
func (g *migrator) readJournal() (*redo, error) {
	data, err := durable.ReadFile(g.dir.journalPath())
	if missing(err) {
		return nil, nil
	}
	var j redo
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	if err != nil {
		return nil, fmt.Errorf("complete the migration from %s: %w", sliceRel(journalFile),
			bareError(err))
	}
	j.Finished = true
	return &j, nil
}

// finishMigration does what the journal lists and returns the migration, or nil if there is no
// journal. The caller holds the lock.
func (g *migrator) finishMigration() (*Migration, error) {
	j, err := g.readJournal()
	if j == nil || err != nil {
		return nil, err
	}
	if err := g.finish(j); err != nil {
		return nil, fmt.Errorf("complete the migration: %w; the slices are migrated, gl migrate goes on", err)
	}
	return &j.Migration, durable.Remove(g.dir.journalPath())
}

// completeMigration is finishMigration for callers that take the lock for something else.
func (g *migrator) completeMigration() error {
	_, err := g.finishMigration()
	return err
}

func (g *migrator) finish(j *redo) error {
	if err := g.dir.RewriteProject(j.Project.into); err != nil {
		return err
	}
	if err := g.addDecisions(j.Notes); err != nil {
		return err
	}
	if err := g.saveLateState(j); err != nil {
		return err
	}
	if err := g.page.refreshView(); err != nil {
		return err
	}
	return durable.Remove(g.dir.path(LegacyFile))
}

// saveLateState saves a STATE.md that was written just before the commit. It no longer holds
// the state, and the view is about to replace it.
func (g *migrator) saveLateState(j *redo) error {
	data, err := durable.ReadFile(g.dir.path("STATE.md"))
	if missing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", stateRel("STATE.md"), bareError(err))
	}
	g.dir.mu.Lock()
	_, view, err := g.page.render()
	g.dir.mu.Unlock()
	if err != nil || string(data) == j.StateText || string(data) == view {
		return err
	}
	name, err := g.saveAs("STATE.md.backup", string(data))
	if err == nil {
		j.Warnings = append(j.Warnings, fmt.Sprintf("%s was written once more while it was migrated; that is in %s, and not in the slice files",
			stateRel("STATE.md"), name))
	}
	return err
}

// saveAs saves a text under base, or base.1 and so on: the first name that is free or already
// has this text. It returns the path relative to the root.
func (g *migrator) saveAs(base, text string) (string, error) {
	for n := 0; ; n++ {
		name := base
		if n > 0 {
			name = fmt.Sprintf("%s.%d", base, n)
		}
		err := durable.Replace(g.dir.path(name), nil, []byte(text))
		if err == nil {
			return stateRel(name), nil
		}
		if !errors.Is(err, durable.ErrChanged) {
			return "", fmt.Errorf("save %s as %s: %w", stateRel("STATE.md"), name, bareError(err))
		}
		if have, err := durable.ReadFile(g.dir.path(name)); err == nil && string(have) == text {
			return stateRel(name), nil
		}
	}
}
