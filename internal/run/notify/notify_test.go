package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/journal"

	"github.com/google/go-cmp/cmp"
)

// A book is a channel that records its messages.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (*book) Name() string { return "notify.book" }
func (b *book) Send(_ context.Context, m Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, string(m.Kind)+" | "+m.Title+" | "+m.Text)
	return nil
}

// await waits until n messages have arrived.
func (b *book) await(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		have := len(b.lines)
		b.mu.Unlock()
		if have >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("told %d things, not %d", have, n)
		}
	}
}

// A wall is a channel that never finishes by itself.
type wall struct{}

func (wall) Name() string { return "notify.wall" }
func (wall) Send(ctx context.Context, _ Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func everything(journal.Event) bool { return true }

func start(t *testing.T, cfg Config) *Notifier {
	t.Helper()
	if cfg.Mine == nil {
		cfg.Mine = everything
	}
	cfg.Root = "/work/shop"
	n, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func events(now time.Time) []journal.Event {
	until, cost := plan.UntilLifted, 4.2
	return []journal.Event{
		{Kind: journal.DrainStarted, PID: 7, Time: now},
		{Kind: journal.Claimed, Slice: "S-1", Attempt: 1, Key: "S-1.1.a.claimed"},
		{Kind: journal.Ended, Slice: "S-1", Attempt: 1, Key: "S-1.1.a.ended", Outcome: "failed", Detail: "exit 7: \x1b]0 token=abcdefgh"},
		{Kind: journal.Ended, Slice: "S-2", Attempt: 1, Key: "S-2.1.a.ended", Outcome: "done", Detail: "3 tests"},
		{Kind: journal.Ended, Slice: "@ship", Attempt: 2, Key: "@ship.2.a.ended", Outcome: "stalled", Detail: "ended without the tag v1"},
		{Kind: journal.NeedsYou, Slice: "S-3", Attempt: 1, Key: "S-3.1.a.needs_you", Reason: "waiting for a look"},
		{Kind: journal.Held, Slice: "S-4", Key: "hold.1", Reason: plan.HeldByBudget, Detail: "$5.00 spent of the drain's $5.00", Until: &until},
		{Kind: journal.Held, Key: "hold.2", Reason: plan.HeldByPerson, Until: &until},
		{Kind: journal.Ended, Slice: "S-5", Attempt: 1, Key: "S-5.1.a.ended", Outcome: "interrupted"},
		{Kind: journal.DrainEnded, PID: 7, Reason: journal.NothingLeft, CostUSD: &cost,
			Totals: &journal.Sums{Total: 5, Done: 1, Failed: 1, Stalled: 1, Waiting: 1, Blocked: 1}},
		{Kind: journal.DrainEnded, PID: 8, Reason: "signal: interrupt"},
	}
}

// What an outcome announces is its own column, so none is forgotten. One of a later gl is
// announced as a failure.
func TestOutcomes(t *testing.T) {
	told := map[string]string{
		"done": "done S-1 complete", "failed": "failed S-1 failed", "stalled": "failed S-1 stalled",
		"hung": "failed S-1 hung", "crashed": "failed S-1 crashed",
		"out_of_paper": "failed S-1 out_of_paper", "": "",
		"advanced": "", "waiting": "", "held": "", "interrupted": "", "red": "", "conflict": "", "empty": "",
	}
	for _, o := range outcome.All() {
		if _, ok := told[string(o)]; !ok {
			t.Errorf("the test has no row for %s", o)
		}
	}
	for name, want := range told {
		m, ok := of(&journal.Event{Kind: journal.Ended, Slice: "S-1", Attempt: 1, Outcome: name, Detail: "why"})
		got := ""
		if ok {
			got = string(m.Kind) + " " + m.Title
		}
		if got != want {
			t.Errorf("%s announces %q, want %q", name, got, want)
		}
	}
}

// Each transition is announced once: not again by the next look, by another process, or after a
// restart. The next run announces what a killed one hasn't.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	j := journal.Open(dir)
	now := time.Now()
	all := events(now)
	first := &book{}
	n := start(t, Config{Journal: j, Kinds: Default(), Channels: []Channel{first}, Past: true})
	if err := j.Append(all[:6]...); err != nil {
		t.Fatal(err)
	}
	// another process, for slices
	other := start(t, Config{Journal: journal.Open(dir), Kinds: Default(), Channels: []Channel{first}})
	for range 2 {
		for _, n := range []*Notifier{n, other} {
			if err := n.Look(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := j.Append(all[6:9]...); err != nil { // n is killed before it sees these
		t.Fatal(err)
	}
	first.await(t, 3)
	n.Close(time.Minute)
	other.Close(time.Minute)
	second := &book{}
	n = start(t, Config{Journal: j, Kinds: Default(), Channels: []Channel{second}, Past: true})
	if err := n.Look(); err != nil {
		t.Fatal(err)
	}
	n.Close(time.Minute)
	want := []string{
		"failed | shop: S-1 failed | exit 7: \\x1b]0 token=[removed]",
		"failed | shop: @ship.2 stalled | ended without the tag v1",
		"needs_you | shop: S-3 needs you | waiting for a look",
	}
	if d := cmp.Diff(want, first.lines); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"budget | shop: the budget is spent | $5.00 spent of the drain's $5.00"}, second.lines); d != "" {
		t.Error(d)
	}
	// The first run announced nothing.
	dir = t.TempDir()
	j = journal.Open(dir)
	if err := j.Append(all[:9]...); err != nil {
		t.Fatal(err)
	}
	third := &book{}
	n = start(t, Config{Journal: j, Kinds: Kinds(), Channels: []Channel{third}, Past: true})
	if err := n.Look(); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(all[9:]...); err != nil {
		t.Fatal(err)
	}
	if err := n.Look(); err != nil {
		t.Fatal(err)
	}
	n.Close(time.Minute)
	want = []string{want[0], "done | shop: S-2 complete | 3 tests", want[1], want[2],
		"budget | shop: the budget is spent | $5.00 spent of the drain's $5.00",
		"end | shop: the run is over | 1 of 5 done, 2 failed, 1 waiting for you, 1 blocked, $4.20"}
	if d := cmp.Diff(want, third.lines); d != "" {
		t.Error(d)
	}
	marks := 0
	for e, err := range j.Events(time.Time{}) {
		if err == nil && e.Kind == journal.Notified {
			marks++
		}
	}
	if marks != len(want) {
		t.Errorf("%d marks for %d notifications", marks, len(want))
	}
}

// If a run is killed between the mark and the announcement, the next one announces it: one
// that starts, one that stood by, and one that leads beside the dead one, but only after that
// has had its time. This repeats until an announcement succeeds.
func TestKilledWhileTelling(t *testing.T) {
	now := time.Now()
	ended := events(now)[2]
	claimed := journal.Event{Kind: journal.Notified, Key: "told." + ended.Key, Slice: ended.Slice, Attempt: 1, Reason: "failed"}
	want := []string{"failed | shop: S-1 failed | exit 7: \\x1b]0 token=[removed]"}
	append := func(j *journal.Journal, e journal.Event, at time.Time) {
		t.Helper()
		e.Time = at
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		standsBy bool
		beside   time.Duration // age of a mark that appears while the run leads
		deaf     bool          // it is killed in the same way
		past     bool
		alive    bool // the claiming process was not killed: it announced
		want     []string
	}{
		"starts":                      {past: true, want: want},
		"stands by":                   {past: true, standsBy: true, want: want},
		"stands by, nobody is killed": {past: true, standsBy: true, alive: true},
		"killed, too":                 {past: true, deaf: true},
		"another one is just telling": {past: true, beside: time.Second},
		"another one is dead":         {past: true, beside: time.Hour, want: want},
		"one for slices":              {beside: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			j, told := journal.Open(t.TempDir()), &book{}
			channels := []Channel{told}
			if c.deaf {
				channels = []Channel{wall{}}
			}
			before := now.Add(-time.Second)
			append(j, journal.Event{Kind: journal.DrainStarted, PID: 7}, now.Add(-2*time.Hour))
			var n *Notifier
			begin := func() { n = start(t, Config{Journal: j, Kinds: Default(), Channels: channels, Past: c.past}) }
			if c.standsBy || c.beside > 0 {
				begin()
			}
			if c.beside > 0 {
				before = now.Add(-c.beside)
				if err := n.Look(); err != nil {
					t.Fatal(err)
				}
			}
			append(j, ended, before)
			append(j, claimed, before)
			if c.alive {
				append(j, journal.Event{Kind: journal.Told, Key: claimed.Key + toldMark}, before)
			}
			if n == nil {
				begin()
			}
			for range 2 {
				if err := n.Look(); err != nil {
					t.Fatal(err)
				}
			}
			if c.deaf {
				n.cfg.Journal = journal.Open(t.TempDir()) // a killed process writes nothing
				n.cancel()
				n.Close(time.Minute)
				append(j, journal.Event{Kind: journal.DrainStarted, PID: 8}, now)
			} else {
				n.Close(time.Minute)
			}
			if d := cmp.Diff(c.want, told.lines); d != "" {
				t.Error(d)
			}
			if len(c.want) == 0 && !c.deaf {
				return
			}
			// The next run announces it only if it wasn't announced.
			channels, told.lines = []Channel{told}, nil
			begin()
			if err := n.Look(); err != nil {
				t.Fatal(err)
			}
			n.Close(time.Minute)
			if again := len(told.lines) > 0; again != c.deaf {
				t.Errorf("the next drain tells %q", told.lines)
			}
		})
	}
}

// A hanging channel delays no other.
func TestHangs(t *testing.T) {
	j, told := journal.Open(t.TempDir()), &book{}
	n := start(t, Config{Journal: j, Kinds: Default(), Channels: []Channel{wall{}, told}})
	if err := j.Append(events(time.Now())[:6]...); err != nil {
		t.Fatal(err)
	}
	if err := n.Look(); err != nil {
		t.Fatal(err)
	}
	told.await(t, 3)
	n.cancel()
	n.Close(time.Minute)
}

// A webhook and ntfy get their messages; the error of a failing server omits its URL, which may
// be secret.
func TestPost(t *testing.T) {
	type request struct{ body, title, kind string }
	var got []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, request{string(body), r.Header.Get("Title"), r.Header.Get("Content-Type")})
		if strings.HasSuffix(r.URL.Path, "/away") {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
	}))
	defer server.Close()
	m := Message{SchemaVersion: 1, Kind: NeedsYou, Slice: "S-3", Attempt: 1, Text: "waiting", Title: "S-3 needs you"}.clean("shop")
	for _, c := range []Channel{Webhook(server.URL), Ntfy(server.URL + "/topic")} {
		if err := c.Send(t.Context(), m); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
	var back Message
	if err := json.Unmarshal([]byte(got[0].body), &back); err != nil || back != m {
		t.Errorf("%v: %+v", err, back)
	}
	if want := (request{"waiting", "shop: S-3 needs you", "text/plain; charset=utf-8"}); got[1] != want {
		t.Errorf("%+v", got[1])
	}
	if err := Webhook(server.URL+"/away").Send(t.Context(), m); err == nil || len(got) != 3 {
		t.Errorf("it followed a redirect: %v, %d requests", err, len(got))
	}
	server.Close()
	if err := Webhook(server.URL+"/secret-hook").Send(t.Context(), m); err == nil || strings.Contains(err.Error(), "secret-hook") {
		t.Errorf("%v", err)
	}
}

// A command gets the message on stdin. A hanging one is killed with its children; the error of
// a failing one has its output.
func TestCommand(t *testing.T) {
	dir := t.TempDir()
	m := Message{SchemaVersion: 1, Kind: Failed, Title: "S-1 failed"}.clean("shop")
	out := filepath.Join(dir, "out")
	if err := Command([]string{"sh", "-c", "cat >out"}, dir, os.Environ()).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != string(m.JSON()) {
		t.Errorf("%v: %s", err, data)
	}
	if err := Command([]string{"sh", "-c", "echo no >&2; exit 3"}, dir, os.Environ()).Send(t.Context(), m); err == nil || !strings.Contains(err.Error(), "exit status 3: no") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Command([]string{"sh", "-c", "echo $$ >pid; sleep 600 & wait"}, dir, os.Environ()).Send(ctx, m)
	}()
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil && len(data) > 0 {
			break
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("it ended well")
	}
}

// No message can end the sequence early or begin another one.
func TestTerminal(t *testing.T) {
	var got string
	m := Message{Title: "S-1;x\x1b]0;evil\x07", Text: "a\x07b\nc"}.clean("shop")
	term := Terminal{Write: func(s string) { got += s }}
	if err := term.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b]777;notify;shop: S-1,x\\x1b]0,evil\\x07;a\\x07b c\x1b\\\a"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
