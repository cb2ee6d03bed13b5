package hub_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/roster"
	"greenlight/internal/workspace/git"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx := t.Context()
	used := s.invite()
	if err := hub.Join(ctx, t.TempDir(), used, "w1"); err != nil {
		t.Fatal(err)
	}
	wrong, otherServer, name := s.invite(), s.invite(), s.invite()
	wrong.Secret = strings.Repeat("A", len(wrong.Secret))
	otherServer.Pin = strings.Repeat("A", len(otherServer.Pin))
	for what, c := range map[string]struct {
		token roster.Token
		name  string
		want  string
	}{
		"a used token":           {used, "w2", "was used"},
		"a wrong token":          {wrong, "w2", "was used"},
		"another server":         {otherServer, "w2", "certificate"},
		"a name that is taken":   {name, "w1", "joined already"},
		"a name that is a path":  {name, "../w", "small letters"},
		"a name with a wildcard": {name, "*", "small letters"},
	} {
		dir := t.TempDir()
		err := hub.Join(ctx, dir, c.token, c.name)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := hub.ReadJoined(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: joined: %v", what, err)
		}
	}
	expired := s.invite()
	file := filepath.Join(s.options.Dir, "roster.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for _, i := range c["invitations"].([]any) {
		i.(map[string]any)["expires"] = time.Now().Add(-time.Second)
	}
	if data, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(expired.Secret)) {
		t.Error("the file has the secret of an invitation")
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hub.Join(ctx, t.TempDir(), expired, "w3"); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an old token: %v", err)
	}
	if limited := joinOften(s); !limited {
		t.Error("tokens can be tried without limit")
	}
}

func joinOften(s *site) bool {
	t := s.invite()
	t.Secret = "x"
	for range 20 {
		err := hub.Join(s.t.Context(), s.t.TempDir(), t, "w9")
		if err != nil && strings.Contains(err.Error(), "too many") {
			return true
		}
	}
	return false
}

// Files with keys are for their owner alone.
func TestKeysArePrivate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	if err := hub.Join(t.Context(), dir, s.invite(), "w"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{filepath.Join(dir, "worker.key.json"), filepath.Join(s.options.Dir, "server.key.json"),
		filepath.Join(s.options.Dir, "roster.json")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	if info, err := os.Stat(s.options.Dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v %v", s.options.Dir, info, err)
	}
}

// revoked waits until a worker's connection ends because the worker is revoked.
func revoked(t *testing.T, w hub.Worker) {
	t.Helper()
	select {
	case _, open := <-w.Messages():
		if open || !errors.Is(w.Err(), hub.ErrRevoked) {
			t.Errorf("open: %v, %v", open, w.Err())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("its connection goes on")
	}
}

// A revoked worker loses its connection, and gets neither messages nor commits.
func TestRevoked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, j := s.join("w")
	other, _ := s.join("other")
	f := remote.Fence{Attempt: "S-1.1.tok", Lease: 1}
	commit := s.lease("w", f)
	repo := bare(t)
	if err := w.Fetch(t.Context(), repo, f); err != nil {
		t.Fatal(err)
	}
	if err := s.Roster.Revoke(t.Context(), "w", false); err != nil { // as gl workers does
		t.Fatal(err)
	}
	revoked(t, w)
	if err := w.Send(t.Context(), []byte("x")); !errors.Is(err, hub.ErrRevoked) {
		t.Errorf("send: %v", err)
	}
	if err := w.Push(t.Context(), repo, f, commit); !errors.Is(err, hub.ErrRevoked) {
		t.Errorf("push: %v", err)
	}
	if err := s.Send(t.Context(), "w", []byte("x")); !errors.Is(err, hub.ErrUnknown) {
		t.Errorf("a message for it: %v", err)
	}
	if _, err := hub.Connect(j); !errors.Is(err, hub.ErrRevoked) {
		t.Errorf("connect: %v", err)
	}
	if err := s.Send(t.Context(), "other", []byte("y")); err != nil {
		t.Fatal(err)
	}
	wants(t, other.Messages(), "", "y")
}

// lease grants a lease and publishes the project's commit for it.
func (s *site) lease(worker string, f remote.Fence) (commit string) {
	s.t.Helper()
	commit = gitIn(s.t, s.options.Project, "rev-parse", "main")
	if err := errors.Join(s.Grant(s.t.Context(), worker, f), s.Publish(s.t.Context(), f, commit)); err != nil {
		s.t.Fatal(err)
	}
	return commit
}

func bare(t *testing.T) string {
	t.Helper()
	repo := filepath.Join(t.TempDir(), "w.git")
	gitIn(t, t.TempDir(), "init", "-q", "--bare", repo)
	return repo
}

// speak opens a connection to the port by hand, for a protocol, with a key: a worker's, or none.
func (s *site) speak(protocol string, certificate ...tls.Certificate) (*tls.Conn, error) {
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol},
		MinVersion: tls.VersionTLS13, Certificates: certificate}}
	ctx, cancel := context.WithTimeout(s.t.Context(), testfiles.Patience)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", s.Server.Listen)
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() { conn.Close() })
	return conn.(*tls.Conn), conn.SetDeadline(time.Now().Add(10 * time.Second))
}

// Strangers get a refusal or an end, and the port stays open for others.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stranger, err := hub.NewCertificate(make([]byte, 32), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"gl-nats/1", "gl-git/1"} {
		conn, err := s.speak(protocol, stranger)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(conn)
		if err != nil || !bytes.Contains(said, []byte("revoked")) || bytes.Contains(said, []byte("INFO")) {
			t.Errorf("%s: %q %v", protocol, said, err)
		}
	}
	if conn, err := s.speak("gl-nats/1"); err == nil { // TLS 1.3 tells the client with the first answer
		if said, err := io.ReadAll(conn); err == nil {
			t.Errorf("without a certificate: %q", said)
		}
	}
	if _, err := s.speak("http/1.1", stranger); err == nil {
		t.Error("another protocol is spoken")
	}
	conn, err := s.speak("gl-join/1", stranger)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write(bytes.Repeat([]byte("x"), 1<<20)) // a line without an end
	if said, _ := io.ReadAll(conn); bytes.Count(said, []byte("\n")) > 1 {
		t.Errorf("a line of a megabyte: %q", said)
	}
	var idle []net.Conn
	for range 100 { // of which only some are let in at a time
		c, err := net.Dial("tcp", s.Server.Listen)
		if err == nil {
			idle = append(idle, c)
		}
	}
	for _, c := range idle {
		c.Close()
	}
	token, dir := s.invite(), t.TempDir()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		err := hub.Join(t.Context(), dir, token, "w")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A dialer gives NATS a connection that is made already.
type dialer struct{ conn net.Conn }

func (d dialer) Dial(string, string) (net.Conn, error) { return d.conn, nil }

// nats connects to the server by hand, with a worker's certificate and any NKey.
func (s *site) nats(j *hub.Joined, seed string, o ...nats.Option) (*nats.Conn, error) {
	s.t.Helper()
	own, err := hub.NewCertificate(j.Seed, "w")
	if err != nil {
		s.t.Fatal(err)
	}
	conn, err := s.speak("gl-nats/1", own)
	if err != nil {
		s.t.Fatal(err)
	}
	if line := make([]byte, 3); conn.SetDeadline(time.Time{}) == nil {
		if _, err := io.ReadFull(conn, line); err != nil || string(line) != "{}\n" {
			s.t.Fatalf("%q %v", line, err)
		}
	}
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		s.t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		s.t.Fatal(err)
	}
	return nats.Connect("nats://x", append(o, nats.SetCustomDialer(dialer{conn}), nats.NoReconnect(), nats.Timeout(testfiles.Patience),
		nats.Nkey(public, pair.Sign), nats.CustomInboxPrefix("_INBOX."+j.Name))...)
}

// A worker has its own subjects and no others; NATS's own interfaces are closed to it.
func TestSubjects(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j := s.join("w")
	victim, _ := s.join("victim")
	for _, options := range [][]nats.Option{{nats.UserInfo("a", "b")}, {nats.Token("x")}, {}} {
		pair, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		seed, err := pair.Seed()
		if err != nil {
			t.Fatal(err)
		}
		if nc, err := s.nats(j, string(seed), options...); err == nil {
			nc.Close()
			t.Error("another key is let in")
		}
	}
	errs := make(chan error, 100)
	nc, err := s.nats(j, j.NKey, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	refused := func(what string) {
		t.Helper()
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-errs:
			if !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s is allowed", what)
		}
	}
	for _, subject := range []string{">", "gl.>", "gl.to.*", "gl.to.victim", "gl.from.w", "_INBOX.>", "_INBOX.victim.>", "$SYS.>", "$JS.>"} {
		if _, err := nc.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		refused("to listen to " + subject)
	}
	for _, subject := range []string{"gl.to.victim", "gl.from.victim", "gl.ready.victim", "gl.ack.victim.1", "gl.ack.w.1.2", "$JS.API.INFO",
		"$JS.API.STREAM.LIST", "$JS.API.STREAM.DELETE.x", "$SYS.REQ.SERVER.PING", "x"} {
		if err := nc.PublishRequest(subject, "_INBOX.w.x", []byte("x")); err != nil {
			t.Fatal(err)
		}
		refused("to send to " + subject)
	}
	// An answer doesn't reach where only the hub may send.
	if err := nc.PublishRequest("gl.from.w", "gl.to.victim", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if err := nc.PublishRequest("gl.ready.w", "gl.to.victim", nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(nc.Flush(), s.Send(t.Context(), "victim", []byte("real"))); err != nil {
		t.Fatal(err)
	}
	wants(t, victim.Messages(), "", "real")
}

// A worker that floods the coordinator fills its own queue, and disturbs no other.
func TestFlood(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 64 MB")
	}
	s := newSite(t)
	_, j := s.join("w")
	quiet, _ := s.join("quiet")
	nc, err := s.nats(j, j.NKey)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	data := make([]byte, remote.MaxMessage)
	full := false
	for range 200 {
		m, err := nc.Request("gl.from.w", data, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if full = string(m.Data) == "full"; full {
			break
		}
	}
	if !full {
		t.Error("200 MB are kept")
	}
	if err := nc.Publish("gl.from.w", make([]byte, 2<<20)); err == nil {
		t.Error("a message of 2 MB is sent")
	}
	if err := quiet.Send(t.Context(), []byte("x")); err != nil {
		t.Error(err)
	}
	for {
		e := receive(t, s.Messages())
		if e.Worker == "quiet" {
			break
		}
	}
}

func fence(n int) remote.Fence { return remote.Fence{Attempt: fmt.Sprintf("S-%d.1.tok", n), Lease: 1} }

// Each worker fetches the commits of its own leases, and nothing else by any name.
func TestFetchedAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, _ := s.join("w")
	if _, j := s.join("other"); j == nil {
		t.Fatal("no other")
	}
	first := s.lease("w", fence(1))
	dir := filepath.Dir(s.options.Project)
	secret := commitFile(t, dir, "secret.txt", "secret\n")
	s.lease("other", fence(2))
	if err := w.Fetch(t.Context(), bare(t), fence(2)); !errors.Is(err, hub.ErrWithdrawn) {
		t.Errorf("another's lease: %v", err)
	}
	repo := bare(t)
	if err := w.Fetch(t.Context(), repo, fence(1)); err != nil {
		t.Fatal(err)
	}
	if refs := gitIn(t, repo, "for-each-ref", "--format=%(objectname)"); refs != first {
		t.Errorf("fetched %s, want %s", refs, first)
	}
	for _, version := range []string{"0", "1", "2"} {
		if out := s.ask(fence(1), version, secret); strings.Contains(out, "PACK") || !strings.Contains(out, "not our ref") {
			t.Errorf("protocol %s: asked for a hidden commit: %q", version, out)
		}
	}
}

// ask asks the exchange for a commit as a client of git's protocol could, and returns the answer.
func (s *site) ask(f remote.Fence, version, want string) string {
	s.t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = s.Serve(context.Background(), "w", hub.FetchService, f, theirs, func() error { return nil })
		theirs.Close()
	}()
	defer ours.Close()
	go func() {
		packet := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
		_, _ = io.WriteString(ours, packet("want "+want+" side-band-64k version="+version+"\n")+"0000"+packet("done\n"))
	}()
	_ = ours.SetReadDeadline(time.Now().Add(5 * time.Second))
	out, _ := io.ReadAll(ours)
	return string(out)
}

// A pushing is what git sends to push: the commands that name refs, and a pack.
func (s *site) pushing(f remote.Fence, commands []string, pack []byte) (answer string, err error) {
	s.t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.Serve(context.Background(), "w", hub.PushService, f, theirs, func() error { return nil })
		theirs.Close()
	}()
	go func() {
		for i, c := range commands {
			if i == 0 {
				c += "\x00 report-status"
			}
			_, _ = fmt.Fprintf(ours, "%04x%s", len(c)+4, c)
		}
		_, _ = ours.Write(append([]byte("0000"), pack...))
	}()
	_ = ours.SetReadDeadline(time.Now().Add(testfiles.Patience))
	out, _ := io.ReadAll(ours)
	ours.Close()
	return string(out), <-done
}

// No push changes a ref but its lease's own, whatever git's protocol would allow.
func TestHostileRefs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.join("w")
	s.join("other")
	mine, theirs := fence(1), fence(2)
	commit := s.lease("w", mine)
	s.lease("other", theirs)
	exchange := filepath.Join(s.options.Dir, "exchange.git")
	before := gitIn(t, exchange, "for-each-ref")
	zero := strings.Repeat("0", 40)
	command := func(from, to, ref string) string { return from + " " + to + " " + ref }
	empty := gitIn(t, exchange, "hash-object", "-t", "tree", "-w", "/dev/null")
	for what, commands := range map[string][]string{
		"another's ref":       {command(zero, commit, theirs.Ref())},
		"a job's ref":         {command(commit, empty, hub.JobRef(mine, commit))},
		"a branch":            {command(zero, commit, "refs/heads/main")},
		"HEAD":                {command(zero, commit, "HEAD")},
		"a ref below":         {command(zero, commit, mine.Ref()+"/x")},
		"a path":              {command(zero, commit, mine.Ref()+"/../../../../x")},
		"a file of git":       {command(zero, commit, "config")},
		"two refs":            {command(zero, commit, mine.Ref()), command(zero, commit, "refs/heads/main")},
		"the same ref twice":  {command(zero, commit, mine.Ref()), command(zero, commit, mine.Ref())},
		"a deletion":          {command(commit, zero, mine.Ref())},
		"a certificate":       {"push-cert"},
		"no command":          {"x"},
		"a name with a space": {command(zero, commit, mine.Ref()+" x")},
	} {
		if answer, err := s.pushing(mine, commands, nil); err == nil || strings.Contains(answer, "\nok ") {
			t.Errorf("%s: %q, %v", what, answer, err)
		}
	}
	if now := gitIn(t, exchange, "for-each-ref"); now != before {
		t.Errorf("refs before\n%s\nand after\n%s", before, now)
	}
	if _, err := s.pushing(theirs, nil, nil); !errors.Is(err, hub.ErrWithdrawn) {
		t.Errorf("the lease of another: %v", err)
	}
	if _, err := s.pushing(fence(3), nil, nil); !errors.Is(err, hub.ErrWithdrawn) {
		t.Errorf("a lease of none: %v", err)
	}
}

// Objects that git's checks refuse, that are too large, or whose history isn't complete are
// refused, and the exchange and the project have nothing of them.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, _ := s.join("w")
	s.SetMaxPush(1 << 20)
	f := fence(1)
	commit := s.lease("w", f)
	repo := bare(t)
	if err := w.Fetch(t.Context(), repo, f); err != nil {
		t.Fatal(err)
	}
	blob := gitIn(t, repo, "hash-object", "-w", "--stdin")
	tree := func(entries string) string { return makeTree(t, repo, entries) }
	commitOf := func(tree string) string {
		return gitIn(t, repo, "commit-tree", "-p", commit, "-m", "x", tree)
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, randomBytes(4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, work := range map[string]string{
		".git in a tree":     commitOf(tree("40000 .git\x00" + blob)),
		".GIT in a tree":     commitOf(tree("100644 .GIT\x00" + blob)),
		"git~1 in a tree":    commitOf(tree("100644 git~1\x00" + blob)),
		"a parent directory": commitOf(tree("100644 ..\x00" + blob)),
		"a name with a '/'":  commitOf(tree("100644 a/b\x00" + blob)),
		"a name twice":       commitOf(tree("100644 a\x00" + blob + "100644 a\x00" + blob)),
		".gitmodules that runs something": commitOf(tree("100644 .gitmodules\x00" + gitInput(t, repo,
			"[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n", "hash-object", "-w", "--stdin"))),
		"4 MB":             commitOf(tree("100644 a\x00" + gitIn(t, repo, "hash-object", "-w", large))),
		"a missing parent": rawCommit(t, repo, tree("100644 a\x00"+blob), strings.Repeat("12", 20)),
	} {
		if err := w.Push(t.Context(), repo, f, work); err == nil {
			t.Errorf("%s: pushed", what)
		} else if strings.ContainsAny(err.Error(), "\x1b") {
			t.Errorf("%s: %q", what, err)
		}
		if _, err := s.Collect(t.Context(), f, "refs/gl/in/1"); !errors.Is(err, hub.ErrNothing) {
			t.Errorf("%s: collected: %v", what, err)
		}
	}
	if err := w.Push(t.Context(), repo, f, blob); err != nil { // as a tag may name one
		t.Fatal(err)
	}
	if _, err := s.Collect(t.Context(), f, "refs/gl/in/1"); err == nil || !strings.Contains(err.Error(), "no commit") {
		t.Errorf("a file as the work: %v", err)
	}
	good := commitOf(tree("100644 a\x00" + blob))
	takes(t, s, w, repo, f, good)
}

// takes pushes work that is as it must be, which the project gets.
func takes(t *testing.T, s *site, w hub.Worker, repo string, f remote.Fence, good string) {
	t.Helper()
	if err := w.Push(t.Context(), repo, f, good); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Collect(t.Context(), f, "refs/gl/in/1"); err != nil || got != good {
		t.Errorf("collected %s, want %s: %v", got, good, err)
	}
}

// Work that is small where it travels and huge where it is checked out is refused: the project has
// nothing of it.
func TestHugeWork(t *testing.T) {
	testfiles.Slow(t)
	t.Parallel()
	s := newSite(t)
	w, _ := s.join("w")
	f := fence(1)
	commit := s.lease("w", f)
	repo := bare(t)
	if err := w.Fetch(t.Context(), repo, f); err != nil {
		t.Fatal(err)
	}
	blob := gitInput(t, repo, "x\n", "hash-object", "-w", "--stdin")
	large := gitInput(t, repo, strings.Repeat("x", 8<<20), "hash-object", "-w", "--stdin")
	times := func(n int, mode, id string) string {
		var entries strings.Builder
		for i := range n {
			fmt.Fprintf(&entries, "%s f%04d\x00%s", mode, i, id)
		}
		return makeTree(t, repo, entries.String())
	}
	commitOf := func(parent, tree string) string {
		return gitIn(t, repo, "commit-tree", "-p", parent, "-m", "x", tree)
	}
	bomb := times(100, "100644", blob)
	for range 5 { // 100 to the 6th are a trillion files
		bomb = times(100, "40000", bomb)
	}
	deep := nested(t, repo, 1100, times(1, "100644", blob))
	small := times(1, "100644", blob)
	for what, work := range map[string]string{
		"a trillion files":               commitOf(commit, bomb),
		"them, and then none":            commitOf(commitOf(commit, bomb), small),
		"8 GB in one file's content":     commitOf(commit, times(1000, "100644", large)),
		"1100 directories in each other": commitOf(commit, deep),
	} {
		if err := w.Push(t.Context(), repo, f, work); err != nil {
			t.Fatal(what, err) // git's own checks find nothing
		}
		if _, err := s.Collect(t.Context(), f, "refs/gl/in/1"); !errors.Is(err, git.ErrUnpacked) {
			t.Errorf("%s: collected: %v", what, err)
		}
		if out, err := exec.Command("git", "-C", s.options.Project, "cat-file", "-e", work).CombinedOutput(); err == nil {
			t.Errorf("%s: the project has it %s", what, out)
		}
	}
	good := commitOf(commit, times(1000, "40000", small))
	takes(t, s, w, repo, f, good)
}

// An object that takes far more memory than it has bytes in its pack is refused before it does.
func TestHugeObject(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compresses 300 MB")
	}
	s := newSite(t)
	s.join("w")
	f := fence(1)
	commit := s.lease("w", f)
	tree := gitIn(t, s.options.Project, "rev-parse", commit+"^{tree}")
	const by = "A <a@example.com> 1700000000 +0000"
	head := "tree " + tree + "\nparent " + commit + "\nauthor " + by + "\ncommitter " + by + "\n\n"
	const size = 300 << 20 // of the commit, by its message
	id, pack := packOf(t, head, size)
	answer, err := s.pushing(f, []string{strings.Repeat("0", 40) + " " + id + " " + f.Ref()}, pack)
	if !strings.Contains(answer, "unpacker error") {
		t.Errorf("%d bytes have become a commit of %d: %q, %v", len(pack), size, answer, err)
	}
}

// packOf returns a pack with one commit that begins so and has so many bytes, and the commit's
// name.
func packOf(t *testing.T, head string, size int) (id string, pack []byte) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("PACK\x00\x00\x00\x02\x00\x00\x00\x01")
	const commit = 1
	first, rest := byte(commit<<4|size&15), size>>4
	for rest > 0 {
		out.WriteByte(first | 0x80)
		first, rest = byte(rest&0x7f), rest>>7
	}
	out.WriteByte(first)
	name := sha1.New()
	fmt.Fprintf(name, "commit %d\x00", size)
	compressed, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	both, line := io.MultiWriter(name, compressed), bytes.Repeat([]byte("x"), 1<<20)
	_, _ = io.WriteString(both, head)
	for left := size - len(head); left > 0; left -= len(line) {
		_, _ = both.Write(line[:min(left, len(line))])
	}
	compressed.Close()
	sum := sha1.Sum(out.Bytes())
	return hex.EncodeToString(name.Sum(nil)), append(out.Bytes(), sum[:]...)
}

// A worker's subscriptions and connections are bounded, and a new connection of a worker works
// whatever is left of old ones.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, j := s.join("w")
	many, err := s.nats(j, j.NKey, nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	for i := range 5000 {
		if _, err := many.SubscribeSync(fmt.Sprint("_INBOX.w.", i)); err != nil {
			break // it is closed already
		}
	}
	_ = many.Flush()
	if err := many.LastError(); !errors.Is(err, nats.ErrMaxSubscriptionsExceeded) {
		t.Errorf("5000 subscriptions: %v", err)
	}
	var all []*nats.Conn
	for range 8 {
		nc, err := s.nats(j, j.NKey)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		all = append(all, nc)
	}
	if err := all[7].Flush(); err != nil {
		t.Error(err)
	}
	testfiles.Until(t, "old connections end", func() bool { return all[0].IsClosed() && all[3].IsClosed() })
}

// A worker of a revoked one's name doesn't let that one's connection go on, though the coordinator
// hasn't seen the list in between.
func TestReplacedKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old, _ := s.join("w")
	token := s.invite()
	seed := randomBytes(32)
	another := roster.Member{Name: "w", NKey: strings.Repeat("U", 56),
		TLS: base64.RawURLEncoding.EncodeToString(seed)}
	if err := errors.Join(s.Roster.Revoke(t.Context(), "w", true),
		s.Roster.Admit(t.Context(), token.Secret, another)); err != nil {
		t.Fatal(err)
	}
	revoked(t, old)
}

// A withdrawn lease's ref stays as it is; the project gets it, and the worker can't change it.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w, _ := s.join("w")
	f := fence(1)
	commit := s.lease("w", f)
	repo := bare(t)
	if err := errors.Join(w.Fetch(t.Context(), repo, f), w.Push(t.Context(), repo, f, commit)); err != nil {
		t.Fatal(err)
	}
	if err := s.Withdraw(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if err := w.Push(t.Context(), repo, f, commit); !errors.Is(err, hub.ErrWithdrawn) {
		t.Errorf("push: %v", err)
	}
	s.Close()
	s.open()
	if err := w.Push(t.Context(), repo, f, commit); !errors.Is(err, hub.ErrWithdrawn) {
		t.Errorf("push after a restart: %v", err)
	}
	if err := s.Grant(t.Context(), "w", f); err == nil {
		t.Error("the lease is granted once more")
	}
	if got, err := s.Collect(t.Context(), f, "refs/gl/in/1"); err != nil || got != commit {
		t.Errorf("collected %s: %v", got, err)
	}
}
