package slice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/state/tracker"
)

const (
	ownSlices    = 16 // one writer each
	sharedSlices = 2  // two writers each
)

// child prepares this test binary to run as another process.
func child(t *testing.T, name, root string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "GREENLIGHT_TEST_CHILD="+name, "GREENLIGHT_TEST_ROOT="+root, "GOMAXPROCS=2")
	return cmd
}

// writerChild updates one slice repeatedly; its arguments are its name, the slice and the
// number of updates. It records each successful update in the writer's ledger.
func writerChild(root string) error {
	name, id := os.Args[1], os.Args[2]
	quota, err := strconv.Atoi(os.Args[3])
	if err != nil {
		return err
	}
	ledger, err := os.OpenFile(filepath.Join(root, "ledger-"+id), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	s := Open(root)
	for n := 0; n < quota; {
		note := fmt.Sprintf("%s.%d", name, n)
		err := s.Edit(context.Background(), id, func(f *File) error { return tally(f, note) })
		var corrupt *CorruptError
		switch {
		case err == nil:
			n++
			if _, err := ledger.WriteString(note + "\n"); err != nil {
				return err
			}
		case errors.Is(err, tracker.ErrChanged), errors.Is(err, durable.ErrChanged), errors.As(err, &corrupt):
			// A reported conflict doesn't count: another writer had no lock.
		default:
			return err
		}
	}
	return nil
}

// tally is one update: it increments a number and adds a note.
func tally(f *File, note string) error {
	old, _ := f.Get("counter")
	n, _ := strconv.Atoi(old)
	return errors.Join(f.Set("counter", strconv.Itoa(n+1)), f.AppendToSection("Notes", note))
}

// A torture is one run of writers, editors and a killer.
type torture struct {
	t     *testing.T
	root  string
	stop  chan struct{}
	kills atomic.Int64

	mu          sync.Mutex
	live        map[*exec.Cmd]bool
	overwritten map[string]string // by note: the editor that overwrote it with an old copy
}

func TestTorture(t *testing.T) {
	total := 200
	if testfiles.Long() {
		total = 2000
	}
	files := map[string]string{"slices/": ""}
	for i := range ownSlices + sharedSlices {
		id := fmt.Sprintf("S-%d", i+1)
		files["slices/"+id+".md"] = sliceText(id, "pending", "counter: 0\n") + "\n## Notes\n"
	}
	to := &torture{t: t, root: project(t, files), stop: make(chan struct{}), live: map[*exec.Cmd]bool{}, overwritten: map[string]string{}}
	var writers, others sync.WaitGroup
	for w := range ownSlices + 2*sharedSlices {
		id := fmt.Sprintf("S-%d", 1+w)
		if w >= ownSlices {
			id = fmt.Sprintf("S-%d", 1+ownSlices+w%sharedSlices)
		}
		writers.Add(1)
		go func() {
			defer writers.Done()
			to.write(w, id, total/(ownSlices+2*sharedSlices))
		}()
	}
	for _, other := range []func(){to.editInPlace, to.editByRename, func() { to.kill(total / 10) }, to.watchView, to.watchSlices} {
		others.Add(1)
		go func() {
			defer others.Done()
			other()
		}()
	}
	writers.Wait()
	close(to.stop)
	others.Wait()
	to.judge(total)
}

// write keeps one writer at work, in a new process after each kill, until its ledger is long
// enough.
func (to *torture) write(w int, id string, quota int) {
	for life := 0; ; life++ {
		prefix := fmt.Sprintf("w%d.", w)
		left := quota - len(to.ledger(id, prefix))
		if left <= 0 {
			return
		}
		var out bytes.Buffer
		cmd := child(to.t, "writer", to.root, fmt.Sprintf("%s%d", prefix, life), id, strconv.Itoa(left))
		cmd.Stderr = &out
		if err := cmd.Start(); err != nil {
			to.t.Error(err)
			return
		}
		to.mu.Lock()
		to.live[cmd] = true
		to.mu.Unlock()
		err := cmd.Wait()
		to.mu.Lock()
		delete(to.live, cmd)
		to.mu.Unlock()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == -1) {
			to.t.Errorf("writer %d: %v: %s", w, err, out.String())
			return
		}
	}
}

// ledger returns the updates of a slice reported as done whose note begins with prefix.
func (to *torture) ledger(id, prefix string) []string {
	data, _ := os.ReadFile(filepath.Join(to.root, "ledger-"+id))
	var notes []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, prefix) && strings.HasSuffix(line, "\n") {
			notes = append(notes, strings.TrimSuffix(line, "\n"))
		}
	}
	return notes
}

// pause waits up to ms milliseconds; it returns false when the torture is over.
func (to *torture) pause(ms int) bool {
	select {
	case <-to.stop:
		return false
	case <-time.After(time.Duration(rand.IntN(1000*ms)) * time.Microsecond):
		return true
	}
}

// kill kills writers at random moments, up to a limit: otherwise slow machines would never
// finish.
func (to *torture) kill(limit int) {
	for int(to.kills.Load()) < limit && to.pause(60) {
		to.mu.Lock()
		for cmd := range to.live { // in random order
			if cmd.Process.Kill() == nil {
				to.kills.Add(1)
			}
			break
		}
		to.mu.Unlock()
	}
}

// watchView checks continuously that STATE.md is whole.
func (to *torture) watchView() {
	for to.pause(3) {
		data, err := os.ReadFile(filepath.Join(to.root, ".greenlight/STATE.md"))
		if err == nil && !(strings.HasPrefix(string(data), header) && strings.HasSuffix(string(data), "Resume file: None\n")) {
			to.t.Errorf("a torn STATE.md: %q", data)
			return
		}
	}
}

// watchSlices checks continuously that the slice files no editor writes in place are whole.
func (to *torture) watchSlices() {
	for to.pause(3) {
		id := fmt.Sprintf("S-%d", 7+rand.IntN(ownSlices-6))
		f, err := Open(to.root).Read(id)
		if err != nil {
			to.t.Errorf("a torn slice file: %v", err)
			return
		}
		if n, notes := count(value0(f, "counter")), len(notesOf(string(f.Bytes()))); n != notes {
			to.t.Errorf("%s: counter %d beside %d notes", id, n, notes)
			return
		}
	}
}

func value0(f *File, key string) string {
	v, _ := f.Get(key)
	return v
}

// notesOf returns the writers' notes in a slice file.
func notesOf(text string) []string {
	var notes []string
	for line := range strings.Lines(text) {
		if note, ok := strings.CutPrefix(strings.TrimSpace(line), "- w"); ok {
			notes = append(notes, "w"+note)
		}
	}
	return notes
}

// record remembers what an editor overwrote: notes missing from its own copy. With all, the
// file may have been replaced during the write, so all its notes are at risk.
func (to *torture) record(editor, over, saved string, all bool) {
	have := notesOf(saved)
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, note := range notesOf(over) {
		if all || !slices.Contains(have, note) {
			to.overwritten[note] = editor
		}
	}
}

// editInPlace acts like an editor that truncates the file and writes what it read a while ago.
func (to *torture) editInPlace() {
	ids := []string{"S-1", "S-2", "S-3", "S-4", "S-5", "S-6", "S-17"}
	for to.pause(30) {
		path := filepath.Join(to.root, ".greenlight/slices", ids[rand.IntN(len(ids))]+".md")
		buffer, err := os.ReadFile(path)
		if err != nil || !to.pause(20) {
			continue
		}
		if err := to.saveInPlace(path, edit(buffer)); err != nil {
			to.t.Error(err)
			return
		}
	}
}

func (to *torture) saveInPlace(path, text string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	over, err := io.ReadAll(f) // of this very file, even if the name now refers to another
	if err != nil {
		return err
	}
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		return err
	}
	now, err := os.Stat(path)
	to.record("the editor that writes in place", string(over), text, err != nil || !os.SameFile(mine, now))
	return nil
}

// edit acts like a person editing a slice file: it adds a line in a place of its own.
func edit(buffer []byte) string {
	return strings.Replace(string(buffer), "\n\n# S-", "\n\n<!-- x -->\n# S-", 1)
}

// editByRename acts like an editor that writes a new file and renames it over the old one.
func (to *torture) editByRename() {
	ids := []string{"S-5", "S-6", "S-7", "S-8", "S-9", "S-10", "S-18"}
	for to.pause(30) {
		id := ids[rand.IntN(len(ids))]
		path := filepath.Join(to.root, ".greenlight/slices", id+".md")
		buffer, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(buffer), "---") || !to.pause(20) {
			continue
		}
		text := edit(buffer)
		over, err := saveByRename(path, text)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if err != nil {
			to.t.Error(err)
			return
		}
		to.record("the editor that renames", over, text, false)
	}
}

// judge checks the final state.
func (to *torture) judge(total int) {
	t := to.t
	fresh := Open(to.root)
	if err := fresh.Edit(t.Context(), "S-1", func(f *File) error { return f.Set("status", "complete") }); err != nil {
		t.Fatal(err)
	}
	reported, there, lost := 0, 0, 0
	for i := range ownSlices + sharedSlices {
		id := fmt.Sprintf("S-%d", i+1)
		f, err := fresh.Read(id)
		if err != nil {
			t.Errorf("torn: %v", err)
			continue
		}
		have := notesOf(string(f.Bytes()))
		there += len(have)
		if sorted := slices.Compact(slices.Sorted(slices.Values(have))); len(sorted) != len(have) {
			t.Errorf("%s has a note twice", id)
		}
		ledger := to.ledger(id, "")
		reported += len(ledger)
		for _, note := range ledger {
			if slices.Contains(have, note) {
				continue
			}
			lost++
			if to.overwritten[note] == "" {
				t.Errorf("%s: the update %s was reported as done, is missing, and no editor wrote over it", id, note)
			}
		}
		if n := count(value0(f, "counter")); i >= 10 && i < ownSlices && (n != len(have) || len(have) < len(ledger)) {
			t.Errorf("%s, which no editor touched: counter %d, %d notes, %d reported", id, n, len(have), len(ledger))
		}
	}
	if extra := there + lost - reported; reported < total || extra > int(to.kills.Load()) {
		t.Errorf("%d updates reported, %d there but not reported after %d kills", reported, extra, to.kills.Load())
	}
	t.Logf("%d updates, %d kills, %d updates that an editor saved an old copy over: all named", reported, to.kills.Load(), lost)
	last := get(t, to.root, "STATE.md")
	if err := os.Remove(filepath.Join(to.root, ".greenlight/STATE.md")); err != nil {
		t.Fatal(err)
	}
	if refreshed(t, to.root) != last {
		t.Error("STATE.md was no fresh render")
	}
	for name := range tree(t, to.root) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s is left over", name)
		}
	}
}
