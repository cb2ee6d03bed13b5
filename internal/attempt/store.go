package attempt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/plan"
)

// A Store is the directory of a project's attempts, .greenlight/runs.
type Store struct {
	dir  string
	mine func(*Record) bool // nil for all
}

const schemaVersion = 1

// outcomes are all there are; a settled record's file name ends in one.
var outcomes = []plan.Outcome{plan.Complete, plan.Advanced, plan.FailedOut, plan.StalledOut,
	plan.WaitingOut, plan.HeldOut, plan.Interrupted, plan.Crashed, plan.Hung}

// OpenStore returns the store in dir, which needn't exist yet.
func OpenStore(dir string) *Store { return &Store{dir: dir} }

// Of is the store as one of several systems of state sees it, which share numbers and slots: two may have an item of the
// same id, and then Index, History and MarkRetried tell of the records that are its own.
func (s *Store) Of(mine func(*Record) bool) *Store { return &Store{dir: s.dir, mine: mine} }

// Dir is the store's directory; hold.json, stop.json and the drain's lock are in it.
func (s *Store) Dir() string { return s.dir }

// LiveDir is the directory whose file events tell of claims and settled attempts.
func (s *Store) LiveDir() string { return filepath.Join(s.dir, "live") }

// LogPath is the file that holds everything the agent of the attempt wrote.
func (s *Store) LogPath(slice string, n int) string {
	return filepath.Join(s.dir, "log", fmt.Sprintf("%s.%d.log", slice, n))
}

// Prepare makes the directories.
func (s *Store) Prepare() error {
	for _, d := range []string{s.LiveDir(), s.doneDir(), filepath.Join(s.dir, "log")} {
		if err := mkdir(d); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the temps of writers that were killed. What can't be removed stays: it is only untidy.
func (s *Store) Sweep(now time.Time) {
	for _, d := range []string{s.dir, s.LiveDir(), s.doneDir()} {
		_ = durable.Sweep(d, now)
	}
}

func mkdir(dir string) error { return os.MkdirAll(dir, 0o755) }

// A BadRecord is a record that can't be read. It is left alone and named.
type BadRecord struct {
	Path string
	Err  error
}

func (e *BadRecord) Error() string { return fmt.Sprintf("attempt record %s: %v", e.Path, e.Err) }

// Live returns the unsettled attempts by name, and what couldn't be read.
func (s *Store) Live() ([]*Record, []*BadRecord, error) {
	entries, err := list(s.LiveDir())
	if err != nil {
		return nil, nil, err
	}
	sort.Slice(entries, func(i, j int) bool {
		a, b := entries[i], entries[j]
		return plan.NaturalLess(a.Slice, b.Slice) || a.Slice == b.Slice && a.N < b.N
	})
	var recs []*Record
	var bad []*BadRecord
	for _, e := range entries {
		path := s.livePath(e.Slice, e.N)
		r, err := s.read(path, e.Slice, e.N)
		switch {
		case errors.Is(err, fs.ErrNotExist): // settled this instant
		case err != nil:
			bad = append(bad, &BadRecord{Path: path, Err: err})
		default:
			recs = append(recs, r)
		}
	}
	return recs, bad, nil
}

// Get returns the record of one attempt, settled or not; fs.ErrNotExist for none. A settled record wins.
func (s *Store) Get(slice string, n int) (*Record, error) {
	for _, o := range outcomes {
		r, err := s.read(s.donePath(slice, n, o), slice, n)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return s.read(s.livePath(slice, n), slice, n)
}

// An Entry is what the name of a record tells: no file needs to be read for it.
type Entry struct {
	Slice   string
	N       int
	Outcome plan.Outcome // "" for an attempt that isn't settled
}

// Index returns the attempts of every slice, oldest first, from two directory reads; where the store is one of several
// systems', the records are read, too. One that can't be read is everybody's.
func (s *Store) Index() (map[string][]Entry, error) {
	all, err := s.names()
	if err != nil || s.mine == nil {
		return all, err
	}
	for id, entries := range all {
		own := slices.DeleteFunc(entries, func(e Entry) bool {
			r, err := s.get(e)
			return err == nil && !s.mine(r)
		})
		if all[id] = own; len(own) == 0 {
			delete(all, id)
		}
	}
	return all, nil
}

// get reads the record of an entry.
func (s *Store) get(e Entry) (*Record, error) {
	if e.Outcome == "" {
		return s.Get(e.Slice, e.N) // settled in the meantime, maybe
	}
	return s.read(s.donePath(e.Slice, e.N, e.Outcome), e.Slice, e.N)
}

func (s *Store) names() (map[string][]Entry, error) {
	all := make(map[string][]Entry)
	for _, dir := range []string{s.doneDir(), s.LiveDir()} {
		entries, err := list(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			leftover := e.Outcome == "" && slices.ContainsFunc(all[e.Slice], func(d Entry) bool { return d.N == e.N })
			if !leftover { // of a settler that was killed before it could remove it
				all[e.Slice] = append(all[e.Slice], e)
			}
		}
	}
	for _, l := range all {
		sort.Slice(l, func(i, j int) bool { return l[i].N < l[j].N })
	}
	return all, nil
}

// Used counts the attempts that were used up: a rate limit uses none.
func Used(entries []Entry) int {
	n := 0
	for _, e := range entries {
		if e.Outcome != plan.HeldOut && e.Outcome != plan.Advanced {
			n++
		}
	}
	return n
}

// History returns all readable records of one slice, oldest first.
func (s *Store) History(slice string) ([]*Record, error) {
	all, err := s.Index()
	if err != nil {
		return nil, err
	}
	var recs []*Record
	for _, e := range all[slice] {
		if r, err := s.Get(e.Slice, e.N); err == nil {
			recs = append(recs, r)
		}
	}
	return recs, nil
}

func (s *Store) doneDir() string { return filepath.Join(s.dir, "done") }

func (s *Store) livePath(slice string, n int) string {
	return filepath.Join(s.LiveDir(), fmt.Sprintf("%s.%d.json", slice, n))
}

func (s *Store) donePath(slice string, n int, o plan.Outcome) string {
	return filepath.Join(s.doneDir(), fmt.Sprintf("%s.%d.%s.json", slice, n, o))
}

func (s *Store) read(path, slice string, n int) (*Record, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	if r.Slice != slice || r.N != n {
		return nil, fmt.Errorf("says it is %s", r.Name())
	}
	if r.SchemaVersion != schemaVersion {
		return nil, fmt.Errorf("schema version %d is none that this gl knows; a newer gl wrote it", r.SchemaVersion)
	}
	return r, nil
}

// putLive writes a record that isn't settled.
func (s *Store) putLive(r *Record) error { return writeJSON(s.livePath(r.Slice, r.N), r) }

// finish makes a judged record a settled one. For an instant there are two files; the settled one wins (sweep).
func (s *Store) finish(r *Record) error {
	r.Phase = plan.Settled
	if err := s.putDone(r); err != nil {
		return err
	}
	return s.dropLive(r)
}

func (s *Store) putDone(r *Record) error {
	return writeJSON(s.donePath(r.Slice, r.N, r.Outcome), r)
}

// MarkRetried notes in the slice's last settled record that somebody has put the slice back since, so that it counts as
// pending and is launched again. A slice without a settled record needs no note.
func (s *Store) MarkRetried(slice string) error {
	all, err := s.Index()
	if err != nil {
		return err
	}
	entries := all[slice]
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		if e.Outcome == "" {
			continue
		}
		r, err := s.get(e)
		if err != nil {
			return &BadRecord{Path: s.donePath(e.Slice, e.N, e.Outcome), Err: err}
		}
		if r.Retried {
			return nil
		}
		r.Retried = true
		return s.putDone(r)
	}
	return nil
}

// dropLive needn't be durable: a record that a power cut brings back is the leftover of a settled one, or the claim of a
// launcher that is dead, and is swept as such.
func (s *Store) dropLive(r *Record) error {
	os.Remove(s.envPath(r))
	if err := os.Remove(s.livePath(r.Slice, r.N)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// IsOpen says whether the attempt of that name ("S-01.3") isn't settled yet.
func (s *Store) IsOpen(name string) bool {
	_, err := os.Stat(filepath.Join(s.LiveDir(), name+".json"))
	return err == nil
}

func (s *Store) envPath(r *Record) string { return filepath.Join(s.dir, "env", r.Name()) }

// PutEnv keeps an environment for the attempt's wrapper, for nobody else's eyes.
func (s *Store) PutEnv(r *Record, env []string) error {
	path := s.envPath(r)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Join(env, "\x00")), 0o600)
}

// TakeEnv returns the environment that was kept, and forgets it.
func (s *Store) TakeEnv(r *Record) ([]string, error) {
	data, err := os.ReadFile(s.envPath(r))
	if err != nil {
		return nil, err
	}
	return strings.Split(string(data), "\x00"), os.Remove(s.envPath(r))
}

// list reads the names in a directory of records, in no order.
func list(dir string) ([]Entry, error) {
	d, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	files, err := d.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // removed after it was opened
		return nil, err
	}
	entries := make([]Entry, 0, len(files))
	for _, f := range files {
		if e, ok := parseName(f); ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// parseName takes ID.N.json or ID.N.OUTCOME.json apart. Ids may hold dots, so it goes from the right.
func parseName(file string) (Entry, bool) {
	base, ok := strings.CutSuffix(file, ".json")
	if !ok {
		return Entry{}, false
	}
	var e Entry
	dot := strings.LastIndexByte(base, '.')
	if dot > 0 && slices.Contains(outcomes, plan.Outcome(base[dot+1:])) {
		e.Outcome = plan.Outcome(base[dot+1:])
		base = base[:dot]
		dot = strings.LastIndexByte(base, '.')
	}
	if dot <= 0 {
		return Entry{}, false
	}
	n, err := strconv.Atoi(base[dot+1:])
	if err != nil || n < 1 {
		return Entry{}, false
	}
	e.Slice, e.N = base[:dot], n
	return e, true
}

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(data, '\n'), 0o644)
}

// readJSON reads a small file of ours into v; false for a missing or unreadable one, which then counts as absent.
func readJSON(path string, v any) bool {
	data, err := os.ReadFile(path)
	return err == nil && json.Unmarshal(data, v) == nil
}
