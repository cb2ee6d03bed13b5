package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"greenlight/internal/durable"
)

const (
	name     = "journal.jsonl"
	maxSize  = 8 << 20
	keep     = 4 // rotated files
	maxQueue = 1000
	lockWait = 250 * time.Millisecond
)

// A Journal is the events of one project. Its methods may be called from several goroutines.
type Journal struct {
	dir  string
	size int64 // at which the file is rotated

	mu      sync.Mutex
	queue   []entry // what couldn't be written yet
	written int     // events, by this process
	trouble error   // since it was asked for
}

// An entry is an event that is to be written.
type entry struct {
	Event
	once bool      // unless the journal has its key
	from time.Time // the event isn't older; zero for unknown
}

// Open returns the journal in dir, .greenlight/runs, which needn't exist yet.
func Open(dir string) *Journal { return &Journal{dir: dir, size: maxSize} }

// Path is the file that events are appended to.
func (j *Journal) Path() string { return filepath.Join(j.dir, name) }

func (j *Journal) old(n int) string { return filepath.Join(j.dir, "journal."+strconv.Itoa(n)+".jsonl") }

// Append writes the events in one go. An event without a time gets the current one. What can't be written now goes in with
// the next append of this process, so the error is only for telling; Trouble tells it, too.
func (j *Journal) Append(events ...Event) error { return j.append(events, false, time.Time{}) }

// AppendOnce is Append for events that may have been written before: it leaves out those whose Key the journal has. It reads
// the journal for that, from the time of the oldest event on, so it is for what is rare.
func (j *Journal) AppendOnce(events ...Event) error { return j.append(events, true, time.Time{}) }

// AppendOnceSince is AppendOnce for events whose own time says nothing about when they may have been written: not before since.
func (j *Journal) AppendOnceSince(since time.Time, events ...Event) error {
	return j.append(events, true, since)
}

// Claim writes an event unless the journal has its key, and says whether it did: of several processes that claim the same, one does.
// since is the time before which nobody can have written it. On an error nothing is known.
func (j *Journal) Claim(since time.Time, e Event) (mine bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.flush(); err != nil {
		return false, err
	}
	e.Time = time.Now()
	j.queue = []entry{{e, true, since.Add(-slack)}}
	n := j.written
	err = j.flush()
	j.queue = nil
	return j.written > n, err
}

func (j *Journal) append(events []Event, once bool, since time.Time) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range events {
		from := e.Time
		if from.IsZero() {
			e.Time, from = time.Now(), since
		}
		if !from.IsZero() {
			from = from.Add(-slack)
		}
		j.queue = append(j.queue, entry{e, once && e.Key != "", from})
	}
	err := j.flush()
	if err != nil && j.trouble == nil {
		j.trouble = err
	}
	return err
}

// Trouble tries again to write what couldn't be written, and returns the first error since it was called last.
func (j *Journal) Trouble() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.flush()
	err := j.trouble
	j.trouble = nil
	return err
}

// flush writes the queue, and keeps what couldn't be written.
func (j *Journal) flush() error {
	if len(j.queue) == 0 {
		return nil
	}
	err := j.write()
	j.queue = j.queue[max(0, len(j.queue)-maxQueue):]
	return err
}

func (j *Journal) write() error {
	f, size, err := j.open()
	if err != nil {
		return err
	}
	defer f.Close()
	if j.queue, err = j.missing(j.queue); err != nil || len(j.queue) == 0 {
		return err
	}
	var text bytes.Buffer
	if size > 0 && !ended(f, size) { // somebody was killed in the middle of a line, or the disk was full
		text.WriteByte('\n')
	}
	ends, sync := make([]int, len(j.queue)), false
	for i, e := range j.queue {
		if line, err := e.Line(); err == nil { // a cost that isn't a number is no event
			text.Write(line)
			text.WriteByte('\n')
		}
		ends[i] = text.Len()
		sync = sync || e.Kind.durable()
	}
	n, err := f.Write(text.Bytes())
	for len(ends) > 0 && ends[0] <= n {
		j.queue, ends = j.queue[1:], ends[1:]
		j.written++
	}
	if err != nil || !sync {
		return err
	}
	durable.Unclaim(f) // others needn't wait for the disk
	return f.Sync()
}

// open opens the file with its lock, and rotates it where it is full. Where the lock can't be had the file is open all the
// same.
func (j *Journal) open() (f *os.File, size int64, err error) {
	deadline := time.Now().Add(lockWait)
	for {
		f, err = durable.OpenReadAppend(j.Path(), 0o600)
		if errors.Is(err, fs.ErrNotExist) { // nothing has been run here yet, or somebody has cleaned the directory
			if err = durable.MkdirPrivate(j.dir); err == nil {
				f, err = durable.OpenReadAppend(j.Path(), 0o600)
			}
		}
		if err != nil {
			return nil, 0, err
		}
		locked := claim(f, deadline)
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, 0, err
		}
		late := !time.Now().Before(deadline)
		there, err := durable.Stat(j.Path())
		moved := err != nil || !os.SameFile(info, there) // rotated, or removed, before we had the lock
		if late || !moved && (!locked || info.Size() < j.size || j.rotate() != nil) {
			return f, info.Size(), nil
		}
		f.Close()
	}
}

// claim takes the lock on the open file, or gives up: its holder is stopped, or reads a long journal.
func claim(f *os.File, deadline time.Time) bool {
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		err := durable.Claim(f)
		if err == nil {
			return true
		}
		if !errors.Is(err, durable.ErrLocked) || time.Now().Add(pause).After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}

// ended says whether what is in the file is whole lines.
func ended(f *os.File, size int64) bool {
	var last [1]byte
	n, err := f.ReadAt(last[:], size-1)
	return n == 1 && last[0] == '\n' || n == 0 && err == io.EOF
}

// rotate makes the file the newest of the old ones. A rotation that was killed has left a gap: then the files above it move
// up, and none is lost for it. The lock must be held.
func (j *Journal) rotate() error {
	free := 1
	for free < keep && exists(j.old(free)) {
		free++
	}
	for n := free; n > 1; n-- {
		if err := durable.Rename(j.old(n-1), j.old(n)); err != nil {
			return err
		}
	}
	return durable.Rename(j.Path(), j.old(1))
}

func exists(path string) bool {
	_, err := durable.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// missing are the entries that aren't in the journal yet.
func (j *Journal) missing(queue []entry) ([]entry, error) {
	search := make(map[string]bool)
	var from time.Time
	for _, e := range queue {
		if !e.once {
			continue
		}
		if len(search) == 0 || e.from.Before(from) {
			from = e.from
		}
		search[clip(e.Key)] = true
	}
	if len(search) == 0 {
		return queue, nil
	}
	have, err := j.find(search, from)
	if err != nil {
		return queue, err
	}
	var missing []entry
	for _, e := range queue {
		key := clip(e.Key)
		if !e.once || !have[key] {
			missing = append(missing, e)
		}
		have[key] = true // it may be in the queue twice
	}
	return missing, nil
}

// find returns which of the keys are those of events that were written since a time.
func (j *Journal) find(keys map[string]bool, since time.Time) (map[string]bool, error) {
	found := make(map[string]bool)
	r := j.Reader(since)
	defer r.Close()
	r.wants = func(line []byte) bool { // most lines needn't be decoded
		_, rest, ok := bytes.Cut(line, []byte(`"key":"`))
		key, _, ended := bytes.Cut(rest, []byte{'"'})
		return ok && ended && (keys[string(key)] || bytes.IndexByte(key, '\\') >= 0)
	}
	for e, err := range r.All() {
		if err != nil {
			return nil, err
		}
		if keys[e.Key] {
			found[e.Key] = true
		}
	}
	return found, nil
}
