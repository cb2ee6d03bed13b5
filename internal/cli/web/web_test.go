package web

import (
	"bufio"
	"context"
	"encoding/json"
	"html"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/testfiles"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/inbox"
	"greenlight/internal/cli/ops"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
	"greenlight/internal/run/project/projecttest"
	"greenlight/internal/show/explain"
	"greenlight/internal/show/status"
	"greenlight/internal/show/view"
)

const hostile = `<script>alert(1)</script> <svg onload="x"> \u202e`

func slice(fields string) string {
	return "---\n" + strings.ReplaceAll(fields, "; ", "\n") + "\n---\n# A slice\n"
}

// A browser is a person's, at the pages of a project.
type browser struct {
	t      *testing.T
	at     string
	base   string
	client *http.Client
	root   string
}

// newServer returns the server of a project at root.
func newServer(t *testing.T, root string) *Server {
	t.Helper()
	open := func() (*project.Project, error) { return project.Open(root) }
	pr, err := open()
	check(t, err)
	check(t, pr.Runs.Files.Prepare())
	getenv := func(name string) string { return map[string]string{"HOME": t.TempDir()}[name] }
	return New(Config{Project: pr, Open: open, Self: "false", Trust: trust.Open(getenv),
		Plan: func(pr *project.Project, now time.Time) (*plan.Plan, error) {
			return pr.Plan(now, pr.Options())
		}})
}

// newBrowser serves a project and logs a person in.
func newBrowser(t *testing.T, files map[string]string) *browser {
	t.Helper()
	root := projecttest.Write(t, files)
	s := newServer(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	store, err := httpguard.OpenStore(filepath.Join(t.TempDir(), "web.json"))
	check(t, err)
	server := httptest.NewUnstartedServer(nil)
	host := server.Listener.Addr().String()
	server.Config.Handler = httpguard.New(httpguard.Config{Store: store, Scheme: "http",
		Hosts: []string{host}, Static: Static(), Pages: s})
	server.Start()
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
		<-done
	})
	b := &browser{t: t, at: server.URL, root: root, client: &http.Client{Jar: &oneCookie{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	token, err := store.Login(t.Context(), httpguard.Person)
	check(t, err)
	code, _, h := b.ask("POST", "/login", url.Values{"token": {token}}, "")
	if code != http.StatusSeeOther {
		t.Fatalf("login: %d", code)
	}
	b.base = h.Get("Location")
	return b
}

// A oneCookie keeps the last cookie.
type oneCookie struct{ list []*http.Cookie }

func (c *oneCookie) SetCookies(_ *url.URL, list []*http.Cookie) { c.list = list }
func (c *oneCookie) Cookies(*url.URL) []*http.Cookie            { return c.list }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *browser) ask(method, path string, form url.Values, accept string) (int, string, http.Header) {
	b.t.Helper()
	r, err := http.NewRequest(method, b.at+path, strings.NewReader(form.Encode()))
	check(b.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", b.at)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	res, err := b.client.Do(r)
	check(b.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	check(b.t, err)
	return res.StatusCode, string(data), res.Header
}

// page returns a page, which must be there.
func (b *browser) page(path string) string {
	b.t.Helper()
	code, text, _ := b.ask("GET", b.base+path, nil, "")
	if code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, code, text)
	}
	return text
}

// press submits the form of an action on a page, with what the page has in it.
func (b *browser) press(page, action, text string) (code int, told string) {
	b.t.Helper()
	_, after, ok := strings.Cut(page, `/do/`+action+`"`)
	if !ok {
		b.t.Fatalf("no button for %s on %s", action, page)
	}
	after, _, _ = strings.Cut(after, "</form>")
	form := url.Values{"text": {text}}
	for _, m := range regexp.MustCompile(`name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(after, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	code, told, _ = b.ask("POST", b.base+"do/"+action, form, "application/json")
	return code, told
}

func (b *browser) file(id string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.root, ".greenlight", "slices", id+".md"))
	check(b.t, err)
	return string(data)
}

func morning() map[string]string {
	return map[string]string{
		"slices/S-1.md": slice("status: implementing; step: implementing; waiting_for: which " + hostile + "?"),
		"slices/S-2.md": slice("status: verifying; step: verifying; waiting_for: look at " + hostile),
		"slices/S-3.md": slice("status: implementing; waiting_for: really?"),
		"slices/S-4.md": slice("status: pending; deps: S-1"),
	}
}

func TestWhatFilesSayIsText(t *testing.T) {
	b := newBrowser(t, morning())
	for _, path := range []string{"", "board", "slice/S-1", "slice/S-2", "slice/S-4", "report"} {
		page := b.page(path)
		if strings.Contains(page, "<script>") || strings.Contains(page, "<svg onload") || strings.Contains(page, "\u202e") {
			t.Errorf("%s has markup of a file", path)
		}
		if path == "slice/S-1" && !strings.Contains(page, "&lt;script&gt;alert(1)") {
			t.Errorf("%s doesn't show it as text", path)
		}
	}
	for _, path := range []string{"slice/S-9", "slice/..%2f..%2fetc", "slice/S-1/log", "slice/" + strings.Repeat("x", 3000)} {
		if code, _, _ := b.ask("GET", b.base+path, nil, ""); code == http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	for _, name := range []string{"web.go", "../web.go", "..%2fweb.go", "", "."} {
		if code, _, _ := b.ask("GET", "/static/"+name, nil, ""); code == http.StatusOK {
			t.Errorf("static %q is served", name)
		}
	}
}

func TestAnswerAndReject(t *testing.T) {
	b := newBrowser(t, morning())
	if code, told := b.press(b.page("slice/S-1"), "answer", "Euro,\nrounded "+hostile); code != http.StatusOK {
		t.Fatalf("answer: %d %s", code, told)
	}
	if text := b.file("S-1"); !strings.Contains(text, "Answer: Euro, rounded <script>") || !strings.Contains(text, "status: pending") {
		t.Errorf("S-1: %s", text)
	}
	if code, told := b.press(b.page("slice/S-2"), "reject", "too slow"); code != http.StatusOK {
		t.Fatalf("reject: %d %s", code, told)
	}
	if text := b.file("S-2"); !strings.Contains(text, "Rejected: too slow") {
		t.Errorf("S-2: %s", text)
	}
	if code, told := b.press(b.page("slice/S-3"), "answer", " \n"); code != http.StatusUnprocessableEntity {
		t.Errorf("an empty answer: %d %s", code, told)
	}
	// an action waits for the next look, but not for long
	testfiles.Until(t, "the page without S-1", func() bool {
		return !strings.Contains(b.page(""), "go-S-1")
	})
	if page := b.page(""); !strings.Contains(page, "go-S-3") {
		t.Errorf("needs you: %s", page)
	}
}

// Two people on two pages don't undo each other: the second one is told what has changed.
func TestWhatHasChangedSinceIsLeftAlone(t *testing.T) {
	b := newBrowser(t, morning())
	first, second := b.page("slice/S-2"), b.page("slice/S-2")
	if code, told := b.press(first, "accept", ""); code != http.StatusOK {
		t.Fatalf("accept: %d %s", code, told)
	}
	before := b.file("S-2")
	code, told := b.press(second, "reject", "no")
	if code != http.StatusConflict || !strings.Contains(told, "has changed since you looked at it") {
		t.Errorf("reject: %d %s", code, told)
	}
	if after := b.file("S-2"); after != before {
		t.Errorf("S-2 changed: %s", after)
	}
	// another question than the one that is on the page
	page := b.page("slice/S-3")
	path := filepath.Join(b.root, ".greenlight", "slices", "S-3.md")
	check(t, os.WriteFile(path, []byte(strings.Replace(b.file("S-3"), "really?", "delete it?", 1)), 0o644))
	if code, told := b.press(page, "answer", "yes"); code != http.StatusConflict {
		t.Errorf("answer: %d %s", code, told)
	}
}

func TestActionsNeedTrust(t *testing.T) {
	files := morning()
	files["config.json"] = `{"test": {"command": "make evil"}}`
	b := newBrowser(t, files)
	before := b.file("S-1")
	code, told := b.press(b.page("slice/S-1"), "answer", "Euro")
	if code != http.StatusUnprocessableEntity || !strings.Contains(told, "gl trust") {
		t.Errorf("answer: %d %s", code, told)
	}
	if b.file("S-1") != before {
		t.Error("S-1 changed")
	}
}

func TestPagesHaveDocuments(t *testing.T) {
	b := newBrowser(t, morning())
	for path, doc := range map[string]any{"": &inbox.Document{}, "board": &status.Document{}, "slice/S-1": &explain.Document{}} {
		code, text, h := b.ask("GET", b.base+path, nil, "application/json")
		dec := json.NewDecoder(strings.NewReader(text))
		dec.DisallowUnknownFields()
		if err := dec.Decode(doc); err != nil || code != http.StatusOK || h.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, code, err)
		}
	}
}

// The board has what gl status shows besides the rows.
func TestBoardHasTheNotesOfStatus(t *testing.T) {
	files := morning()
	files["slices/S-5.md"] = slice("status: complete; step: complete; completed: 2026-01-02")
	b := newBrowser(t, files)
	if page := b.page("board"); !strings.Contains(page, `<p class="warn">Unverified: S-5`) {
		t.Error(page)
	}
}

// The page of a slice has what its file asks for, as text.
func TestPageHasTheTask(t *testing.T) {
	files := morning()
	files["slices/S-2.md"] += "\n## Acceptance criteria\n- the mail names the order " + hostile + "\n"
	page := newBrowser(t, files).page("slice/S-2")
	if want := "## Acceptance criteria\n- the mail names the order &lt;script&gt;"; !strings.Contains(page, want) {
		t.Errorf("%s\nwithout %s", page, want)
	}
}

// Calls of tools are folded, and what the agent says isn't. All of it is there, as text.
func TestLogIsFolded(t *testing.T) {
	got := string(logHTML([]string{"hello <b>", "> Bash: ls", "> Edit: a.go", "  - old", "| gl-test > Bash: go test", "",
		"! Bash: " + hostile, "> Bash: one"}))
	want := `<p>hello &lt;b&gt;</p>
<details class="tool"><summary>3 tool calls, the last one | gl-test &gt; Bash: go test</summary>
<p class="tool">&gt; Bash: ls</p>
<details class="tool"><summary>&gt; Edit: a.go</summary><p>&gt; Edit: a.go
  - old</p></details>
<p class="tool">| gl-test &gt; Bash: go test</p>
</details>
<p></p>
<p class="bad">! Bash: ` + html.EscapeString(hostile) + `</p>
<p class="tool">&gt; Bash: one</p>
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A page that is open hears of changes; one that slept says what it had, and hears at once.
func TestStream(t *testing.T) {
	b := newBrowser(t, morning())
	at := regexp.MustCompile(`events\?at=([^"&]+)"`).FindStringSubmatch(b.page("board"))
	if at == nil {
		t.Fatal("the page has no stream")
	}
	listen := func(at string) *bufio.Reader {
		ctx, cancel := context.WithTimeout(t.Context(), testfiles.Patience)
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, "GET", b.at+b.base+"events?at="+at, nil)
		check(t, err)
		res, err := b.client.Do(r)
		check(t, err)
		t.Cleanup(func() { res.Body.Close() })
		return bufio.NewReader(res.Body)
	}
	next := func(r *bufio.Reader) string {
		for {
			line, err := r.ReadString('\n')
			check(t, err)
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				return strings.TrimSpace(data)
			}
		}
	}
	awake := listen(at[1])
	if code, told := b.press(b.page("slice/S-3"), "answer", "yes"); code != http.StatusOK {
		t.Fatalf("answer: %d %s", code, told)
	}
	version := next(awake)
	if version == at[1] {
		t.Errorf("the same version %s", version)
	}
	if got := next(listen(at[1])); got == at[1] { // slept
		t.Errorf("nothing new: %s", got)
	}
	next(listen("another-server.7"))
}

// Until the project has been read, pages say so: they have nothing to show yet.
func TestBeforeTheFirstLook(t *testing.T) {
	s := newServer(t, projecttest.Write(t, morning()))
	s.hub.until = time.Now()
	for _, path := range []string{"/", "/board", "/slice/S-1", "/slice/S-1/diff", "/slice/S-1/log",
		"/slice/S-1/history"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if text := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(text, "still being read") {
			t.Errorf("%s: %d %s", path, w.Code, text)
		}
	}
}

// A look that has no digest counts as news: an open page must not miss what it shows.
func TestLookWithoutDigest(t *testing.T) {
	m := view.New(plan.New(&plan.Snapshot{}, time.Now(), plan.Options{}), view.Facts{}, time.Now())
	m.Rows = []view.Row{{Cost: view.Cost{USD: math.NaN()}}} // JSON has no NaN
	l := look{model: m}
	if first, second := l.digest(), l.digest(); first == second {
		t.Error("two looks are the same")
	}
}

// What waits in another system's project is decided by that system's commands.
func TestForeignItemsHaveNoButtons(t *testing.T) {
	if got := buttons(nil, &ops.Pending{Kind: ops.PendingReview, Foreign: true}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	// unless its tests failed, which only gl knows
	if got := buttons(&project.Project{}, &ops.Pending{ID: "2", Kind: ops.PendingRed}); len(got) != 1 || got[0].Do != "retry" {
		t.Errorf("%+v", got)
	}
	if got := buttons(nil, &ops.Pending{Kind: ops.PendingReview}); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}
