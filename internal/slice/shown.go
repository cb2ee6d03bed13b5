package slice

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/statcache"
)

// shownFile says what STATE.md was found to follow from, and what it then was. While all that is the same there is nothing to write, and
// nobody needs the lock, or to render, to see it; and who has changed one slice changes its line. A small project does without. It is
// written under the lock, in place and without fsync: what a crash takes away costs a rendering.
//
// It is a head, in JSON and on one line, and below it a digest of the head and of the stamps of all the files.
const shownFile = "runs/shown"

// A shownHead is the first line of shownFile.
type shownHead struct {
	Program string            `json:"program"` // that has rendered
	State   digest            `json:"state"`   // of STATE.md's text
	Shape   shape             `json:"shape"`
	Texts   map[string]digest `json:"texts"` // of files, by their names, whose stamps don't vouch for their content yet
}

type digest [sha256.Size]byte

func digestOf(data []byte) digest { return sha256.Sum256(data) }

// MarshalText implements encoding.TextMarshaler.
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return errors.New("not a digest")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// mostTexts is how many files at most shownFile knows by their content.
const mostTexts = 100

// shownSources are the files that STATE.md follows from, beside those of the slices.
var shownSources = [...]string{"STATE.md.backup", "GRAPH.json", "project-state.json", "config.json", suiteFile}

// A basis is what the files are that STATE.md follows from, but for itself: shownSources, then those of the slices. A file's place in it is a
// number.
type basis struct {
	sources [len(shownSources)]statcache.Stamp
	stems   []string
	stamps  []statcache.Stamp
	texts   map[int]digest // of those whose stamps don't count
}

// stamp is that of a file.
func (b *basis) stamp(i int) *statcache.Stamp {
	if i < len(b.sources) {
		return &b.sources[i]
	}
	return &b.stamps[i-len(b.sources)]
}

// name is that of a file in .greenlight.
func (b *basis) name(i int) string {
	if i < len(shownSources) {
		return shownSources[i]
	}
	return "slices/" + b.stems[i-len(shownSources)] + ".md"
}

// place is that of the file of that name, -1 for none.
func (b *basis) place(name string) int {
	if stem, ok := strings.CutPrefix(name, "slices/"); ok {
		if i, ok := slices.BinarySearch(b.stems, strings.TrimSuffix(stem, ".md")); ok {
			return len(shownSources) + i
		}
		return -1
	}
	return slices.Index(shownSources[:], name)
}

// text is shownFile's, for a STATE.md that follows from the basis.
func (b *basis) text(program string, state digest, at shape) []byte {
	texts := make(map[string]digest, len(b.texts))
	for i, d := range b.texts {
		texts[b.name(i)] = d
	}
	head, err := json.Marshal(shownHead{program, state, at, texts})
	if err != nil {
		return nil // it can't be
	}
	sum := sha256.New()
	sum.Write(head)
	var part []byte
	for i := range len(b.sources) + len(b.stems) {
		if i >= len(b.sources) {
			part = append(append(part, b.stems[i-len(b.sources)]...), '\n')
		}
		if _, ok := b.texts[i]; !ok {
			part = b.stamp(i).Append(part)
		}
		if len(part) >= partBytes {
			sum.Write(part)
			part = part[:0]
		}
	}
	sum.Write(part)
	return fmt.Appendf(append(head, '\n'), "%x\n", sum.Sum(nil))
}

// partBytes is about how much is summed at a time.
const partBytes = 4096

// A shownState is STATE.md, known to be right.
type shownState struct {
	text  []byte
	shape shape
	basis *basis

	place int // of one slice's file in the basis
	own   []byte
}

// readShown returns STATE.md where it follows from the files as they are; nil where nobody knows whether it does. The caller holds s.mu.
func (s *Store) readShown() *shownState {
	if s.program == "" {
		return nil
	}
	kept, err := durable.ReadFile(s.path(shownFile))
	if err != nil {
		return nil
	}
	line, _, _ := bytes.Cut(kept, []byte("\n"))
	var head shownHead
	if json.Unmarshal(line, &head) != nil || head.Program != s.program {
		return nil
	}
	state := make(chan []byte, 1)
	go func() { state <- s.readExactly("STATE.md", head.State) }() // a megabyte, while the others are looked at
	b, settled := s.lookAtBasis(head.Texts)
	text := <-state
	if text == nil || b == nil || !bytes.Equal(b.text(s.program, head.State, head.Shape), kept) {
		return nil
	}
	for _, i := range settled {
		delete(b.texts, i)
	}
	return &shownState{text: text, shape: head.Shape, basis: b}
}

// readExactly is the file with that very content; nil for any other.
func (s *Store) readExactly(name string, content digest) []byte {
	data, err := durable.ReadFile(s.path(name))
	if err != nil || digestOf(data) != content {
		return nil
	}
	return data
}

// lookAtBasis looks at the files, and into those that are known by their texts; settled are those of them whose stamps vouch for that by
// now. nil: they can't be looked at.
func (s *Store) lookAtBasis(texts map[string]digest) (b *basis, settled []int) {
	stems, stamps, err := s.stampsNow()
	if err != nil {
		return nil, nil
	}
	b = &basis{stems: stems, stamps: stamps, texts: map[int]digest{}}
	for i, name := range shownSources {
		if b.sources[i], err = statcache.Stat(s.path(name)); err != nil && !missing(err) {
			return nil, nil
		}
	}
	for name := range texts {
		i := b.place(name)
		if i < 0 {
			return nil, nil
		}
		now := time.Now()
		data, stamp, err := readStamped(s.path(name))
		if err != nil {
			return nil, nil
		}
		b.texts[i], *b.stamp(i) = digestOf(data), stamp
		if stamp.Settled(now) {
			settled = append(settled, i)
		}
	}
	return b, settled
}

// stampsNow are those of the slice files, zero for one that can't be looked at.
func (s *Store) stampsNow() (stems []string, stamps []statcache.Stamp, err error) {
	if s.memory == nil || s.memory.log == nil { // one look isn't worth a log
		return s.listStamped()
	}
	if stems, _, err = s.list(); err != nil {
		return nil, nil, err
	}
	s.recallFiles(stems)
	stamps = make([]statcache.Stamp, len(stems))
	for i, c := range s.files.of(stems) {
		if c != nil {
			stamps[i] = c.stamp
		}
	}
	return stems, stamps, nil
}

// isShown says whether nothing has changed since STATE.md was found to be right.
func (s *Store) isShown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readShown() != nil
}

// shownBefore is STATE.md as it is before a slice changes, where it is right; nil where that isn't known, or a rendering costs no more than to
// find it out.
func (s *Store) shownBefore(id string) *shownState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory != nil && s.memory.log != nil {
		return nil
	}
	was := s.readShown()
	if was == nil {
		return nil
	}
	name := "slices/" + id + ".md"
	if was.place = was.basis.place(name); was.place < 0 {
		return nil
	}
	data, stamp, err := readStamped(s.path(name))
	text, byText := was.basis.texts[was.place]
	if err != nil || byText && digestOf(data) != text || !byText && stamp != *was.basis.stamp(was.place) { // it was changed while we looked
		return nil
	}
	was.own = data
	return was
}

// noteShown notes that STATE.md was found to be right. Who renders again and again need not say so each time. The caller holds the lock.
func (s *Store) noteShown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rendered
	if r == nil || s.program == "" || len(r.v.stems) < s.worth || time.Since(s.noted) < soon {
		return
	}
	s.noted = time.Now()
	if b := s.basisOf(r.v.stems); b != nil {
		s.writeShown(b, digestOf([]byte(r.text)), r.shape)
	}
}

func (s *Store) writeShown(b *basis, state digest, at shape) {
	_ = durable.Overwrite(s.path(shownFile), b.text(s.program, state, at), 0o600) // else the next one renders, too
}

// basisOf is the basis as it was read; nil where too much of it has only just been written. The caller holds s.mu.
func (s *Store) basisOf(stems []string) *basis {
	b := &basis{stems: stems, stamps: make([]statcache.Stamp, len(stems)), texts: map[int]digest{}}
	for i, f := range [len(shownSources)]fact{s.backupFact(), s.graph.fact(), s.project.fact(), s.config.fact(), s.suite.fact()} {
		if !b.set(i, f) {
			return nil
		}
	}
	for i, c := range s.files.of(stems) {
		if c == nil || !b.set(len(shownSources)+i, c.fact()) {
			return nil
		}
	}
	return b
}

// set takes in a file that was read: by its stamp or, where that doesn't vouch for it yet, by its text.
func (b *basis) set(i int, f fact) bool {
	if *b.stamp(i) = f.stamp; f.sum != nil {
		b.texts[i] = *f.sum
	}
	return f.known && len(b.texts) <= mostTexts
}

// A fact is what file was read, without its content.
type fact struct {
	stamp statcache.Stamp
	sum   *digest
	known bool
}

func (c *cached[T]) fact() fact {
	missing := c.stamp == statcache.Stamp{}
	return fact{c.stamp, c.sum, c.err == nil && (c.trusted || c.sum != nil || missing)}
}

// backupFact is that of STATE.md's backup, of which any will do while nobody has needed it.
func (s *Store) backupFact() fact {
	if s.backup != nil {
		return s.backup.fact()
	}
	now, err := statcache.Stat(s.path(shownSources[0]))
	return fact{now, nil, err == nil || missing(err)}
}
