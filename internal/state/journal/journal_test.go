package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"greenlight/internal/base/durable"
)

func open(t testing.TB) *Journal {
	t.Helper()
	return Open(filepath.Join(t.TempDir(), ".greenlight", "runs"))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns all events, and how many lines weren't events.
func read(t testing.TB, j *Journal) (events []Event, skipped int) {
	t.Helper()
	r := j.Reader(time.Time{})
	defer r.Close()
	for e, err := range r.All() {
		check(t, err)
		events = append(events, e)
	}
	return events, r.Skipped()
}

// keysOf returns the keys of the events, in order.
func keysOf(events []Event) []string {
	keys := []string{}
	for _, e := range events {
		keys = append(keys, e.Key)
	}
	return keys
}

func TestAppendAndRead(t *testing.T) {
	j := open(t)
	at := time.Date(2026, 3, 1, 23, 59, 59, 120e6, time.FixedZone("", 3600))
	check(t, j.Append(Event{Time: at, Kind: Claimed, Slice: "S-1", Attempt: 2, Key: "k"}, Event{Kind: Step, Slice: "S-1", Status: "tests"}))
	data, err := os.ReadFile(j.Path())
	check(t, err)
	first, _, _ := strings.Cut(string(data), "\n")
	if want := `{"schema_version":1,"time":"2026-03-01T22:59:59.120Z","kind":"claimed","key":"k","slice":"S-1","attempt":2}`; first != want {
		t.Errorf("line\n%s\nwant\n%s", first, want)
	}
	events, skipped := read(t, j)
	if len(events) != 2 || skipped != 0 || !events[0].Time.Equal(at) || time.Since(events[1].Time) > time.Hour {
		t.Errorf("%+v, %d skipped", events, skipped)
	}
	info, err := os.Stat(j.Path())
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	var since []Event
	for e, err := range j.Events(at.Add(time.Millisecond)) {
		check(t, err)
		since = append(since, e)
	}
	if len(since) != 1 || since[0].Kind != Step {
		t.Errorf("since: %+v", since)
	}
}

// A reader accepts the longest possible event.
func TestLinesAreBounded(t *testing.T) {
	long := strings.Repeat("\x01", 5000)
	e := Event{Time: time.Now(), Kind: Rejected, Key: long, System: long, Slice: long, Agent: long, Runner: long, Status: long, Step: long, From: long,
		Outcome: long, Detail: long, Branch: long, Commit: long, Target: long, Tree: long, Command: long, Reason: long, By: long, Setting: long, Value: long}
	line, err := e.Line()
	check(t, err)
	if len(line) >= longestLine {
		t.Errorf("%d bytes", len(line))
	}
	j := open(t)
	check(t, j.Append(e))
	check(t, j.AppendOnce(e))
	if events, skipped := read(t, j); len(events) != 1 || skipped != 0 {
		t.Errorf("%d events, %d skipped", len(events), skipped)
	}
}

func TestClipKeepsRunesWhole(t *testing.T) {
	if got := clip(strings.Repeat("a", longestText-1) + "ä"); got != strings.Repeat("a", longestText-1)+"…" {
		t.Errorf("…%q", got[longestText-3:])
	}
}

func TestAppendOnce(t *testing.T) {
	j := open(t)
	j.size = 500 // several files
	at := time.Now()
	for i := range 40 {
		check(t, j.Append(Event{Time: at, Kind: Claimed, Key: fmt.Sprint("k", i)}))
	}
	have, _ := read(t, j)
	oldest, _ := strconv.Atoi(strings.TrimPrefix(have[0].Key, "k"))
	if oldest == 0 || oldest > 30 {
		t.Fatalf("the oldest one that is kept is %d", oldest)
	}
	for i := oldest; i < 45; i++ {
		e := Event{Time: at, Kind: Claimed, Key: fmt.Sprint("k", i)}
		if i%2 == 0 {
			e.Time = time.Time{}
		}
		j.size = maxSize // otherwise the additions would drive out the oldest
		check(t, j.AppendOnce(e, e))
	}
	// An event without a key can't be recognized.
	check(t, j.AppendOnce(Event{Kind: Step}))
	check(t, j.AppendOnce(Event{Kind: Step}))
	events, _ := read(t, j)
	want := []string{}
	for i := oldest; i < 45; i++ {
		want = append(want, fmt.Sprint("k", i))
	}
	if got := keysOf(events); !slices.Equal(got, append(want, "", "")) {
		t.Errorf("%q", got)
	}
}

// Events that couldn't be written go with the next append, and the error is reported once.
func TestFailedAppend(t *testing.T) {
	j := open(t)
	check(t, os.MkdirAll(j.Path(), 0o700)) // a directory in place of the file
	if err := j.Append(Event{Kind: Claimed, Key: "a"}); err == nil {
		t.Fatal("written to a directory")
	}
	if j.Append(Event{Kind: Launched, Key: "b"}) == nil || j.Trouble() == nil || j.Trouble() != nil {
		t.Error("the error isn't told once")
	}
	check(t, os.Remove(j.Path()))
	check(t, j.Append(Event{Kind: Ended, Key: "c"}))
	if events, _ := read(t, j); !slices.Equal(keysOf(events), []string{"a", "b", "c"}) {
		t.Errorf("%q", keysOf(events))
	}
	check(t, os.Remove(j.Path()))
	check(t, os.MkdirAll(j.Path(), 0o700))
	for range 3 * maxQueue {
		_ = j.Append(Event{Kind: Claimed})
	}
	if len(j.queue) != maxQueue {
		t.Errorf("%d events wait", len(j.queue))
	}
}

// If the disk fills up in the middle of a line, the remaining events are written once when
// there is room again.
func TestFullDisk(t *testing.T) {
	if os.Getenv("JOURNAL_DIR") == "" {
		j := open(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "JOURNAL_DIR="+j.dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		check(t, j.Append(Event{Kind: Claimed, Key: "last"}))
		events, skipped := read(t, j)
		var want []string
		for i := range 30 {
			want = append(want, fmt.Sprint("k", i))
		}
		if got := keysOf(events); !slices.Equal(got, append(want, "last")) || skipped > 1 {
			t.Errorf("%d skipped, %q", skipped, got)
		}
		return
	}
	j := Open(os.Getenv("JOURNAL_DIR"))
	var old syscall.Rlimit
	check(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1000, Max: old.Max}))
	failed := 0
	for i := 0; i < 30; i += 3 {
		var batch []Event
		for k := i; k < i+3; k++ {
			batch = append(batch, Event{Kind: Claimed, Key: fmt.Sprint("k", k)})
		}
		if j.Append(batch...) != nil {
			failed++
		}
	}
	if failed == 0 {
		t.Error("no append failed")
	}
	check(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: old.Cur, Max: old.Max}))
	if j.Trouble() == nil || len(j.queue) != 0 {
		t.Errorf("%d events wait still", len(j.queue))
	}
}

func TestLinksAreRefused(t *testing.T) {
	j := open(t)
	check(t, os.MkdirAll(j.dir, 0o700))
	target := filepath.Join(t.TempDir(), "target")
	check(t, os.WriteFile(target, []byte("mine\n"), 0o644))
	check(t, os.Symlink(target, j.Path()))
	var link *durable.LinkError
	if err := j.Append(Event{Kind: Claimed}); !errors.As(err, &link) {
		t.Errorf("append: %v", err)
	}
	for _, err := range j.Events(time.Time{}) {
		if !errors.As(err, &link) {
			t.Errorf("read: %v", err)
		}
	}
	if data, _ := os.ReadFile(target); string(data) != "mine\n" {
		t.Errorf("the link's target is %q", data)
	}
}

// For any content of the files, reading returns their events, in order, and counts the rest.
func TestReadSkipsWhatIsNoEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		j := Open(dir)
		good, err := Event{Time: time.Unix(1e9, 0), Kind: Step, Key: "x"}.Line()
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		var want []string
		bad := 0
		for i := range rapid.IntRange(0, 20).Draw(t, "lines") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				cut := rapid.IntRange(1, len(good)-1).Draw(t, "cut")
				text.Write(good[:cut])
				bad++
			case 1:
				text.WriteString(strings.Repeat("x", longestLine+rapid.IntRange(-2, 200_000).Draw(t, "more")))
				bad++
			case 2: // an empty line doesn't count
			default:
				key := fmt.Sprint("k", i)
				text.WriteString(strings.Replace(string(good), `"x"`, `"`+key+`"`, 1))
				want = append(want, key)
			}
			text.WriteByte('\n')
		}
		if err := os.WriteFile(j.Path(), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		r := j.Reader(time.Time{})
		defer r.Close()
		var got []string
		for e, err := range r.All() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Key)
		}
		if !slices.Equal(got, want) || r.Skipped() != bad {
			t.Fatalf("%q, want %q; %d skipped, want %d", got, want, r.Skipped(), bad)
		}
	})
}

// The next writer ends a torn line, which costs no other event.
func TestTornLine(t *testing.T) {
	j := open(t)
	check(t, j.Append(Event{Kind: Claimed, Key: "a"}))
	whole, err := os.ReadFile(j.Path())
	check(t, err)
	for cut := range len(whole) {
		check(t, os.WriteFile(j.Path(), append(slices.Clone(whole), whole[:cut]...), 0o600))
		// another process may be writing it
		if events, skipped := read(t, j); len(events) != 1 || skipped != 0 {
			t.Fatalf("cut %d: %d events, %d skipped", cut, len(events), skipped)
		}
		check(t, j.AppendOnce(Event{Kind: Launched, Key: "b"}))
		events, skipped := read(t, j)
		want := []string{"a", "b"}
		if cut == len(whole)-1 { // only its end was missing
			want = []string{"a", "a", "b"}
		}
		if torn := cut > 0 && cut < len(whole)-1; !slices.Equal(keysOf(events), want) || (skipped == 1) != torn {
			t.Fatalf("cut %d: %q, %d skipped", cut, keysOf(events), skipped)
		}
	}
}

// Rotation keeps the order and loses nothing but the oldest file; a killed one leaves a gap,
// which the next one fills.
func TestRotation(t *testing.T) {
	j := open(t)
	j.size = 500
	for i := range 100 {
		check(t, j.Append(Event{Kind: Claimed, Key: fmt.Sprint(i)}))
		if i == 30 { // as if killed after 4 was gone and 3 had become 4, and 2 had become 3
			check(t, os.Rename(j.old(4), j.old(4)+"x"))
			check(t, os.Rename(j.old(3), j.old(4)))
			check(t, os.Rename(j.old(2), j.old(3)))
			before, _ := read(t, j)
			for len(mustRead(t, j.Path())) < 500 {
				i++
				check(t, j.Append(Event{Kind: Claimed, Key: "fill"}))
			}
			check(t, j.Append(Event{Kind: Claimed, Key: "new"}))
			if after, _ := read(t, j); after[0].Key != before[0].Key {
				t.Errorf("the gap wasn't filled: the oldest was %s and is %s", before[0].Key, after[0].Key)
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(j.dir, "journal*.jsonl"))
	check(t, err)
	if len(files) != keep+1 {
		t.Errorf("files %q", files)
	}
	events, _ := read(t, j)
	last := -1
	for _, e := range events {
		if n, err := strconv.Atoi(e.Key); err == nil {
			if n <= last {
				t.Errorf("%d after %d", n, last)
			}
			last = n
		}
	}
	if last != 99 {
		t.Errorf("the last one is %d", last)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	check(t, err)
	return data
}

const writerEnv = "JOURNAL_WRITER"

// TestWriter is the process of a writer: it appends numbered events until it is killed or has
// written its quota.
func TestWriter(t *testing.T) {
	who := os.Getenv(writerEnv)
	if who == "" {
		t.Skip("only as a child")
	}
	j := Open(os.Getenv("JOURNAL_DIR"))
	j.size, _ = strconv.ParseInt(os.Getenv("JOURNAL_SIZE"), 10, 64)
	n, _ := strconv.Atoi(os.Getenv("JOURNAL_N"))
	for i := range n {
		check(t, j.Append(Event{Kind: Step, Slice: who, Attempt: i + 1, Detail: strings.Repeat(who, 300)}))
	}
}

func writer(t *testing.T, j *Journal, who string, n int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriter$")
	cmd.Env = append(os.Environ(), writerEnv+"="+who, "JOURNAL_DIR="+j.dir, fmt.Sprint("JOURNAL_SIZE=", j.size), fmt.Sprint("JOURNAL_N=", n))
	check(t, cmd.Start())
	return cmd
}

// With writers in several processes, every event is written once, in the order of its writer,
// and a follower sees each of them, across rotations.
func TestWritersAndFollower(t *testing.T) {
	const writers, each = 4, 150
	j := open(t)
	j.size = 40 << 10 // a few rotations, with room for all
	check(t, j.Append(Event{Kind: DrainStarted}))
	r, err := j.ReaderAtEnd()
	check(t, err)
	defer r.Close()
	var all []*exec.Cmd
	for w := range writers {
		all = append(all, writer(t, j, string(rune('a'+w)), each))
	}
	last := map[string]int{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := 0
	for e, err := range r.Follow(ctx) {
		check(t, err)
		if e.Attempt != last[e.Slice]+1 {
			t.Fatalf("%s: %d after %d", e.Slice, e.Attempt, last[e.Slice])
		}
		last[e.Slice] = e.Attempt
		if seen++; seen == writers*each {
			break
		}
	}
	for _, cmd := range all {
		check(t, cmd.Wait())
	}
	if seen != writers*each || r.Skipped() != 0 {
		t.Errorf("%d events, %d skipped; %v", seen, r.Skipped(), last)
	}
	if !exists(j.old(1)) {
		t.Error("the file was never rotated")
	}
}

// Killing a writer leaves at most one torn line, and loses no other event.
func TestKilledWriters(t *testing.T) {
	j := open(t)
	const kills = 8
	for i := range kills {
		victim := writer(t, j, "v", 1_000_000)
		for grown := len(mustRead(t, j.Path())); len(mustRead(t, j.Path())) < grown+10_000*(1+i%3); {
			time.Sleep(time.Millisecond)
		}
		check(t, victim.Process.Kill())
		_ = victim.Wait()
		check(t, j.Append(Event{Kind: Claimed, Key: fmt.Sprint(i)}))
	}
	events, skipped := read(t, j)
	if skipped > kills {
		t.Errorf("%d lines torn by %d kills", skipped, kills)
	}
	kept, last := 0, 0
	for _, e := range events {
		switch {
		case e.Kind == Claimed:
			kept++
			last = 0
		case e.Attempt != last+1:
			t.Fatalf("%d after %d", e.Attempt, last)
		default:
			last = e.Attempt
		}
	}
	if kept != kills {
		t.Errorf("%d of %d events that were written beside them", kept, kills)
	}
}

// A follower whose journal is removed continues with the new one; one that waits for the first
// event gets it.
func TestFollowAfterCleaning(t *testing.T) {
	j := open(t)
	r, err := j.ReaderAtEnd()
	check(t, err)
	defer r.Close()
	next := func() string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for e, err := range r.Follow(ctx) {
			check(t, err)
			return e.Key
		}
		return ""
	}
	check(t, j.Append(Event{Kind: Claimed, Key: "first"}))
	if got := next(); got != "first" {
		t.Errorf("got %q", got)
	}
	check(t, os.RemoveAll(j.dir))
	check(t, j.Append(Event{Kind: Claimed, Key: "second"}))
	if got := next(); got != "second" {
		t.Errorf("got %q", got)
	}
}

// A process that holds the lock delays an append, but doesn't prevent it.
func TestLockThatIsHeld(t *testing.T) {
	j := open(t)
	check(t, j.Append(Event{Kind: Claimed, Key: "a"}))
	f, err := durable.OpenReadAppend(j.Path(), 0o600)
	check(t, err)
	defer f.Close()
	check(t, durable.Claim(f))
	check(t, j.Append(Event{Kind: Launched, Key: "b"}))
	if events, _ := read(t, j); len(events) != 2 {
		t.Errorf("%d events", len(events))
	}
}

func TestProgress(t *testing.T) {
	of := Event{Slice: "S-1", Attempt: 2}
	before := Progress{Status: "in_progress", Step: "none", Tests: 1}
	kinds := func(p Progress) (s string) {
		for _, e := range p.Since(before, of) {
			if e.Slice != "S-1" || e.Attempt != 2 {
				t.Errorf("%+v", e)
			}
			s += string(e.Kind) + " " + e.From + ";"
		}
		return s
	}
	for want, p := range map[string]Progress{
		"":                  before,
		"step none;":        {Status: "tests", Step: "tests", Tests: 1},
		"step in_progress;": {Status: "complete", Step: "none", Tests: 1},
		"tests ;":           {Status: "in_progress", Step: "none", Tests: 1, Failing: 1},
		"step none;tests ;": {Status: "complete", Step: "complete", Tests: 4},
	} {
		if got := kinds(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}

func TestMedianVerdict(t *testing.T) {
	verdict := func(ms int64, command string) Event {
		code := 0
		return Event{Kind: Verdict, DurationMS: &ms, Command: command, Exit: &code}
	}
	unended := verdict(9000, "a")
	unended.Exit = nil
	events := []Event{{Kind: Landed}, unended, {Kind: Verdict}, verdict(10, "a"), verdict(30, "a"), verdict(1000, "b"), verdict(20, "a"), verdict(-1, "a")}
	for _, c := range []struct {
		command string
		want    time.Duration
		runs    int
	}{{"a", 20 * time.Millisecond, 3}, {"b", time.Second, 1}, {"", 25 * time.Millisecond, 4}, {"c", 0, 0}} {
		if got, runs := MedianVerdict(slices.Values(events), c.command); got != c.want || runs != c.runs {
			t.Errorf("%q: %v of %d", c.command, got, runs)
		}
	}
	var many []Event
	for i := range int64(3 * recent) {
		many = append(many, verdict(i, "a"))
	}
	if got, runs := MedianVerdict(slices.Values(many), "a"); runs != recent || got < 2*recent*time.Millisecond {
		t.Errorf("%v of %d", got, runs)
	}
	if got, _ := MedianVerdict(slices.Values([]Event{verdict(math.MaxInt64, "a")}), "a"); got < 0 {
		t.Errorf("%v", got)
	}
}

// No journal makes a reader panic. Every event it returns can be printed, and printing and
// reading it again changes nothing.
func FuzzReader(f *testing.F) {
	good, _ := Event{Time: time.Unix(1e9, 0), Kind: Step, Slice: "S-1", Detail: "a\u009b\"b"}.Line()
	f.Add(append(good, '\n'))
	f.Add([]byte(`{"schema_version":1,"time":"9999-12-31T23:59:59-12:00","kind":"x"}` + "\n"))
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","kind":"hold","until":"0000-01-01T00:00:00+12:00"}` + "\n\n{}\n[1]\nnull\n{"))
	f.Add([]byte(`{"time":"2026-01-01T00:00:00Z","kind":"ended","cost_usd":1e999,"attempt":-1}` + "\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		j := Open(dir)
		check(t, os.WriteFile(j.Path(), data, 0o600))
		lines := 0
		for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
			lines++
		}
		events, skipped := read(t, j)
		if len(events)+skipped > lines+1 {
			t.Fatalf("%d events and %d others in %d lines", len(events), skipped, lines)
		}
		for _, e := range events {
			line, err := e.Line()
			check(t, err)
			again, err := parse(line)
			check(t, err)
			second, err := again.Line()
			if err != nil || string(second) != string(line) && len(e.Detail)+len(e.Key) < longestText {
				t.Fatalf("%v: %s then %s", err, line, second)
			}
			if !json.Valid(line) {
				t.Fatalf("not JSON: %s", line)
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j := Open(filepath.Join(b.TempDir(), ".greenlight", "runs"))
	tests := 12
	for b.Loop() {
		if err := j.Append(Event{Kind: Tests, Slice: "S-12", Attempt: 3, Tests: &tests, SecurityTests: &tests}); err != nil {
			b.Fatal(err)
		}
	}
}

// The journal is full, and doesn't contain the event.
func BenchmarkAppendOnce(b *testing.B) {
	j := Open(filepath.Join(b.TempDir(), ".greenlight", "runs"))
	var batch []Event
	for i := range 1000 {
		batch = append(batch, Event{Kind: Claimed, Key: fmt.Sprint("S-1.1.abcdef.claimed", i), Detail: strings.Repeat("x", 150)})
	}
	for len(mustRead(b, j.Path())) < maxSize-300_000 {
		check(b, j.Append(batch...))
	}
	i := 0
	for b.Loop() {
		i++
		check(b, j.AppendOnce(Event{Kind: Claimed, Key: fmt.Sprint("new", i)}))
	}
}
