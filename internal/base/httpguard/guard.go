// Package httpguard keeps a web server that runs on a person's machine to the people it is for. It
// owns who may log in, sessions, which hosts and origins a request may name, the tokens of forms,
// the headers that tell a browser what a page may do, and limits. It knows nothing of what the
// pages show.
//
// Its neighbors on the machine are hostile: agents open ports, and a browser sends cookies to every
// port of a host. So the cookie of a session is only for an unguessable path, and everything that
// needs the session lies below that path.
package httpguard

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Config is what a Guard needs.
type Config struct {
	Store  *Store
	Scheme string   // http or https
	Hosts  []string // with ports, by which requests may name this server
	// other addresses of this server, such as a tunnel's: https://box.example
	Addresses []string
	Static    http.Handler // files for everybody, below /static/
	Pages     http.Handler // for sessions: Of tells which, and the path is the one below theirs
	// Refuse returns why the program at the other end may neither log in nor act; nil for no reason
	Refuse func(r *http.Request) error
}

// A Guard is a handler that lets only sessions through.
type Guard struct {
	Config
	logins bucket
}

// New returns a Guard.
func New(c Config) *Guard {
	for _, address := range c.Addresses {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			c.Hosts = append(c.Hosts, u.Host)
		}
	}
	return &Guard{Config: c, logins: bucket{room: loginBurst, left: loginBurst}}
}

// A Session is what a request was let through for.
type Session struct {
	Role Role
	Base string // the path of the session's pages: /s/RANDOM/
	Form string // the token that its forms carry
	path string
}

type sessionKey struct{}

// Of returns the session of a request to Pages.
func Of(r *http.Request) Session {
	s, _ := r.Context().Value(sessionKey{}).(Session)
	return s
}

const (
	cookieName = "gl"
	// FormField is the field of a form that carries Session.Form.
	FormField = "form"
	// MaxBody is the size of a request's body in bytes.
	MaxBody = 128 << 10

	loginBurst = 10
	loginPause = time.Second // until another login may be tried
)

// policy lets a page use nothing but what this server sends, and run no script in the page itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if !slices.Contains(g.Hosts, r.Host) { // a name that was bound to this address by others
		refuse(w, r, http.StatusMisdirectedRequest,
			"This address isn't one that gl web answers to. Set web.url to use another one.")
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		refuse(w, r, http.StatusMethodNotAllowed, "The page knows no "+r.Method+".")
		return
	}
	if g.Refuse != nil && r.Method == http.MethodPost {
		if err := g.Refuse(r); err != nil {
			refuse(w, r, http.StatusForbidden, err.Error())
			return
		}
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/s/"):
		g.session(w, r)
	case strings.HasPrefix(r.URL.Path, "/static/") && r.Method != http.MethodPost:
		http.StripPrefix("/static/", g.Static).ServeHTTP(w, r)
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		g.login(w, r)
	case strings.HasPrefix(r.URL.Path, "/login/") && r.Method != http.MethodPost:
		// a mail program or a chat may have fetched the link: only the button uses it up
		show(w, r, http.StatusOK, page{Title: "Log in", Token: r.URL.Path[len("/login/"):]})
	case r.Method != http.MethodPost && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/open/")):
		show(w, r, http.StatusOK, page{Title: "Greenlight", Open: true, Text: noSession})
	default:
		refuse(w, r, http.StatusNotFound, "There is no such page.")
	}
}

const noSession = "This browser isn't logged in. Run gl web for a login link."

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	// "no-referrer" would make browsers leave the origin out of forms
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
}

// login begins a session.
func (g *Guard) login(w http.ResponseWriter, r *http.Request) {
	// a file that gl wrote has no origin, and its token is proof enough
	if origin := r.Header.Get("Origin"); origin != "null" && !g.sameOrigin(r) {
		refuse(w, r, http.StatusForbidden, "This form comes from another site.")
		return
	}
	if !g.logins.take(time.Now()) {
		w.Header().Set("Retry-After", "5")
		refuse(w, r, http.StatusTooManyRequests, "Too many logins were tried: wait a few seconds.")
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "This form can't be read.")
		return
	}
	path, cookie, err := g.Store.begin(r.Context(), r.PostForm.Get("token"))
	if errors.Is(err, errLogin) {
		refuse(w, r, http.StatusForbidden, "This login link was used, or has expired. Run gl web for another one.")
		return
	}
	if err != nil {
		refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	base := "/s/" + path + "/"
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Path: base, HttpOnly: true,
		Secure: g.secure(r), SameSite: http.SameSiteLaxMode,
		MaxAge: int(sessionLife / time.Second)})
	http.Redirect(w, r, base, http.StatusSeeOther)
}

// secure reports whether the browser reached the server by https.
func (g *Guard) secure(r *http.Request) bool {
	return g.Scheme == "https" || slices.Contains(g.Addresses, "https://"+r.Host)
}

// session lets a request through that has the path and the cookie of one session.
func (g *Guard) session(w http.ResponseWriter, r *http.Request) {
	path, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/s/"), "/")
	cookie := ""
	if c, err := r.Cookie(cookieName); err == nil {
		cookie = c.Value
	}
	role, found := g.Store.find(path, cookie)
	if !ok || !found {
		refuse(w, r, http.StatusForbidden, noSession)
		return
	}
	s := Session{Role: role, Base: "/s/" + path + "/", Form: formToken(cookie), path: path}
	if r.Method == http.MethodPost {
		if !g.sameOrigin(r) {
			refuse(w, r, http.StatusForbidden, "This form comes from another site.")
			return
		}
		if err := r.ParseForm(); err != nil {
			code := http.StatusBadRequest
			if errors.As(err, new(*http.MaxBytesError)) {
				code = http.StatusRequestEntityTooLarge
			}
			refuse(w, r, code, "This form can't be read, or is too long.")
			return
		}
		if !same(r.PostForm.Get(FormField), s.Form) {
			refuse(w, r, http.StatusForbidden, "This form isn't one of this session: load the page again.")
			return
		}
		if rest == "logout" {
			g.logout(w, r, s)
			return
		}
		if role != Person {
			refuse(w, r, http.StatusForbidden, "This session is for reading only.")
			return
		}
	}
	inner := r.WithContext(context.WithValue(r.Context(), sessionKey{}, s))
	u := *r.URL
	u.Path, u.RawPath = "/"+rest, ""
	inner.URL = &u
	g.Pages.ServeHTTP(w, inner)
}

func (g *Guard) logout(w http.ResponseWriter, r *http.Request, s Session) {
	if err := g.Store.End(r.Context(), s.path); err != nil {
		refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: s.Base, MaxAge: -1, HttpOnly: true})
	refuse(w, r, http.StatusOK, "You are logged out. Run gl web for a login link.")
}

// sameOrigin reports whether a form was on a page of this server. Browsers send the origin of every
// form that changes something.
func (g *Guard) sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == g.Scheme+"://"+r.Host || slices.ContainsFunc(g.Addresses, func(a string) bool {
		return origin == strings.TrimRight(a, "/")
	})
}

// A bucket limits how often something may happen.
type bucket struct {
	mu   sync.Mutex
	room int
	left int
	last time.Time
}

func (b *bucket) take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more := int(now.Sub(b.last) / loginPause); more > 0 {
		b.left, b.last = min(b.room, b.left+more), now
	}
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

// Local reports whether an address can be reached only from this machine.
func Local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
