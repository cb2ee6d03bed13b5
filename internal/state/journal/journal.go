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

	"greenlight/internal/base/durable"
)

const (
	name     = "journal.jsonl"
	maxSize  = 8 << 20
	keep     = 4 // number of rotated files
	maxQueue = 1000
	lockWait = 250 * time.Millisecond
)

// A Journal is the events of one project. It is safe for concurrent use.
type Journal struct {
	dir  string
	size int64 // size at which the file is rotated

	mu      sync.Mutex
	queue   []entry // events that couldn't be written yet
	written int     // number of events written by this process
	trouble error   // first error since Trouble was last called
}

// An entry is an event to write.
type entry struct {
	Event
	once bool      // skip it if the journal has its key
	from time.Time // lower bound of the event's time; zero if unknown
}

// Open returns the journal in dir, .greenlight/runs, which needn't exist yet.
func Open(dir string) *Journal { return &Journal{dir: dir, size: maxSize} }

// Path returns the file that events are appended to.
func (j *Journal) Path() string { return filepath.Join(j.dir, name) }

func (j *Journal) old(n int) string { return filepath.Join(j.dir, "journal."+strconv.Itoa(n)+".jsonl") }

// Append writes the events in one call. An event without a time gets the current one. Events
// that can't be written now go with this process's next append, so the error is only
// informational; Trouble returns it, too.
func (j *Journal) Append(events ...Event) error { return j.append(events, false, time.Time{}) }

// AppendOnce is Append for events that may have been written before: it omits those whose Key
// the journal has. It reads the journal from the time of the oldest event, so use it for rare
// events.
func (j *Journal) AppendOnce(events ...Event) error { return j.append(events, true, time.Time{}) }

// AppendOnceSince is AppendOnce for events whose own time doesn't bound when they may have been
// written: not before since.
func (j *Journal) AppendOnceSince(since time.Time, events ...Event) error {
	return j.append(events, true, since)
}

// Claim writes an event unless the journal has its key, and reports whether it did: exactly one
// of several processes that claim the same key succeeds. The event can't have been written
// before since. After an error the result is unknown.
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

// Trouble retries failed writes and returns the first error since the last call.
func (j *Journal) Trouble() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.flush()
	err := j.trouble
	j.trouble = nil
	return err
}

// flush writes the queue and keeps the events that couldn't be written.
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
	// a writer was killed in the middle of a line, or the disk was full
	if size > 0 && !ended(f, size) {
		text.WriteByte('\n')
	}
	ends, sync := make([]int, len(j.queue)), false
	for i, e := range j.queue {
		// an event with a cost that isn't a number is dropped
		if line, err := e.Line(); err == nil {
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

// open opens the file with its lock, and rotates it if it is full. It opens the file even if
// the lock isn't available.
func (j *Journal) open() (f *os.File, size int64, err error) {
	deadline := time.Now().Add(lockWait)
	for {
		f, err = durable.OpenReadAppend(j.Path(), 0o600)
		// nothing has run here yet, or the directory was cleaned
		if errors.Is(err, fs.ErrNotExist) {
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
		// rotated or removed before we had the lock
		moved := err != nil || !os.SameFile(info, there)
		if late || !moved && (!locked || info.Size() < j.size || j.rotate() != nil) {
			return f, info.Size(), nil
		}
		f.Close()
	}
}

// claim takes the lock on the open file, or gives up if its holder is stopped, or is reading a
// long journal.
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

// ended reports whether the file ends with a whole line.
func ended(f *os.File, size int64) bool {
	var last [1]byte
	n, err := f.ReadAt(last[:], size-1)
	return n == 1 && last[0] == '\n' || n == 0 && err == io.EOF
}

// rotate renames the file to the newest of the old ones. A killed rotation leaves a gap: then
// only the files before the gap move up, and none is lost. The caller holds the lock.
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

// missing returns the entries that aren't in the journal yet.
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
		have[key] = true // the queue may contain it twice
	}
	return missing, nil
}

// find returns which of the keys belong to events written since a time.
func (j *Journal) find(keys map[string]bool, since time.Time) (map[string]bool, error) {
	found := make(map[string]bool)
	r := j.Reader(since)
	defer r.Close()
	r.wants = func(line []byte) bool { // avoids decoding most lines
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
