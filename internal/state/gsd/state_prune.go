package gsd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/text/textline"
)

const archiveName = "STATE-ARCHIVE.md"

type pruneDoc struct {
	Pruned  bool         `json:"pruned"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Cutoff  *int         `json:"cutoff_phase,omitempty"`
	Keep    *int         `json:"keep_recent,omitempty"`
	Parts   []prunedPart `json:"sections,omitempty"`
	Would   *int         `json:"total_would_archive,omitempty"`
	Total   *int         `json:"total_archived,omitempty"`
	Archive *string      `json:"archive_file,omitempty"`
	Note    string       `json:"note,omitempty"`
}

type prunedPart struct {
	Section string `json:"section"`
	Would   *int   `json:"entries_would_archive,omitempty"`
	Count   *int   `json:"entries_archived,omitempty"`
	lines   []string
}

// Prune moves entries of phases completed long ago into STATE-ARCHIVE.md: those up to the
// current phase minus keep. It writes the archive first, so that a kill in between loses
// nothing.
func (s *Store) Prune(ctx context.Context, keep int, dryRun bool) (Result, error) {
	if dryRun {
		doc, err := s.load()
		if err != nil {
			return whenMissing(err)
		}
		return pruneResult(prune(newDraft(doc), keep), keep, true), nil
	}
	var p pruning
	return s.verb(ctx, writing{note: true, also: true,
		first: func(*draft) error { return s.archive(p, keep) }}, func(d *draft) error {
		p = prune(d, keep)
		return nil
	}, func(bool) Result { return pruneResult(p, keep, false) })
}

// A pruning is the entries to move.
type pruning struct {
	current, cutoff int
	parts           []prunedPart
}

func (p pruning) total() int {
	n := 0
	for _, part := range p.parts {
		n += len(part.lines)
	}
	return n
}

func pruneResult(p pruning, keep int, dryRun bool) Result {
	if p.cutoff <= 0 {
		return reported(pruneDoc{Reason: fmt.Sprintf("Only %d phases — "+
			"nothing to prune with --keep-recent %d", p.current, keep)}, false)
	}
	total := p.total()
	doc := pruneDoc{Pruned: total > 0 && !dryRun, DryRun: dryRun, Cutoff: &p.cutoff, Keep: &keep}
	for _, part := range p.parts {
		n := len(part.lines)
		if dryRun {
			part.Would = &n
		} else {
			part.Count = &n
		}
		doc.Parts = append(doc.Parts, part)
	}
	if dryRun {
		doc.Would = &total
		doc.Note = "Nothing to prune"
		if total > 0 {
			doc.Note = "Run without --dry-run to actually prune"
		}
		return reported(doc, total > 0)
	}
	doc.Total = &total
	if total > 0 {
		name := archiveName
		doc.Archive = &name
	}
	return reported(doc, total > 0)
}

func prune(d *draft, keep int) pruning {
	p := pruning{current: atoi(readPhase(d.currentPhase()).id)}
	p.cutoff = p.current - keep
	if p.cutoff <= 0 {
		return p
	}
	old := func(pattern string) func(line string) bool {
		re := regexp.MustCompile(pattern)
		return func(line string) bool {
			m := re.FindStringSubmatch(line)
			return m != nil && atoi(m[1]) <= p.cutoff
		}
	}
	anyPhase, resolved := old(`(?i)Phase\s+(\d+)`), regexp.MustCompile(`(?i)~~.*~~|\[RESOLVED\]`)
	p.move(d, "Decisions", decisions, old(`(?i)^\s*-\s*\[Phase\s+(\d+)`))
	p.move(d, "Recently Completed", titled("Recently Completed"), anyPhase)
	p.move(d, "Blockers (resolved)", titled("Blockers", "Blockers/Concerns", "Blockers & Concerns"),
		func(line string) bool {
			return resolved.MatchString(line) && anyPhase(line)
		})
	p.move(d, "Performance Metrics", titled("Performance Metrics"), old(`^\|\s*(\d+)\s*\|`))
	return p
}

func titled(titles ...string) func([]byte) (section, bool) {
	return func(body []byte) (section, bool) { return findSection(body, 3, 3, titles...) }
}

// move removes lines from a section, with the lines that belong to an item.
func (p *pruning) move(d *draft, name string, find func([]byte) (section, bool),
	old func(line string) bool) {
	in, ok := find(d.body)
	if !ok {
		return
	}
	part := prunedPart{Section: name}
	var edits []edit
	lines := d.lines(in.text)
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if l.fenced || !old(string(d.body[l.start:l.end])) {
			continue
		}
		for i+1 < len(lines) && !lines[i+1].empty(d.body) && lines[i+1].indent > l.indent {
			i++
		}
		part.lines = append(part.lines,
			strings.ReplaceAll(string(d.body[l.start:lines[i].end]), "\r\n", "\n"))
		edits = append(edits, edit{span{l.start, lines[i].next}, ""})
	}
	if len(part.lines) > 0 {
		d.body = apply(d.body, edits)
		p.parts = append(p.parts, part)
	}
}

// archive appends what was pruned, except for entries that a killed run already appended.
func (s *Store) archive(p pruning, keep int) error {
	path := s.file(archiveName)
	old, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		old, err = nil, nil
	}
	if err != nil {
		return err
	}
	eol := textline.Prevailing(old)
	var lines []string
	for _, part := range p.parts {
		lines = append(append(append(lines, "### "+part.Section, ""), part.lines...), "")
	}
	entries := strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\n", eol)
	if bytes.Contains(old, []byte(entries)) {
		return nil
	}
	head := fmt.Sprintf("## Pruned %s (phases 1-%d, kept recent %d)", localDate(s.Now()),
		p.cutoff, keep)
	text := bytes.Clone(old)
	if old == nil {
		text = []byte("# STATE Archive\n\nPruned entries from STATE.md. They stay here " +
			"and are no longer read at every step.\n\n")
	} else if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, eol...)
	}
	return durable.Replace(path, old, append(text, head+eol+eol+entries...))
}
