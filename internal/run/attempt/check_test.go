package attempt

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// soundRecord is a record in every field as gl writes it.
func soundRecord() *Record {
	started, turns := noon.Add(time.Second), 3
	return &Record{
		ID:            Identity{Slice: "S-1", N: 1, Title: "Login\nand more", Token: NewToken(noon)},
		Job:           Job{Agent: "claude", Program: "claude", Argv: []string{"claude", "-p", "two\nlines"}, Prompt: "/gl:slice S-1", Stream: agent.StreamClaude, Dir: "/home/me/p", Runner: "tmux"},
		Life:          Life{Phase: plan.Ended, Before: tracker.Before{Mark: plan.Mark{Status: "pending", Step: "none"}}, Launcher: proc.Self(), Ending: EndStop, ClaimedAt: noon, StartedAt: &started, EndedAt: &started},
		Judged:        Judgement{Outcome: outcome.Failed, Seen: &plan.Mark{Status: "tests"}, Evidence: &Evidence{Result: &agent.Result{Turns: turns, CostUSD: ptr(0.5)}, Limit: &agent.Limit{Kind: agent.RateLimit, Reset: &started}}},
		SchemaVersion: schemaVersion,
	}
}

func TestRecordCheck(t *testing.T) {
	if err := soundRecord().check(Entry{Slice: "S-1", N: 1}); err != nil {
		t.Fatal(err)
	}
	task := soundRecord()
	task.ID.Slice, task.Task.Summary = "@quick", ".greenlight/summaries/quick-SUMMARY.md"
	if err := task.check(Entry{Slice: "@quick", N: 1}); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Record){
		"an outcome that is a path":      func(r *Record) { r.Judged.Outcome = "/../../settings" },
		"an empty outcome of an end":     func(r *Record) { r.Judged.Outcome = "" },
		"an end that wasn't seen":        func(r *Record) { r.Judged.Seen = nil },
		"a settled one":                  func(r *Record) { r.Life.Phase = plan.Settled },
		"an unknown phase":               func(r *Record) { r.Life.Phase = "asleep" },
		"no phase":                       func(r *Record) { r.Life.Phase = "" },
		"a claim without a token":        func(r *Record) { r.Life.Phase, r.ID.Token = plan.Claimed, "" },
		"a token of two lines":           func(r *Record) { r.ID.Token += "\nstatus: complete" },
		"a status of two lines":          func(r *Record) { r.Life.Before.Status = "pending\nsession: x" },
		"a start of two lines":           func(r *Record) { r.Life.Before.Started = "\r" },
		"a summary elsewhere":            func(r *Record) { r.Task.Summary = ".greenlight/summaries/../../../.bashrc" },
		"a summary that is absolute":     func(r *Record) { r.Task.Summary = "/etc/passwd" },
		"a directory that isn't":         func(r *Record) { r.Job.Dir = "../p" },
		"a process below none":           func(r *Record) { r.Life.Process = &proc.ID{PID: -1} },
		"a time before computers":        func(r *Record) { r.Life.ClaimedAt = time.Date(1, 2, 3, 0, 0, 0, 0, time.UTC) },
		"a reset that no clock shows":    func(r *Record) { r.Judged.Evidence.Limit.Reset = ptr(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)) },
		"a limit of no kind":             func(r *Record) { r.Judged.Evidence.Limit.Kind = "fun" },
		"fewer tests than none":          func(r *Record) { r.Judged.Tests = -1 },
		"fewer turns than none":          func(r *Record) { r.Judged.Evidence.Result.Turns = -1 },
		"fewer denials than none":        func(r *Record) { r.Judged.Evidence.Denials = -1 },
		"less cost than none":            func(r *Record) { r.Judged.Evidence.Result.CostUSD = ptr(-0.01) },
		"an ending that nobody causes":   func(r *Record) { r.Life.Ending = "boredom" },
		"a prompt without end":           func(r *Record) { r.Job.Prompt = strings.Repeat("x", longestText+1) },
		"a word of the command that is ": func(r *Record) { r.Job.Argv[1] = "\x00" },
	} {
		r := soundRecord()
		spoil(r)
		if err := r.check(Entry{Slice: "S-1", N: 1}); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for _, id := range []string{"..", ".x", "a/b", `a\b`, "a..b", "a\nb", "", "@", "@@/", strings.Repeat("x", 201), "\xff"} {
		r := soundRecord()
		r.ID.Slice = id
		if err := r.check(Entry{Slice: id, N: 1}); err == nil {
			t.Errorf("id %q passes", id)
		}
	}
}

// Whatever limit ends an attempt, its record is read again, before and after it is settled.
func TestEveryLimitIsReadAgain(t *testing.T) {
	for _, kind := range agent.LimitKinds() {
		b := benchFor(t, map[string]string{"S-1": "pending/none"})
		r := b.start(b.claim("S-1"))
		r.Judged.Evidence = exited(1).limited(&agent.Limit{Kind: kind, Reason: "why"})
		must(t, b.store.unlocked().Put(r))
		if got := b.get(r).Judged.Evidence.Limit; got == nil || got.Kind != kind {
			t.Errorf("%s: a live record has %+v", kind, got)
		}
		_, err := b.settler(b.state).Settle(t.Context(), r)
		must(t, err)
		got, err := b.store.Settled(Entry{Slice: "S-1", N: 1, Outcome: outcome.Held})
		if err != nil || got.Judged.Evidence.Limit.Kind != kind || got.Judged.Detail != kind {
			t.Errorf("%s: the settled record: %+v, %v", kind, got, err)
		}
		if h := b.store.HoldFile.All().same(&plan.Hold{Agent: r.Job.Agent, Account: r.Job.Account}); h == nil || h.Kind != kind {
			t.Errorf("%s: the hold is %+v", kind, h)
		}
	}
}

// A bad file is moved aside whole, and never over another one; one that another version of gl may
// have written stays.
func TestSetAside(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none", "S-2": "pending/none"})
	newer := soundRecord()
	newer.ID.Slice, newer.SchemaVersion = "S-2", 2
	data, err := json.Marshal(newer)
	must(t, err)
	must(t, os.WriteFile(b.store.Files.livePath("S-2", 1), data, 0o644))
	var paths []string
	for range 3 {
		must(t, os.WriteFile(b.store.Files.livePath("S-1", 1), []byte("{ cut sho"), 0o644))
		must(t, os.WriteFile(b.store.Files.donePath("S-1", 4, outcome.Failed), []byte("{}"), 0o644))
		must(t, os.WriteFile(b.store.HoldFile.path(), []byte(`{"count":-5,"until":"2031-01-01T00:00:00Z"}`), 0o644))
		bad, err := Quarantine{b.store}.Bad()
		must(t, err)
		if len(bad) != 4 {
			t.Fatalf("bad: %v", bad)
		}
		moved, err := Quarantine{b.store}.SetAside(bad)
		must(t, err)
		if len(moved) != 3 {
			t.Fatalf("moved: %v", moved)
		}
		for _, m := range moved {
			paths = append(paths, m.To)
		}
	}
	kept, err := Quarantine{b.store}.Moved()
	must(t, err)
	if len(kept) != 9 || len(paths) != 9 {
		t.Errorf("aside are %v", kept)
	}
	if got, err := os.ReadFile(filepath.Join(b.store.Files.Dir(), "bad", "S-1.1.json.3")); err != nil || string(got) != "{ cut sho" {
		t.Errorf("%q %v", got, err)
	}
	if got, err := os.ReadFile(b.store.Files.livePath("S-2", 1)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q %v", got, err)
	}
	if r := b.claim("S-1"); r.ID.N != 5 {
		t.Errorf("attempt %d; the log of number 4 may be there", r.ID.N)
	}
}

// An impossible hold makes no run wait, wait longer, or panic.
func TestBadHold(t *testing.T) {
	b := benchFor(t, map[string]string{"S-1": "pending/none"})
	for _, text := range []string{`{"count": -5, "until": "2031-01-01T00:00:00Z"}`, `{"until": 7}`, `{}`, "", "{", `{"holds": [null]}`, `{"holds": [{}]}`,
		`{"holds": [{"until": "2031-01-01T00:00:00Z"}, {"until": "2031-01-01T00:00:00Z"}]}`} {
		must(t, os.WriteFile(b.store.HoldFile.path(), []byte(text), 0o644))
		var bad *BadRecord
		if h, err := b.store.HoldFile.Read(); h != nil || !errors.As(err, &bad) {
			t.Errorf("%s: %v, %v", text, h, err)
		}
		r := b.start(b.claim("S-1"))
		r.Judged.Evidence = exited(1).limited(rateLimit)
		_, err := b.settler(b.state).Settle(t.Context(), r)
		must(t, err)
		if h := b.store.HoldFile.All().same(&plan.Hold{Agent: r.Job.Agent, Account: r.Job.Account}); h == nil || h.Count != 1 {
			t.Errorf("%s: then %+v", text, h)
		}
	}
}

// Whatever is in the files of runs/, nothing panics, every unusable file is named, and settling
// what is left ends.
func FuzzRecords(f *testing.F) {
	sound, _ := json.Marshal(soundRecord())
	f.Add(sound, []byte(`{"count": -5, "until": "2031-01-01T00:00:00Z"}`), false)
	f.Add([]byte(`{"schema_version": 1, "slice": "S-1", "n": 1, "phase": "ended", "outcome": "failed"}`), []byte(""), false)
	f.Add([]byte(`{"schema_version": 1, "slice": "S-1", "n": 1, "phase": "settled", "outcome": "failed"}`), []byte("{}"), true)
	f.Add([]byte(`{"schema_version": 1, "slice": "S-1", "n": 1, "phase": "claimed", "token": "t"}`), []byte("null"), true)
	f.Fuzz(func(t *testing.T, record, hold []byte, settled bool) {
		b := benchFor(t, map[string]string{"S-1": "in_progress/none"})
		path := b.store.Files.livePath("S-1", 1)
		if settled {
			path = b.store.Files.donePath("S-1", 1, outcome.Failed)
		}
		must(t, os.WriteFile(path, record, 0o644))
		must(t, os.WriteFile(b.store.HoldFile.path(), hold, 0o644))
		bad, err := Quarantine{b.store}.Bad()
		must(t, err)
		_, err = Quarantine{b.store}.SetAside(bad)
		must(t, err)
		live, left, err := b.store.Live()
		must(t, err)
		for _, l := range left {
			if !l.Keep {
				t.Errorf("still bad: %v", l)
			}
		}
		for _, r := range live {
			_, _, _ = r.Life.State(), r.Info(), r.ID.Label()
			if r.Life.Phase == plan.Claimed {
				must(t, b.settler(b.state).GiveBack(t.Context(), r))
				continue
			}
			r.Life.Wrapper, r.Life.Process = ptr(deadID(1)), nil
			if _, err := b.settler(b.state).Settle(t.Context(), r); err != nil {
				t.Errorf("settle: %v", err)
			}
		}
		if open, _, _ := b.store.Live(); len(open) > 0 {
			t.Errorf("still open: %v", open[0])
		}
		if _, err := b.store.Last("S-1"); err != nil {
			t.Error(err)
		}
	})
}

// A verdict's file is what an agent wrote; its reason is shown.
func FuzzVerdict(f *testing.F) {
	f.Add([]byte("# Review\n\n**Verdict: no**, the tests are missing\n"))
	f.Add([]byte("\xef\xbb\xbf> VERDICT:yes\n"))
	f.Add([]byte("verdict: no \x1b]0;x\x07\u202e"))
	path := filepath.Join(f.TempDir(), "verdict.md")
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		yes, reason, ok := readVerdict(path)
		if yes && (!ok || reason != "") || len(reason) > longestVerdict || reason != sanitize.Line(reason) {
			t.Fatalf("%q: %v %q %v", data, yes, reason, ok)
		}
	})
}
