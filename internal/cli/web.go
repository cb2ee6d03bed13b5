package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"

	"greenlight/internal/base/httpguard"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/web"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/project"
)

// webOptions are the flags of gl web.
type webOptions struct {
	listen, cert, key            string
	noOpen, link, reader, logout bool

	withRun bool // it ends with a run
}

func newWeb(app *cmdutil.App) *cobra.Command {
	var o webOptions
	c := &cobra.Command{
		Use:   "web",
		Short: "Show what waits for you in the browser, and answer there",
		Long: `Serve pages on this machine: what waits for you, with what is needed to decide; a board; and a page for each slice with its log and
its changes. They accept, reject, answer, retry, say and stop as the commands do. gl web runs beside gl slice, or alone; it launches
nothing. Ctrl-C ends it; its pages connect again when it is back.

A browser needs a login link, which works once: gl web opens the browser with it, or prints it. If gl web is already running, another gl web
makes another link. --reader makes one for reading only.

From another machine, use a tunnel (ssh -L, tailscale serve), and set web.url to the address that people use: notifications link to it.
--listen serves the local network, with TLS: a certificate of its own, whose fingerprint it prints, or --cert and --key.

Exit codes: 0 ended; 1 it failed, or there is no project; 2 wrong usage.`,
		Example: "  gl web\n  gl web --link\n  gl web --listen 192.168.1.20:8443",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case (o.cert == "") != (o.key == ""):
				return cmdutil.Usage("use --cert and --key together")
			case o.logout && (o.listen != "" || o.reader || o.link):
				return cmdutil.Usage("use --logout alone")
			}
			return runWeb(c.Context(), app, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.listen, "listen", "",
		"serve at `ADDR`, an address of this machine, with TLS unless it is local")
	f.StringVar(&o.cert, "cert", "", "use the certificate in `FILE` (PEM)")
	f.StringVar(&o.key, "key", "", "use the certificate's key in `FILE` (PEM)")
	f.BoolVar(&o.noOpen, "no-open", false, "don't open the browser")
	f.BoolVar(&o.link, "link", false, "print a login link even if stdout isn't a terminal")
	f.BoolVar(&o.reader, "reader", false, "make a login link for reading only")
	f.BoolVar(&o.logout, "logout", false, "end all sessions and login links")
	return c
}

// webFile is the file in runs with the sessions of gl web, as hashes.
const webFile = "web.json"

func runWeb(ctx context.Context, app *cmdutil.App, o webOptions) error {
	w, err := newWebRun(app, o)
	if err != nil {
		return err
	}
	if o.logout {
		if err := w.store.End(ctx, ""); err != nil {
			return err
		}
		app.IO.Printf("All sessions of gl web have ended.\n")
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return w.run(ctx)
}

// beginWeb serves the pages beside a run, and returns what ends that. The run goes on without them.
func beginWeb(ctx context.Context, app *cmdutil.App) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w, err := newWebRun(app, webOptions{withRun: true})
		if err == nil {
			err = w.run(ctx)
		}
		switch {
		case err != nil && ctx.Err() == nil:
			app.IO.Message("warning: gl web: %v", err)
		case ctx.Err() != nil:
			app.IO.Message("The pages have ended with the run: gl web shows them again")
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func newWebRun(app *cmdutil.App, o webOptions) (*webRun, error) {
	pr, err := app.Project()
	if err != nil {
		return nil, err
	}
	if err := pr.Runs.Files.Prepare(); err != nil {
		return nil, err
	}
	store, err := httpguard.OpenStore(filepath.Join(pr.Runs.Files.Dir(), webFile))
	if err != nil {
		return nil, err
	}
	return &webRun{app: app, pr: pr, store: store, webOptions: o}, nil
}

// A webRun is one run of gl web.
type webRun struct {
	webOptions
	app     *cmdutil.App
	pr      *project.Project
	store   *httpguard.Store
	address string // by which browsers of this machine or network reach it
	tls     *tls.Config
	print   string // the fingerprint of its own certificate
}

func (w *webRun) run(ctx context.Context) error {
	unlock, err := httpguard.Alone(filepath.Join(w.pr.Runs.Files.Dir(), "web.lock"))
	if errors.Is(err, httpguard.ErrRunning) && w.listen == "" {
		w.address = w.store.Address()
		w.app.IO.Message("gl web is already running, at %s", sanitize.Line(w.address))
		return w.invite(ctx)
	}
	if errors.Is(err, httpguard.ErrRunning) {
		return fmt.Errorf("%w, at %s: end it with Ctrl-C where it runs, then run this again", err, sanitize.Line(w.store.Address()))
	}
	if err != nil {
		return err
	}
	defer unlock()
	l, err := w.open(ctx)
	if err != nil {
		return err
	}
	if err := w.store.Listen(ctx, w.address); err != nil {
		return err
	}
	w.app.IO.Printf("gl web: %s\n", w.address)
	if w.print != "" {
		w.app.IO.Printf("Its certificate is its own. SHA-256: %s\n", w.print)
	}
	go func() {
		if err := w.invite(ctx); err != nil {
			w.app.IO.Message("gl: %v", err)
		}
	}()
	return w.serve(ctx, l)
}

// serve answers until ctx ends, and tells open pages when it does.
func (w *webRun) serve(ctx context.Context, l net.Listener) error {
	u, err := url.Parse(w.address)
	if err != nil {
		return err
	}
	ended := "gl web has ended. "
	if w.withRun {
		ended = "The run has ended, and its pages with it. "
	}
	ended += "Run gl web in the project's directory: this page then continues by itself"
	pages := web.New(web.Config{Project: w.pr, Self: selfOr(), Ended: ended, Environ: w.app.Environ,
		Trust: trust.Open(w.app.Getenv),
		Open:  func() (*project.Project, error) { return w.app.Project() },
		Plan: func(pr *project.Project, now time.Time) (*plan.Plan, error) {
			return shownPlan(pr, now, "")
		}})
	guard := httpguard.New(httpguard.Config{Store: w.store, Scheme: u.Scheme, Hosts: hosts(u),
		Addresses: w.tunnels(ctx), Static: web.Static(), Pages: pages,
		Refuse: pages.Refuse})
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { pages.Run(serving) })
	all.Go(func() {
		select {
		case <-ctx.Done():
			pages.End()
			cancel()
		case <-serving.Done():
		}
	})
	err = httpguard.Serve(serving, l, w.tls, guard)
	cancel()
	all.Wait()
	return err
}

// selfOr returns the path of gl; "gl" if it can't be found.
func selfOr() string {
	self, err := cmdutil.Self()
	if err != nil {
		return "gl"
	}
	return self
}

// hosts returns the names by which a server at an address may be called.
func hosts(u *url.URL) []string {
	if !httpguard.Local(u.Host) {
		return []string{u.Host}
	}
	return []string{"127.0.0.1:" + u.Port(), "localhost:" + u.Port(), "[::1]:" + u.Port()}
}

// tunnels returns web.url, if this person has allowed it: a repository must not name other hosts.
func (w *webRun) tunnels(ctx context.Context) []string {
	address := w.pr.Config.WebURL
	if address == "" {
		return nil
	}
	if commands, err := w.pr.MustAllow().All(ctx); err != nil ||
		trust.Open(w.app.Getenv).Check(w.pr.Root, commands) != nil {
		w.app.IO.Message("web.url isn't used: run gl trust first")
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	return []string{u.Scheme + "://" + u.Host}
}

// open begins to listen: at --listen, else on this machine, where the last gl web did if that port
// is free.
func (w *webRun) open(ctx context.Context) (net.Listener, error) {
	at := w.listen
	if at == "" {
		at = "127.0.0.1:0"
		if u, err := url.Parse(w.store.Address()); err == nil && httpguard.Local(u.Host) &&
			u.Port() != "" {
			at = "127.0.0.1:" + u.Port()
		}
	}
	if _, _, err := net.SplitHostPort(at); err != nil {
		at = net.JoinHostPort(strings.Trim(at, "[]"), "0")
	}
	host, _, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err != nil || host == "" || ip != nil && ip.IsUnspecified() {
		return nil, cmdutil.Usage("--listen needs one address of this machine, such as 192.168.1.20:8443, not %q", w.listen)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", at)
	if err != nil && w.listen == "" {
		l, err = listen.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	if err := w.secure(host); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	scheme := "http"
	if w.tls != nil {
		scheme = "https"
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	w.address = scheme + "://" + net.JoinHostPort(host, port)
	return l, nil
}

// secure chooses the certificate: none for this machine alone.
func (w *webRun) secure(host string) error {
	var c tls.Certificate
	var err error
	switch {
	case w.cert != "":
		c, err = tls.LoadX509KeyPair(w.cert, w.key)
	case httpguard.Local(host):
		return nil
	default:
		c, err = httpguard.OwnCertificate(filepath.Join(w.pr.Runs.Files.Dir(), "web"), host)
		if err == nil {
			w.print = httpguard.Fingerprint(c)
		}
	}
	if err != nil {
		return fmt.Errorf("the certificate: %w", err)
	}
	w.tls = &tls.Config{Certificates: []tls.Certificate{c}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"}}
	return nil
}

// invite opens the browser with a login or, where there is none, prints a login link.
func (w *webRun) invite(ctx context.Context) error {
	role := httpguard.Person
	if w.reader {
		role = httpguard.Reader
	}
	opens := !w.noOpen && !w.reader && !w.link && w.listen == "" && w.app.IO.Terminal() != nil &&
		hasBrowser(w.app)
	if !opens && !w.link && !w.reader && w.app.IO.Terminal() == nil {
		w.app.IO.Message("gl web --link prints a login link")
		return nil
	}
	token, err := w.store.Login(ctx, role)
	if err != nil {
		return err
	}
	if opens {
		return w.openBrowser(ctx, token)
	}
	address := w.address
	if tunnels := w.tunnels(ctx); len(tunnels) > 0 {
		address = tunnels[0]
	}
	link := address + "/login/" + token
	what := "Log in once"
	if w.reader {
		what = "For reading only, once"
	}
	w.app.IO.Printf("%s, within 10 minutes: %s\n", what, link)
	if w.listen != "" && w.app.IO.Terminal() != nil {
		qrterminal.GenerateHalfBlock(link, qrterminal.L, w.app.IO)
	}
	return nil
}

// hasBrowser reports whether a browser that gl opens is in front of the person.
func hasBrowser(app *cmdutil.App) bool {
	return app.Getenv("BROWSER") != "" || app.Getenv("DISPLAY") != "" ||
		app.Getenv("WAYLAND_DISPLAY") != "" ||
		cmp.Or(app.Getenv("SSH_CONNECTION"), app.Getenv("SSH_TTY")) == "" && onDarwin
}

// fileLife is how long a browser has to read the login file.
const fileLife = time.Minute

// openBrowser opens a file that posts the token: a command line can be read by every process.
func (w *webRun) openBrowser(ctx context.Context, token string) error {
	f, err := os.CreateTemp(w.pr.Runs.Files.Dir(), "login-*.html") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(httpguard.WriteLoginFile(f, w.address, token), f.Close()); err != nil {
		return err
	}
	used, cancel := context.WithCancel(ctx)
	defer cancel()
	var failed error
	go func() { // a browser that wasn't running runs on
		if err := openInBrowser(ctx, w.app, f.Name()); err != nil {
			failed = fmt.Errorf("%w; gl web --link prints a login link", err)
			cancel()
		}
	}()
	w.store.AwaitUse(used, token, fileLife)
	if used.Err() != nil {
		return failed
	}
	return nil
}
