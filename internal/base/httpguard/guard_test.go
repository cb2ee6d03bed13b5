package httpguard

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A site is a guarded server on a port of this machine.
type site struct {
	t     *testing.T
	store *Store
	at    string // http://127.0.0.1:PORT
	host  string
}

func newSite(t *testing.T) *site {
	t.Helper()
	store, err := OpenStore(filepath.Join(t.TempDir(), "web.json"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, store: store, at: "http://" + l.Addr().String(), host: l.Addr().String()}
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, Of(r).Role)
	})
	static := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "static") })
	g := New(Config{Store: store, Scheme: "http", Hosts: []string{s.host},
		Addresses: []string{"https://box.example"}, Static: static, Pages: pages})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, nil, g) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask sends a request. header has pairs; body is a form, "" for none.
func (s *site) ask(method, path, body string, header ...string) (code int, text string, h http.Header) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.at+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(data), res.Header
}

// A visit is a session as its browser has it.
type visit struct{ base, cookie, form string }

func (s *site) login(role Role) visit {
	s.t.Helper()
	token, err := s.store.Login(s.t.Context(), role)
	if err != nil {
		s.t.Fatal(err)
	}
	code, text, h := s.ask("POST", "/login", "token="+token, "Origin", "null")
	if code != http.StatusSeeOther {
		s.t.Fatalf("login: %d %s", code, text)
	}
	c, err := http.ParseSetCookie(h.Get("Set-Cookie"))
	if err != nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != h.Get("Location") ||
		!strings.HasPrefix(c.Path, "/s/") || len(c.Path) < 40 {
		s.t.Fatalf("cookie %q: %v", h.Get("Set-Cookie"), err)
	}
	return visit{c.Path, cookieName + "=" + c.Value, formToken(c.Value)}
}

func (s *site) wants(want, code int, what string) {
	s.t.Helper()
	if code != want {
		s.t.Errorf("%s: %d, want %d", what, code, want)
	}
}

func TestOnlySessionsGetPages(t *testing.T) {
	s := newSite(t)
	v, other := s.login(Person), s.login(Person)
	code, text, h := s.ask("GET", v.base+"board", "", "Cookie", v.cookie)
	if s.wants(200, code, "a page"); text != "GET /board person" {
		t.Errorf("page: %q", text)
	}
	if p := h.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") ||
		strings.Contains(p, "unsafe") {
		t.Errorf("policy %q", p)
	}
	for what, header := range map[string][]string{
		"no cookie":                   nil,
		"a forged cookie":             {"Cookie", cookieName + "=" + secret()},
		"an empty cookie":             {"Cookie", cookieName + "="},
		"the cookie of another":       {"Cookie", other.cookie},
		"its hash, as it is on disk":  {"Cookie", cookieName + "=" + hash(strings.TrimPrefix(v.cookie, "gl="))},
		"a cookie of any other name":  {"Cookie", "x" + v.cookie},
		"a very long one":             {"Cookie", cookieName + "=" + strings.Repeat("a", 8000)},
		"the token as a bearer token": {"Authorization", "Bearer " + v.cookie[3:]},
	} {
		code, text, _ := s.ask("GET", v.base, "", header...)
		s.wants(403, code, what)
		if strings.Contains(text, v.base) || strings.Contains(text, v.cookie[3:]) {
			t.Errorf("%s: the answer tells %q", what, text)
		}
	}
	code, _, _ = s.ask("GET", "/s/"+secret()+"/", "", "Cookie", v.cookie)
	s.wants(403, code, "another path")
	code, _, _ = s.ask("GET", "/s/", "", "Cookie", v.cookie)
	s.wants(403, code, "no path")
	for _, path := range []string{"/etc/passwd", "/board", "/..%2f..%2fetc/passwd", "/events"} {
		code, _, _ = s.ask("GET", path, "", "Cookie", v.cookie)
		s.wants(404, code, path)
	}
}

// A name that is bound to this machine's address later doesn't make its pages this server's.
func TestRebinding(t *testing.T) {
	s := newSite(t)
	v := s.login(Person)
	for host, want := range map[string]int{s.host: 200, "box.example": 200, "evil.example": 421,
		"evil.example:80": 421, "127.0.0.1": 421, "localhost.evil.example": 421} {
		code, _, _ := s.ask("GET", v.base, "", "Cookie", v.cookie, "Host", host)
		s.wants(want, code, host)
	}
}

func TestFormsOfOtherSites(t *testing.T) {
	s := newSite(t)
	v := s.login(Person)
	body := url.Values{FormField: {v.form}}.Encode()
	_, port, _ := net.SplitHostPort(s.host)
	for _, tt := range []struct {
		what   string
		body   string
		want   int
		header []string
	}{
		{"its own form", body, 200, []string{"Origin", s.at}},
		{"the form of a tunnel", body, 200, []string{"Origin", "https://box.example", "Host", "box.example"}},
		{"another site", body, 403, []string{"Origin", "https://evil.example"}},
		{"another port of this machine", body, 403, []string{"Origin", "http://127.0.0.1:1"}},
		{"the other name of this machine", body, 403, []string{"Origin", "http://localhost:" + port}},
		{"the other scheme", body, 403, []string{"Origin", "https://" + s.host}},
		{"a file or a sandboxed frame", body, 403, []string{"Origin", "null"}},
		{"no origin", body, 403, nil},
		{"a site whose browser says so", body, 403, []string{"Origin", s.at, "Sec-Fetch-Site", "cross-site"}},
		{"another port, as a browser says it", body, 403, []string{"Origin", s.at, "Sec-Fetch-Site", "same-site"}},
		{"no token", "x=1", 403, []string{"Origin", s.at}},
		{"a forged token", FormField + "=" + formToken(secret()), 403, []string{"Origin", s.at}},
		{"the token in the address", "x=1", 403, []string{"Origin", s.at}},
		{"too long", body + "&x=" + strings.Repeat("a", MaxBody), 413, []string{"Origin", s.at}},
	} {
		code, _, _ := s.ask("POST", v.base+"do/accept?"+FormField+"="+v.form, tt.body,
			append(tt.header, "Cookie", v.cookie)...)
		s.wants(tt.want, code, tt.what)
	}
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "TRACE"} {
		code, _, _ := s.ask(method, v.base, "", "Cookie", v.cookie)
		s.wants(405, code, method)
	}
}

func TestReaders(t *testing.T) {
	s := newSite(t)
	v := s.login(Reader)
	code, text, _ := s.ask("GET", v.base, "", "Cookie", v.cookie)
	if s.wants(200, code, "a page"); text != "GET / reader" {
		t.Errorf("page: %q", text)
	}
	code, _, _ = s.ask("POST", v.base+"do/accept", FormField+"="+v.form, "Cookie", v.cookie, "Origin", s.at)
	s.wants(403, code, "an action")
	code, _, _ = s.ask("POST", v.base+"logout", FormField+"="+v.form, "Cookie", v.cookie, "Origin", s.at)
	s.wants(200, code, "logout")
	code, _, _ = s.ask("GET", v.base, "", "Cookie", v.cookie)
	s.wants(403, code, "a page after logout")
}

// Mail programs and chats fetch links. A link works once, for the first that opens it.
func TestLoginLinks(t *testing.T) {
	s := newSite(t)
	token, err := s.store.Login(t.Context(), Person)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		code, text, _ := s.ask("GET", "/login/"+token, "")
		if s.wants(200, code, "look"); !strings.Contains(text, "<button") {
			t.Errorf("no button: %s", text)
		}
	}
	code, _, _ := s.ask("POST", "/login", "token="+token, "Origin", "https://evil.example")
	s.wants(403, code, "a form of another site")
	code, _, _ = s.ask("POST", "/login", "token="+token, "Origin", s.at)
	s.wants(303, code, "the button")
	for _, again := range []string{token, hash(token), "", secret(), strings.Repeat("x", 1000)} {
		code, _, h := s.ask("POST", "/login", "token="+again, "Origin", s.at)
		if s.wants(403, code, "again"); h.Get("Set-Cookie") != "" {
			t.Error("a cookie for nothing")
		}
	}
	limited := false
	for range loginBurst + 1 {
		code, _, _ := s.ask("POST", "/login", "token="+secret(), "Origin", s.at)
		limited = limited || code == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("logins can be tried without limit")
	}
}

// An agent that reads the file finds nothing to log in with.
func TestSecretsAreNotOnDisk(t *testing.T) {
	s := newSite(t)
	v := s.login(Person)
	token, err := s.store.Login(t.Context(), Person)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.store.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, v.cookie[3:], strings.Trim(v.base, "/s"), v.form} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s has %s", s.store.path, secret)
		}
	}
	if info, err := os.Stat(s.store.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// Pages go on after a restart, unless another program may have had the port.
func TestSessionsOutliveTheServer(t *testing.T) {
	s := newSite(t)
	if err := s.store.Listen(t.Context(), s.at); err != nil {
		t.Fatal(err)
	}
	v := s.login(Person)
	path, cookie := strings.Trim(v.base, "/")[2:], v.cookie[3:]
	again, err := OpenStore(s.store.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Listen(t.Context(), s.at); err != nil {
		t.Fatal(err)
	}
	if _, ok := again.find(path, cookie); !ok {
		t.Error("the session ended with the server")
	}
	if err := again.Listen(t.Context(), "http://127.0.0.1:1"); err != nil {
		t.Fatal(err)
	}
	if _, ok := again.find(path, cookie); ok {
		t.Error("the session goes on at another port")
	}
}

// The cookie is only for the path of its session: a second server on another port of the same host,
// to which a browser sends the cookies of the host, receives nothing.
func TestNeighborsGetNoCookie(t *testing.T) {
	s := newSite(t)
	v := s.login(Person)
	got := make(chan string, 1)
	neighbor := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got <- r.Header.Get("Cookie")
	}))
	defer neighbor.Close()
	jar := newJar(t, s.at, v)
	client := &http.Client{Jar: jar}
	res, err := client.Get(neighbor.URL + "/s/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if cookies := <-got; cookies != "" {
		t.Errorf("the neighbor got %q", cookies)
	}
}

// newJar returns a browser's cookies after a login.
func newJar(t *testing.T, at string, v visit) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(at + "/login")
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(u, []*http.Cookie{{Name: cookieName, Value: v.cookie[3:], Path: v.base}})
	return jar
}

func TestSlowAndMany(t *testing.T) {
	s := newSite(t)
	v := s.login(Person)
	var held []net.Conn
	defer func() {
		for _, c := range held {
			c.Close()
		}
	}()
	for range 1000 {
		c, err := net.Dial("tcp", s.host)
		if err != nil {
			break // the system's limit, or the queue's
		}
		held = append(held, c)
	}
	open := held
	for deadline := time.Now().Add(30 * time.Second); len(open) > MostConnections; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d connections are open", len(open), len(held))
		}
		open = slices.DeleteFunc(slices.Clone(open), func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := c.Read(make([]byte, 1))
			return err != nil && !os.IsTimeout(err)
		})
	}
	for _, c := range held {
		c.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		r, _ := http.NewRequest("GET", s.at+v.base, nil)
		r.Header.Set("Cookie", v.cookie)
		res, err := http.DefaultTransport.RoundTrip(r)
		if err == nil {
			res.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no page after the flood: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A program that sends or reads slowly, or too much, holds nothing for long.
func TestSlowAndLong(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, MaxBody))
			sent <- err
			return
		}
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				sent <- err
				return
			}
		}
	})
	short := 300 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l, nil, endless, times{short, short, short, short}) }()
	defer func() {
		cancel()
		<-done
	}()
	for _, tt := range []struct {
		what, sends string
		handled     bool // a handler is told
	}{
		{"half a header", "GET / HTTP/1.1\r\nHost: x\r\n", false},
		{"half a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx", true},
		{"a long body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 2*MaxBody), true},
		{"a reader that doesn't read", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"a long header", "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 4*maxHeader), false},
		{"nothing", "", false},
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, tt.sends) // the server may have closed it already
		if tt.handled {
			select {
			case err := <-sent:
				if err == nil {
					t.Errorf("%s: read whole", tt.what)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s holds a handler", tt.what)
			}
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); os.IsTimeout(err) {
			t.Errorf("%s holds a connection", tt.what)
		}
		c.Close()
	}
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	a, err := OwnCertificate(dir, "192.168.1.20")
	if err != nil {
		t.Fatal(err)
	}
	b, err := OwnCertificate(dir, "192.168.1.20")
	if err != nil || Fingerprint(a) != Fingerprint(b) {
		t.Errorf("another certificate: %v", err)
	}
	if err := a.Leaf.VerifyHostname("192.168.1.20"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "192.168.1.20.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

func TestLoginFile(t *testing.T) {
	var b bytes.Buffer
	if err := WriteLoginFile(&b, "http://127.0.0.1:1", `to"ken`); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `value="to&#34;ken"`) ||
		!strings.Contains(b.String(), `action="http://127.0.0.1:1/login"`) {
		t.Error(b.String())
	}
}
