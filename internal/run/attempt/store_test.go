package attempt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/statedir"
)

var idGen = rapid.StringMatching(`[A-Za-z0-9]([A-Za-z0-9_.-]{0,8}[A-Za-z0-9])?`)

func TestNamesRoundTrip(t *testing.T) {
	s := OpenStore("runs")
	rapid.Check(t, func(t *rapid.T) {
		id := idGen.Draw(t, "id") + rapid.SampledFrom([]string{"", ".2", ".done", ".3.failed", ".json"}).Draw(t, "suffix")
		want := Entry{Slice: id, N: rapid.IntRange(1, 1e6).Draw(t, "n")}
		if e, ok := parseLive(filepath.Base(s.Files.livePath(id, want.N))); !ok || e != want {
			t.Fatalf("live: %+v %v, want %+v", e, ok, want)
		}
		want.Outcome = rapid.SampledFrom(append(outcome.All(), "out_of_paper")).Draw(t, "outcome")
		if e, ok := parseSettled(filepath.Base(s.Files.donePath(id, want.N, want.Outcome))); !ok || e != want {
			t.Fatalf("settled: %+v %v, want %+v", e, ok, want)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, s := range []string{"S-1.2.json", "S-1.2.3.failed.json", ".json", "..json", "S.0.json", "S.-1.json", "S.x.json", "S.done.json", "S.1.done", ".S-1.2.json.abc.tmp", "S-1.2..json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		for _, parse := range []func(string) (Entry, bool){parseLive, parseSettled} {
			e, ok := parse(file)
			if ok && (e.Slice == "" || e.N < 1) {
				t.Errorf("%q gives %+v", file, e)
			}
			if ok && !strings.HasPrefix(file, e.Slice+".") {
				t.Errorf("%q gives slice %q", file, e.Slice)
			}
		}
	})
}

func TestToken(t *testing.T) {
	form := regexp.MustCompile(`^2031-05-06T12:00:00Z-[0-9a-z]{6}$`)
	seen := map[string]bool{}
	for range 1000 {
		token := NewToken(noon)
		if !form.MatchString(token) || seen[token] {
			t.Fatalf("token %q", token)
		}
		seen[token] = true
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if id := newUUID(); !uuid.MatchString(id) {
		t.Errorf("uuid %q", id)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1.2": "pending/none"})
	for n := 1; n <= 3; n++ {
		r := b.start(b.claim("S-1.2"))
		if r.ID.N != n {
			t.Fatalf("attempt %d, want %d", r.ID.N, n)
		}
		r.Judged.Evidence = exited(0).with(success)
		if diff := cmp.Diff(b.get(r).ID.Token, r.ID.Token); diff != "" {
			t.Fatal(diff)
		}
		final, err := b.settler(b.state).Settle(t.Context(), r)
		must(t, err)
		if diff := cmp.Diff(b.get(r), final); diff != "" {
			t.Fatalf("on disk it differs: %s", diff)
		}
		b.set("S-1.2", "status", "pending", "step", "none")
	}
	history, err := b.store.History("S-1.2")
	must(t, err)
	if len(history) != 3 || history[2].ID.N != 3 || history[2].ID.Name() != "S-1.2.3" {
		t.Fatalf("history %v", history)
	}
	index, err := b.store.Index()
	must(t, err)
	if e := index["S-1.2"]; len(e) != 3 || len(index) != 1 || tally(e).Used != 3 {
		t.Fatalf("index %v", index)
	}
}

// A record that a newer gl wrote, or that is damaged, is named and left as it is; the number is not
// given out again.
func TestForeignRecords(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none", "S-3": "pending/none"})
	newer := b.claim("S-1")
	newer.SchemaVersion = 2
	data, err := json.Marshal(newer)
	must(t, err)
	other := b.claim("S-3")
	other.ID.Slice = "S-9"
	otherData, err := json.Marshal(other)
	must(t, err)
	files := map[string][]byte{
		b.store.Files.livePath("S-1", 1): data, b.store.Files.livePath("S-2", 4): []byte("{ cut sho"), b.store.Files.livePath("S-3", 1): otherData,
	}
	for path, data := range files {
		must(t, os.WriteFile(path, data, 0o644))
	}
	live, bad, err := b.store.Live()
	must(t, err)
	if len(live) != 0 || len(bad) != 3 {
		t.Fatalf("live %v, bad %v", live, bad)
	}
	if !strings.Contains(bad[0].Error(), "schema version 2") || !strings.Contains(bad[2].Error(), "says it is S-9.1") {
		t.Errorf("%v", bad)
	}
	if r := b.claim("S-2"); r.ID.N != 5 {
		t.Errorf("attempt %d, want 5", r.ID.N)
	}
	newer.Life.Launcher = deadID(1)
	if _, err := b.settler(b.state).Recover(t.Context(), newer); err == nil {
		t.Error("a claim whose record can't be read was given back")
	}
	for path, want := range files {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s was changed: %s %v", path, got, err)
		}
	}
}

func TestHolder(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1.2": "pending/none"})
	must(t, b.store.Claims.PutHolder("S-1.2", ClaimHolder{Token: "tok", Holder: "me"}))
	for session, want := range map[string]string{"tok": "me", "another": "", "": ""} {
		if got := b.store.Claims.Holder("S-1.2", session); got != want {
			t.Errorf("holder under %q: %q, want %q", session, got, want)
		}
	}
}

func TestMarkRetried(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	must(t, b.store.unlocked().MarkRetried("S-1")) // nothing to mark
	r := b.start(b.claim("S-1"))
	r.Judged.Evidence = exited(7)
	_, err := b.settler(b.state).Settle(t.Context(), r)
	must(t, err)
	open := b.claim("S-1")
	must(t, b.store.unlocked().MarkRetried("S-1"))
	if !b.get(r).Since.Retried || b.get(open).Since.Retried {
		t.Error("the last settled attempt is the one to mark, and it alone")
	}
	if _, err := b.store.Get("S-1", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("attempt 3: %v", err)
	}
	if b.get(open).Life.Phase != plan.Claimed {
		t.Error("the open attempt was changed")
	}
}

// A writer comes from the lock alone, while it is held.
func TestWriterNeedsTheLock(t *testing.T) {
	b := benchFor(t, nil)
	var kept statedir.Held
	must(t, statedir.Locked(t.Context(), b.root, func(held statedir.Held) error {
		kept = held
		return b.store.Within(held).MarkRetried("S-1")
	}))
	for name, held := range map[string]statedir.Held{"a lock that is over": kept, "none": {}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s gives a writer", name)
				}
			}()
			b.store.Within(held)
		}()
	}
}

// The names of records and logs tell whose they are; ids may have dots.
func TestOfFile(t *testing.T) {
	for file, want := range map[string]string{"live/S-01.3.json": "S-01 3", "done/02.1.4.red.json": "02.1 4", "log/S-01.3.log": "S-01 3",
		"log/S-01.3.tests.log": "", "live/S-01.3.log": "", "S-01.3.json": "", "done/../S-1.1.red.json": "", "log/S-01.x.log": ""} {
		got := ""
		if e, ok := OfFile(file); ok {
			got = fmt.Sprint(e.Slice, " ", e.N)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
