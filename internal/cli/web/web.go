// Package web implements the pages of gl web: what waits for a person, a board, and a page for each
// slice. The pages are made from the view models that gl review, status, why and board show, and
// their buttons run the operations of package ops, as the commands do. It decides nothing itself.
// Package httpguard lets requests through to it.
package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/proc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// A Config is what the pages need.
type Config struct {
	Project *project.Project
	// Open opens the project again: an action sees its configuration as it is then.
	Open func() (*project.Project, error)
	Plan func(pr *project.Project, now time.Time) (*plan.Plan, error)
	Self string // path of gl
	// Ended is the line that open pages show once the server has ended.
	Ended string
	// Environ is for the merge queue's worker, if an action starts one.
	Environ environ.Environ
	Trust   trust.Store
}

// A Server has the pages. It is the handler of requests that were let through.
type Server struct {
	Config
	hub   *hub
	mux   *http.ServeMux
	notes notes
}

// New returns the server of a project's pages, which wait until Run has read the project.
func New(c Config) *Server {
	s := &Server{Config: c, hub: newHub(c), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /{$}", s.needs)
	s.mux.HandleFunc("GET /board", s.board)
	s.mux.HandleFunc("GET /slice/{id}", s.slice)
	s.mux.HandleFunc("GET /slice/{id}/diff", s.diff)
	s.mux.HandleFunc("GET /slice/{id}/log", s.log)
	s.mux.HandleFunc("GET /slice/{id}/history", s.history)
	s.mux.HandleFunc("GET /report", s.report)
	s.mux.HandleFunc("GET /events", s.events)
	s.mux.HandleFunc("POST /do/{action}", s.do)
	return s
}

// Run reads the project whenever it changes, until ctx ends.
func (s *Server) Run(ctx context.Context) { s.hub.run(ctx) }

// End brings open pages up to date, and tells them that the server ends. Call it once, while Run
// runs.
func (s *Server) End() { s.hub.end() }

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Refuse refuses the programs of this machine that gl started: they make no person's decisions,
// even with a token that they have found.
func (s *Server) Refuse(r *http.Request) error {
	near, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return nil
	}
	here, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return nil
	}
	far, err := netip.ParseAddrPort(here.String())
	if err != nil {
		return nil
	}
	for _, pid := range proc.OfConnection(near, far) {
		if caller := attempt.CallerAt(s.Project.Runs, pid); caller != nil {
			return fmt.Errorf("the page is for a person, and this is %s", caller)
		}
	}
	return nil
}

// wantsJSON reports whether a request asks for the page's document.
func wantsJSON(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "application/json")
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	text, err := jsondoc.Line(v, "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text) // the reader may be gone
}

// An access is what the reader of a page may do, and how.
type access struct {
	Base   string // the path of the session
	Form   string // the token of its forms
	MayAct bool
}

// A frame is what every page has.
type frame struct {
	access
	Title   string
	Project string
	Page    string // the page's path below Base
	Here    string // with its query
	Version string // of what it shows
	Log     string // the query of its log: the attempt, and where the log continues
	Note    string // what the last action did
	Bad     bool   // it did nothing
	Needs   int    // how many things wait for a person
}

func (s *Server) frame(r *http.Request, title string) frame {
	session := httpguard.Of(r)
	look := s.hub.look()
	f := frame{Title: title, Project: s.name(),
		access: access{session.Base, session.Form, session.Role == httpguard.Person},
		Page:   strings.TrimPrefix(r.URL.Path, "/"), Version: look.version,
		Needs: len(look.pending)}
	query := r.URL.Query()
	f.Note, f.Bad = s.notes.take(query.Get("note"))
	query.Del("note")
	f.Here = f.Page
	if len(query) > 0 {
		f.Here += "?" + query.Encode()
	}
	return f
}

// name returns the project's name.
func (s *Server) name() string { return filepath.Base(s.Project.Root) }

// fail shows an error instead of a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, code int, err error) {
	text := sanitize.Text(err.Error())
	if wantsJSON(r) {
		writeJSON(w, code, map[string]string{"error": text})
		return
	}
	s.show(w, code, "error", struct {
		frame
		Text string
	}{s.frame(r, http.StatusText(code)), text})
}
