package attempt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"
)

// A Store reads the attempts of a project, which are in .greenlight/runs, and has the smaller files
// beside their records.
type Store struct {
	Files    Files
	HoldFile HoldFile
	Messages Messages
	Claims   Claims
	Control  Control
	Proofs   Proofs

	mine    func(*Record) bool // nil for all
	diary   diary
	settled *tallies
}

const schemaVersion = 1

// OpenStore returns the store in dir, which needn't exist yet.
func OpenStore(dir string) *Store {
	j := journal.Open(dir)
	return &Store{
		Files: Files{dir}, HoldFile: HoldFile{dir, j}, Messages: Messages{dir, j}, Claims: Claims{dir},
		Control: Control{dir}, Proofs: Proofs{dir}, diary: diary{j}, settled: &tallies{many: followFrom},
	}
}

// Of is the store as one of several systems of state sees it, which share numbers and slots:
// two may have an item of the same id, and then Index, History and MarkRetried tell of the
// records that are its own.
func (s *Store) Of(mine func(*Record) bool) *Store {
	of := *s
	of.mine = mine
	return &of
}

func mkdir(dir string) error { return durable.MkdirPrivate(dir) }

// Live returns the unsettled attempts by name, and what couldn't be read.
func (s *Store) Live() ([]*Record, []*BadRecord, error) {
	entries, err := s.Files.liveEntries()
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
		r, err := s.readLive(e.Slice, e.N)
		var unusable *BadRecord
		switch {
		case errors.Is(err, fs.ErrNotExist): // settled this instant
		case errors.As(err, &unusable):
			bad = append(bad, unusable)
		case err != nil:
			bad = append(bad, &BadRecord{Path: s.Files.livePath(e.Slice, e.N), Keep: true, Err: err})
		default:
			recs = append(recs, r)
		}
	}
	return recs, bad, nil
}

// Get returns the record of one attempt, settled or not; fs.ErrNotExist for none, a *BadRecord
// for one that can't be used. A settled record wins.
func (s *Store) Get(slice string, n int) (*Record, error) {
	for _, o := range outcome.All() {
		e := Entry{slice, n, o}
		if r, err := s.readSettled(e); !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	r, err := s.readLive(slice, n)
	if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	// It has been settled since we looked, or with an outcome that isn't in the table.
	settled, listErr := s.Files.settledEntries()
	if listErr != nil {
		return nil, listErr
	}
	for _, e := range settled {
		if e.Slice == slice && e.N == n {
			return s.readSettled(e)
		}
	}
	return nil, err
}

// An Entry is what the name of a record tells: no file needs to be read for it.
type Entry struct {
	Slice   string
	N       int
	Outcome outcome.Outcome // "" for an attempt that isn't settled; one that isn't Known is in a record that can't be used
}

// Index returns the attempts of every slice, oldest first, from two directory reads; where the
// store is one of several systems', the records are read, too. One that can't be read is
// everybody's.
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

// Settled returns the record of an attempt whose outcome is known; the errors are Get's.
func (s *Store) Settled(e Entry) (*Record, error) { return s.readSettled(e) }

// get reads the record of an entry.
func (s *Store) get(e Entry) (*Record, error) {
	if e.Outcome == "" {
		return s.Get(e.Slice, e.N) // settled in the meantime, maybe
	}
	return s.readSettled(e)
}

func (s *Store) names() (map[string][]Entry, error) {
	settled, err := s.Files.settledEntries()
	if err != nil {
		return nil, err
	}
	live, err := s.Files.liveEntries()
	if err != nil {
		return nil, err
	}
	all := make(map[string][]Entry)
	for _, e := range settled {
		all[e.Slice] = append(all[e.Slice], e)
	}
	for _, e := range live {
		leftover := slices.ContainsFunc(all[e.Slice], func(d Entry) bool { return d.N == e.N })
		if !leftover { // of a settler that was killed before it could remove it
			all[e.Slice] = append(all[e.Slice], e)
		}
	}
	for _, l := range all {
		sort.Slice(l, func(i, j int) bool { return l[i].N < l[j].N })
	}
	return all, nil
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

// doneName is the name of the file of a settled one.
func (e Entry) doneName() string { return fmt.Sprintf("%s.%d.%s.json", e.Slice, e.N, e.Outcome) }

func (s *Store) readLive(slice string, n int) (*Record, error) {
	return s.read(s.Files.livePath(slice, n), Entry{Slice: slice, N: n})
}

func (s *Store) readSettled(e Entry) (*Record, error) {
	return s.read(s.Files.donePath(e.Slice, e.N, e.Outcome), e)
}

// read reads the record that the file's name promises. What is wrong in it is a *BadRecord.
func (s *Store) read(path string, e Entry) (*Record, error) {
	r := new(Record)
	doc := r.document()
	check := func() error {
		r.take(doc)
		return r.check(e)
	}
	if err := readChecked(path, doc, check); err != nil {
		var bad *BadRecord
		if errors.As(err, &bad) {
			bad.Settled = e.Outcome != ""
		}
		return nil, err
	}
	r.Life.Log = s.Files.Log(r.ID.Slice, r.ID.N)
	return r, nil
}

// IsOpen reports whether the attempt of that name ("S-01.3") isn't settled yet.
func (s *Store) IsOpen(name string) bool {
	_, err := os.Stat(filepath.Join(s.Files.LiveDir(), name+".json"))
	return err == nil
}

func (f Files) liveEntries() ([]Entry, error)    { return list(f.LiveDir(), parseLive) }
func (f Files) settledEntries() ([]Entry, error) { return list(f.doneDir(), parseSettled) }

// list reads the names in a directory of records, in no order.
func list(dir string, parse func(file string) (Entry, bool)) ([]Entry, error) {
	d, err := durable.OpenDir(dir)
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
		if e, ok := parse(f); ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// OfFile returns the attempt whose record or log a file of .greenlight/runs is, such as
// log/S-01.3.log.
func OfFile(file string) (Entry, bool) {
	dir, name := path.Split(file)
	switch dir {
	case "live/":
		return parseLive(name)
	case "done/":
		return parseSettled(name)
	case "log/":
		base, isLog := strings.CutSuffix(name, ".log")
		e, ok := parseLive(base + ".json")
		return e, ok && isLog
	}
	return Entry{}, false
}

// parseLive takes ID.N.json apart. Ids may hold dots, so it goes from the right.
func parseLive(file string) (Entry, bool) {
	base, isJSON := strings.CutSuffix(file, ".json")
	id, number, ok := cutLast(base)
	n, err := strconv.Atoi(number)
	if !isJSON || !ok || err != nil || n < 1 || n > mostAttempts {
		return Entry{}, false
	}
	return Entry{Slice: id, N: n}, true
}

// parseSettled takes ID.N.OUTCOME.json apart. The outcome may be one that another version of gl
// knows: its attempt has a number all the same.
func parseSettled(file string) (Entry, bool) {
	base, isJSON := strings.CutSuffix(file, ".json")
	name, ended, ok := cutLast(base)
	if !isJSON || !ok || ended == "" {
		return Entry{}, false
	}
	e, ok := parseLive(name + ".json")
	e.Outcome = outcome.Outcome(ended)
	return e, ok
}

// cutLast cuts at the last dot that isn't the first character.
func cutLast(s string) (before, after string, ok bool) {
	dot := strings.LastIndexByte(s, '.')
	if dot <= 0 {
		return "", "", false
	}
	return s[:dot], s[dot+1:], true
}

// readJSON reads a small file of ours into v; false for a missing or unreadable one, which then
// counts as absent.
func readJSON(path string, v any) bool {
	return durable.ReadJSON(path, v) == nil
}
