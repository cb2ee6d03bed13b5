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

	"greenlight/internal/base/durable"
	"greenlight/internal/base/statcache"
)

// shownFile records the files from which STATE.md was last found to follow, and its layout at
// that time. While they are unchanged there is nothing to write, and checking that needs
// neither the lock nor a rendering; after changing one slice, its line alone can be updated.
// Small projects do without it. It is written under the lock, in place and without fsync;
// losing it in a crash costs one rendering.
//
// The file has a head, in JSON on one line, and below it a digest of the head and of the stamps
// of all the files.
const shownFile = "runs/shown"

// showFrom is the number of slices from which shownFile is written: rendering fewer takes less
// time.
const showFrom = 100

// A shownHead is the first line of shownFile.
type shownHead struct {
	Program string `json:"program"` // that rendered
	State   digest `json:"state"`   // of STATE.md's text
	Shape   shape  `json:"shape"`
	// by name, of files whose stamps don't identify their content yet
	Texts map[string]digest `json:"texts"`
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

// mostTexts is the maximum number of files that shownFile identifies by content.
const mostTexts = 100

// shownSources are the files that STATE.md is generated from, besides the slice files.
var shownSources = [...]string{"STATE.md.backup", "GRAPH.json", "project-state.json",
	"config.json", suiteFile}

// A basis identifies the files that STATE.md follows from: shownSources, then the slice files.
// A file's index in it is a number.
type basis struct {
	sources [len(shownSources)]statcache.Stamp
	stems   []string
	stamps  []statcache.Stamp
	texts   map[int]digest // of files whose stamps aren't trusted
}

// stamp returns the stamp of file i.
func (b *basis) stamp(i int) *statcache.Stamp {
	if i < len(b.sources) {
		return &b.sources[i]
	}
	return &b.stamps[i-len(b.sources)]
}

// name returns the name of file i, relative to .greenlight.
func (b *basis) name(i int) string {
	if i < len(shownSources) {
		return shownSources[i]
	}
	return "slices/" + b.stems[i-len(shownSources)] + ".md"
}

// place returns the index of the named file, -1 if it isn't in the basis.
func (b *basis) place(name string) int {
	if stem, ok := strings.CutPrefix(name, "slices/"); ok {
		if i, ok := slices.BinarySearch(b.stems, strings.TrimSuffix(stem, ".md")); ok {
			return len(shownSources) + i
		}
		return -1
	}
	return slices.Index(shownSources[:], name)
}

// text returns the content of shownFile for a STATE.md that follows from the basis.
func (b *basis) text(program string, state digest, at shape) []byte {
	texts := make(map[string]digest, len(b.texts))
	for i, d := range b.texts {
		texts[b.name(i)] = d
	}
	head, err := json.Marshal(shownHead{program, state, at, texts})
	if err != nil {
		return nil // can't happen
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

// partBytes is about how much is hashed at a time.
const partBytes = 4096

// A shownState is a STATE.md known to be current.
type shownState struct {
	text  []byte
	shape shape
	basis *basis

	place int // index of one slice's file in the basis
	own   []byte
}

// readShown returns STATE.md if it is known to follow from the files as they are, otherwise
// nil. The caller holds s.mu.
func (p *statePage) readShown() *shownState {
	if p.dir.program == "" {
		return nil
	}
	kept, err := durable.ReadFile(p.dir.path(shownFile))
	if err != nil {
		return nil
	}
	line, _, _ := bytes.Cut(kept, []byte("\n"))
	var head shownHead
	if json.Unmarshal(line, &head) != nil || head.Program != p.dir.program {
		return nil
	}
	state := make(chan []byte, 1)
	// a megabyte, read while the other files are checked
	go func() { state <- p.readExactly("STATE.md", head.State) }()
	b, settled := p.lookAtBasis(head.Texts)
	text := <-state
	if text == nil || b == nil ||
		!bytes.Equal(b.text(p.dir.program, head.State, head.Shape), kept) {
		return nil
	}
	for _, i := range settled {
		delete(b.texts, i)
	}
	return &shownState{text: text, shape: head.Shape, basis: b}
}

// readExactly returns the file's content if it has that digest, otherwise nil.
func (p *statePage) readExactly(name string, content digest) []byte {
	data, err := durable.ReadFile(p.dir.path(name))
	if err != nil || digestOf(data) != content {
		return nil
	}
	return data
}

// lookAtBasis checks the files and reads those known by content. settled lists the ones whose
// stamps now identify their content. b is nil if the files can't be checked.
func (p *statePage) lookAtBasis(texts map[string]digest) (b *basis, settled []int) {
	stems, stamps, err := p.files.stampsNow()
	if err != nil {
		return nil, nil
	}
	b = &basis{stems: stems, stamps: stamps, texts: map[int]digest{}}
	for i, name := range shownSources {
		if b.sources[i], err = statcache.Stat(p.dir.path(name)); err != nil && !missing(err) {
			return nil, nil
		}
	}
	for name := range texts {
		i := b.place(name)
		if i < 0 {
			return nil, nil
		}
		now := time.Now()
		data, stamp, err := readStamped(p.dir.path(name))
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

// stampsNow returns the stamps of the slice files, zero for one that can't be checked.
func (s *sliceFiles) stampsNow() (stems []string, stamps []statcache.Stamp, err error) {
	if s.memory == nil || s.memory.log == nil { // one look isn't worth opening a log
		return s.listStamped()
	}
	if stems, _, err = s.list(); err != nil {
		return nil, nil, err
	}
	s.recallFiles(stems)
	stamps = make([]statcache.Stamp, len(stems))
	for i, c := range s.cache.of(stems) {
		if c != nil {
			stamps[i] = c.stamp
		}
	}
	return stems, stamps, nil
}

// isShown reports whether nothing has changed since STATE.md was found to be current.
func (p *statePage) isShown() bool {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	return p.readShown() != nil
}

// shownBefore returns STATE.md before a slice changes, if it is current. It returns nil if that
// is unknown, or if finding out costs as much as rendering.
func (p *statePage) shownBefore(id string) *shownState {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	if p.files.memory != nil && p.files.memory.log != nil {
		return nil
	}
	was := p.readShown()
	if was == nil {
		return nil
	}
	name := "slices/" + id + ".md"
	if was.place = was.basis.place(name); was.place < 0 {
		return nil
	}
	data, stamp, err := readStamped(p.dir.path(name))
	text, byText := was.basis.texts[was.place]
	// it changed while we looked
	if err != nil || byText && digestOf(data) != text ||
		!byText && stamp != *was.basis.stamp(was.place) {
		return nil
	}
	was.own = data
	return was
}

// noteShown records that STATE.md was found to be current. Frequent renderers record it only
// now and then. The caller holds the lock.
func (p *statePage) noteShown() {
	p.dir.mu.Lock()
	defer p.dir.mu.Unlock()
	r := p.rendered
	if r == nil || p.dir.program == "" || len(r.v.stems) < p.dir.worth ||
		time.Since(p.noted) < soon {
		return
	}
	p.noted = time.Now()
	if b := p.basisOf(r.v.stems); b != nil {
		p.writeShown(b, digestOf([]byte(r.text)), r.shape)
	}
}

func (p *statePage) writeShown(b *basis, state digest, at shape) {
	// on failure the next process renders, too
	_ = durable.Overwrite(p.dir.path(shownFile), b.text(p.dir.program, state, at), 0o600)
}

// basisOf returns the basis as read, or nil if too much of it was written just now. The caller
// holds s.mu.
func (p *statePage) basisOf(stems []string) *basis {
	b := &basis{stems: stems, stamps: make([]statcache.Stamp, len(stems)), texts: map[int]digest{}}
	for i, f := range [len(shownSources)]fact{p.backupFact(), p.dir.graph.fact(),
		p.dir.project.fact(), p.dir.config.fact(), p.dir.suite.fact()} {
		if !b.set(i, f) {
			return nil
		}
	}
	for i, c := range p.files.cache.of(stems) {
		if c == nil || !b.set(len(shownSources)+i, c.fact()) {
			return nil
		}
	}
	return b
}

// set records a file as read: by its stamp or, if that isn't trusted yet, by its text.
func (b *basis) set(i int, f fact) bool {
	if *b.stamp(i) = f.stamp; f.sum != nil {
		b.texts[i] = *f.sum
	}
	return f.known && len(b.texts) <= mostTexts
}

// A fact identifies a file as read, without its content.
type fact struct {
	stamp statcache.Stamp
	sum   *digest
	known bool
}

func (c *cached[T]) fact() fact {
	missing := c.stamp == statcache.Stamp{}
	return fact{c.stamp, c.sum, c.err == nil && (c.trusted || c.sum != nil || missing)}
}

// backupFact returns the fact of STATE.md's backup; until the backup is read, its current stamp
// will do.
func (p *statePage) backupFact() fact {
	if p.dir.backup != nil {
		return p.dir.backup.fact()
	}
	now, err := statcache.Stat(p.dir.path(shownSources[0]))
	return fact{now, nil, err == nil || missing(err)}
}
