package slice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
	"greenlight/internal/state/tracker"
)

// A statePage is STATE.md as gl generates it from the slice files. Dir.mu guards its fields.
type statePage struct {
	dir   *Dir
	files *sliceFiles

	rendered *rendering // the latest
	unshown  shownSoon  // the last change in Do
	noted    time.Time  // time when shownFile was written
}

// Refresh regenerates STATE.md from the slice files, under the lock. It first saves a STATE.md
// that isn't generated. Right after a change that this Store made in Do, it does nothing if
// another process's rendering already shows that change.
func (s *Store) Refresh(ctx context.Context) error {
	if change := s.page.takeUnshown(); change > 0 {
		return s.show(ctx, change)
	}
	if s.page.isShown() {
		return nil
	}
	return s.locked(ctx, s.page.refreshAndCount)
}

// refreshView writes STATE.md, and again if a slice changed meanwhile: an agent that takes no
// lock may have written one after it was read here, and nothing else would notice. The caller
// holds the project's lock.
func (p *statePage) refreshView() error {
	var err error
	for range tries + 1 {
		var done bool
		if done, err = p.refreshOnce(); done || err != nil && !errors.Is(err, durable.ErrChanged) {
			return err
		}
	}
	p.dir.mu.Lock()
	p.rendered = nil // it no longer matches the files
	p.dir.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", stateRel("STATE.md"), tracker.ErrChanged)
	}
	return nil // it was right when written; a writer this fast refreshes, too
}

// refreshOnce writes STATE.md if it is out of date; done reports whether it is current now.
func (p *statePage) refreshOnce() (done bool, err error) {
	p.dir.mu.Lock()
	old, text, err := p.render()
	p.dir.mu.Unlock()
	if err != nil || old.there && old.text == text {
		return true, err
	}
	var before []byte
	if old.there {
		before = append([]byte{}, old.text...)
		if err := p.saveHandWritten(old.text); err != nil {
			return false, err
		}
	}
	if err := durable.Replace(p.dir.path("STATE.md"), before, []byte(text)); err != nil {
		return false, fmt.Errorf("write %s: %w", stateRel("STATE.md"), bareError(err))
	}
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	return p.rendered.holds(), nil
}

// render returns STATE.md as it is and as it should be. The caller holds s.mu.
func (p *statePage) render() (old stateFile, text string, err error) {
	v, err := p.files.lookAtAll()
	if err != nil {
		return stateFile{}, "", err
	}
	old = p.dir.readState(&p.dir.state, "STATE.md")
	if old.err != nil {
		return old, "", fmt.Errorf("read %s: %w", stateRel("STATE.md"), bareError(old.err))
	}
	project := p.dir.readProject()
	var kept []*line
	if last := p.rendered; last != nil && last.v.ix == v.ix && last.text == old.text {
		kept = last.kept // our own output need not be parsed
	} else {
		rows, _ := parseRowsBut(old.body, v.ix.hasFile)
		kept = v.without(rows)
	}
	text, shape := v.stateMD(old, project, kept)
	p.rendered = &rendering{p, v, project, text, shape, kept}
	return old, text, nil
}

// sweepSlices removes, once, the temporary files that dead writers left among the slice files.
// The caller holds the lock.
func (s *sliceFiles) sweepSlices() {
	s.dir.mu.Lock()
	due := s.temps.seen && !s.temps.swept
	s.temps.swept = s.temps.swept || due
	s.dir.mu.Unlock()
	if due {
		_ = durable.Sweep(s.dir.path("slices"), time.Now()) // leftovers are harmless
	}
}

// saveHandWritten saves a handwritten STATE.md as STATE.md.backup, or .backup.1 and so on: the
// first name that is free or already has this text.
func (p *statePage) saveHandWritten(text string) error {
	if generated(text) || textline.Blank(text) {
		return nil
	}
	for n := 0; ; n++ {
		name := "STATE.md.backup"
		if n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		err := durable.Replace(p.dir.path(name), nil, []byte(text))
		if !errors.Is(err, durable.ErrChanged) {
			if err != nil {
				return fmt.Errorf("save %s as %s: %w", stateRel("STATE.md"), name, bareError(err))
			}
			return nil
		}
		var taken *cached[stateFile]
		if p.sameText(&taken, name, text) {
			return nil
		}
	}
}

func (p *statePage) sameText(c **cached[stateFile], name, text string) bool {
	f := p.dir.readState(c, name)
	return f.there && f.text == text
}
