package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/attemptlog"
	"greenlight/internal/show/live"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
)

// A hub reads the project for all pages, and tells open ones that what they show has changed.
type hub struct {
	cfg   Config
	until time.Time // when pages stop waiting for the first look
	again chan struct{}
	ready chan struct{} // closed once the project was read
	ended chan struct{} // closed once the server is about to end

	mu      sync.Mutex
	now     look
	digest  [32]byte
	number  int
	boot    string // makes versions of two servers differ
	clients map[chan struct{}]bool
	taken   chan struct{} // closed with the next look
}

// A look is the project as pages show it.
type look struct {
	model   *view.Model
	leader  string
	slots   int // how many agents may run at a time
	pending []ops.Pending
	version string
	err     error
}

// mostStreams bounds the open pages: each has one stream.
const mostStreams = 200

func newHub(c Config) *hub {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return &hub{
		cfg: c, until: time.Now().Add(firstLook), now: look{err: errNotRead},
		again: make(chan struct{}, 1), ready: make(chan struct{}), ended: make(chan struct{}),
		boot: hex.EncodeToString(b[:]), clients: map[chan struct{}]bool{},
		taken: make(chan struct{}),
	}
}

func (h *hub) run(ctx context.Context) {
	src := live.Source{Project: h.cfg.Project, Again: h.again,
		Plan: func(now time.Time) (*plan.Plan, error) { return h.cfg.Plan(h.cfg.Project, now) }}
	live.Follow(ctx, src, h.take)
}

// take keeps a look, and tells the pages if it shows anything new.
func (h *hub) take(l live.Look) {
	next := look{model: l.Model, leader: l.Leader, slots: l.Facts.Slots, err: l.Err}
	if l.Err == nil {
		next.pending, next.err = ops.ToReview(h.cfg.Project, time.Now())
	}
	digest := next.digest()
	h.mu.Lock()
	defer h.mu.Unlock()
	first := h.number == 0
	if first || digest != h.digest {
		h.number++
		h.digest = digest
		for news := range h.clients {
			select {
			case news <- struct{}{}:
			default: // it has not read the last one yet
			}
		}
	}
	next.version = fmt.Sprintf("%s.%d", h.boot, h.number)
	h.now = next
	close(h.taken)
	h.taken = make(chan struct{})
	if first {
		close(h.ready)
	}
}

// digest sums up what pages show. What changes only with the clock isn't news, except once a minute
// while agents run: pages show how long each has been silent, and how long the rest takes.
func (l *look) digest() [32]byte {
	type row struct {
		view.Row
		ETA, Heard, Started any
	}
	var all struct {
		Rows    []row
		Pending []ops.Pending
		Leader  string
		Counts  view.Counts
		Cost    string
		Hold    any
		Notes   []status.Note
		Tasks   []string
		Minute  time.Time
		Err     string
	}
	all.Pending, all.Leader = l.pending, l.leader
	if m := l.model; m != nil {
		for _, r := range m.Rows {
			all.Rows = append(all.Rows, row{Row: r})
		}
		all.Counts, all.Cost, all.Hold = m.Counts, m.Cost.String(), m.Plan.InEffect()
		all.Notes, all.Tasks = status.Notes(m), status.Tasks(m)
		if m.Counts.Running+m.Counts.Merging > 0 {
			all.Minute = m.Now.Truncate(time.Minute)
		}
	}
	if l.err != nil {
		all.Err = l.err.Error()
	}
	data, err := json.Marshal(all)
	if err != nil { // any look is news then
		data = make([]byte, 16)
		_, _ = rand.Read(data) // never fails
	}
	return sha256.Sum256(data)
}

// look returns the last look. It waits for the first one; if that isn't there in time, the look has
// errNotRead.
func (h *hub) look() look {
	select {
	case <-h.ready:
	case <-time.After(time.Until(h.until)):
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// firstLook is how long the first look at a project may take before pages say that they wait for
// it.
const firstLook = 10 * time.Second

// errNotRead is the error of pages before the first look.
var errNotRead = errors.New("the project is still being read: load the page again in a moment")

// refreshNow takes another look, for a page that follows an action. It doesn't wait for long: the
// page hears of what comes later.
func (h *hub) refreshNow(ctx context.Context) {
	h.mu.Lock()
	taken := h.taken
	h.mu.Unlock()
	select {
	case h.again <- struct{}{}:
	default:
	}
	select {
	case <-taken:
	case <-time.After(secondLook):
	case <-ctx.Done():
	}
}

const secondLook = 2 * time.Second

// lastFetch is how long open pages have to fetch the last look before the server ends.
const lastFetch = time.Second

// end shows open pages how the project is now, and tells them that the server ends.
func (h *hub) end() {
	h.mu.Lock()
	open := len(h.clients)
	h.mu.Unlock()
	if open > 0 {
		h.refreshNow(context.Background())
		time.Sleep(lastFetch)
	}
	close(h.ended)
}

// join returns a channel that gets news; nil if too many have one.
func (h *hub) join() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.clients) >= mostStreams {
		return nil
	}
	news := make(chan struct{}, 1)
	h.clients[news] = true
	return news
}

func (h *hub) leave(news chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.clients, news)
}

const (
	beat       = 25 * time.Second       // between two signs of life: a dead reader is noticed
	logPause   = 500 * time.Millisecond // between two looks at a log that a page shows
	streamLife = 10 * time.Minute       // then a page connects again, and must still be logged in
	mostLines  = 2000                   // of a log in one message
)

// events is the stream of a page. A page says which version it shows, so that one that slept, or
// outlived the server, catches up.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	news := s.hub.join()
	if news == nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages are open", http.StatusServiceUnavailable)
		return
	}
	defer s.hub.leave(news)
	st := &stream{w: w, control: http.NewResponseController(w), at: r.FormValue("at")}
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		st.at = id
	}
	_ = st.control.SetReadDeadline(time.Time{}) // it reads nothing more
	w.Header().Set("Content-Type", "text/event-stream")
	if !st.send("retry: 2000\n\n") {
		return
	}
	st.openLog(s, r)
	defer st.closeLog()
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for st.tell(s.hub.look().version) && st.tellLog() {
		select {
		case <-news:
		case <-st.ticks():
		case <-beats.C:
			if !st.send(":\n\n") {
				return
			}
		case <-s.hub.ended:
			st.tellEnd(s.Ended)
			return
		case <-ctx.Done():
			return
		}
	}
}

// A stream is one page's.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	at      string // the version that the page has

	tail   *attemptlog.Tail // nil without a log
	ticker *time.Ticker
	text   func(attemptlog.Line) []string
}

// send writes to a reader that must not be slow.
func (st *stream) send(text string) bool {
	_ = st.control.SetWriteDeadline(time.Now().Add(httpguard.WriteTime))
	_, err := st.w.Write([]byte(text))
	return err == nil && st.control.Flush() == nil
}

func (st *stream) tell(version string) bool {
	if version == "" || version == st.at { // "" before the first look
		return true
	}
	st.at = version
	return st.send("id: " + version + "\nevent: changed\ndata: " + version + "\n\n")
}

// tellEnd sends why nothing more will come.
func (st *stream) tellEnd(why string) { st.send("event: ended\ndata: " + why + "\n\n") }

// openLog follows the log that a page shows from where the page ends.
func (st *stream) openLog(s *Server, r *http.Request) {
	rec, from := s.logOf(r)
	if rec == nil {
		return
	}
	tail, err := attemptlog.TailFrom(rec.Life.Log, from)
	if err != nil {
		return
	}
	st.tail, st.ticker = tail, time.NewTicker(logPause)
	st.text = attemptlog.Texts(rec.Job.Stream)
}

func (st *stream) closeLog() {
	if st.tail != nil {
		st.tail.Close()
		st.ticker.Stop()
	}
}

// ticks says when to look at the log; never without one.
func (st *stream) ticks() <-chan time.Time {
	if st.ticker == nil {
		return nil
	}
	return st.ticker.C
}

// tellLog sends what is new in the log.
func (st *stream) tellLog() bool {
	if st.tail == nil {
		return true
	}
	var lines []string
	left := 0
	err := st.tail.Lines(false, func(l attemptlog.Line) {
		for _, text := range st.text(l) {
			if len(lines) < mostLines {
				lines = append(lines, text)
			} else {
				left++
			}
		}
	})
	if err != nil || len(lines) == 0 {
		return err == nil
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("(%d lines are left out here)", left))
	}
	return st.send("event: log\n" + dataLines(logHTML(lines)) + "\n")
}

// logOf returns the attempt whose log a stream is asked for, and where to begin.
func (s *Server) logOf(r *http.Request) (*attempt.Record, int64) {
	var n int
	var from int64
	id := r.FormValue("slice")
	if _, err := fmt.Sscan(r.FormValue("attempt"), &n); err != nil || s.known(id) == nil {
		return nil, 0
	}
	if _, err := fmt.Sscan(r.FormValue("from"), &from); err != nil || from < 0 {
		return nil, 0
	}
	rec, err := s.Project.Runs.Get(id, n)
	if err != nil {
		return nil, 0
	}
	return rec, from
}

// known returns a slice of the last look; nil if there is none.
func (s *Server) known(id string) *plan.State {
	m := s.hub.look().model
	if m == nil {
		return nil
	}
	return m.Plan.State(id)
}
