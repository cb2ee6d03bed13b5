package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// ErrPush says that a push asked for what it may not.
var ErrPush = errors.New("push refused")

// visible returns the settings that hide all refs of the exchange but one and those below it. Git's
// protocol of version 2 would send any object that is asked for by its name; without GIT_PROTOCOL
// it is version 0, in which only what visible refs name can be asked for.
func visible(ref string) []string {
	return []string{"transfer.hideRefs=refs", "transfer.hideRefs=!" + ref}
}

// ServeFetch serves a git fetch at the other end of conn, which sees the refs below a name alone.
func (x Exchange) ServeFetch(ctx context.Context, conn io.ReadWriter, below string) error {
	s, err := x.server(ctx, append(visible(below), "uploadpack.allowFilter=false",
		"uploadpack.allowTipSHA1InWant=false", "uploadpack.allowReachableSHA1InWant=false",
		"uploadpack.allowAnySHA1InWant=false"), "upload-pack", "--strict", "--timeout=60", x.Dir)
	if err != nil {
		return err
	}
	return s.serve(ctx, conn, func(in io.Writer) error {
		_, err := io.Copy(in, conn)
		return err
	})
}

// ServePush serves a git push at the other end of conn, which may make or move one ref and do
// nothing else. Objects are checked before the repository has them; most is the limit of their
// size, packed.
func (x Exchange) ServePush(ctx context.Context, conn io.ReadWriter, ref string, most int64) error {
	s, err := x.server(ctx, append(visible(ref), "receive.fsckObjects=true",
		"receive.maxInputSize="+strconv.FormatInt(most, 10), "receive.denyDeletes=true",
		"receive.denyNonFastForwards=false", "receive.autogc=false", "receive.unpackLimit=100",
		"receive.shallowUpdate=false", "receive.advertisePushOptions=false", "gc.auto=0"),
		"receive-pack", x.Dir)
	if err != nil {
		return err
	}
	return s.serve(ctx, conn, func(in io.Writer) error {
		if err := passCommands(conn, in, ref); err != nil {
			return err
		}
		_, err := io.Copy(in, conn)
		return err
	})
}

// allocLimit ends a git that would take as much memory at once: a commit of a few kilobytes in a
// pack may say that it has gigabytes. Files of more than core.bigFileThreshold aren't held in
// memory.
const allocLimit = "GIT_ALLOC_LIMIT=256m"

// A server is git serving one connection.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	err bytes.Buffer
}

func (x Exchange) server(ctx context.Context, with []string, args ...string) (*server, error) {
	with = append(with, "core.bigFileThreshold=32m")
	cmd, err := command(ctx, x.Dir, append(settings(with...), args...)...)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	s.cmd.Env = append(append(s.cmd.Env, alone...), allocLimit)
	s.cmd.Stderr = &limited{to: &s.err, left: 4 << 10}
	s.in, err = cmd.StdinPipe()
	return s, err
}

// serve runs git until it ends. feed copies what the other end sends; its error ends git.
func (s *server) serve(ctx context.Context, conn io.ReadWriter, feed func(io.Writer) error) error {
	s.cmd.Stdout = conn
	if err := s.cmd.Start(); err != nil {
		return err
	}
	fed := make(chan error, 1)
	go func() {
		err := feed(s.in)
		_ = s.in.Close() // git sees a connection that ended too early
		fed <- err
	}()
	err := s.cmd.Wait()
	select {
	case feedErr := <-fed:
		if errors.Is(feedErr, ErrPush) {
			return feedErr
		}
	default: // it still waits for the other end, which needn't send more
	}
	if err != nil {
		return failed(ctx, verbOf(s.cmd.Args[2:]), s.err.String(), err)
	}
	return nil
}

// A limited writer drops what exceeds its limit.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// mostShallow is how many lines about a shallow history a push may have.
const mostShallow = 10_000

// passCommands copies the first part of a push, which names the refs to change, if that is one ref
// to be made or moved. Nothing reaches git before its line has been checked.
func passCommands(from io.Reader, to io.Writer, ref string) error {
	commands := 0
	for range mostShallow {
		raw, line, err := readPacket(from)
		if err != nil {
			return err
		}
		switch {
		case raw == nil: // the end, as a flush
			_, err := to.Write([]byte("0000"))
			return err
		case bytes.HasPrefix(line, []byte("shallow ")):
		default:
			if commands++; commands > 1 {
				return fmt.Errorf("%w: it changes several refs", ErrPush)
			}
			if err := checkCommand(string(line), ref); err != nil {
				return err
			}
		}
		if _, err := to.Write(raw); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: it has too many lines", ErrPush)
}

// checkCommand accepts "OLD NEW REF\0CAPABILITIES" for the ref, unless it deletes it.
func checkCommand(line, ref string) error {
	line, _, _ = strings.Cut(line, "\x00")
	f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	switch {
	case len(f) != 3:
		return fmt.Errorf("%w: %.200q isn't understood", ErrPush, line)
	case f[2] != ref:
		return fmt.Errorf("%w: %.200q isn't %s", ErrPush, f[2], ref)
	case strings.Trim(f[1], "0") == "":
		return fmt.Errorf("%w: it deletes %s", ErrPush, ref)
	}
	return nil
}

// readPacket reads a line of git's protocol: four digits of its length, and the rest. raw is nil
// for a flush.
func readPacket(from io.Reader) (raw, line []byte, err error) {
	head := make([]byte, 4, 256)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, nil, err
	}
	n, err := strconv.ParseUint(string(head), 16, 16)
	switch {
	case err != nil || n > 0 && n <= 4:
		return nil, nil, fmt.Errorf("%w: %q is no length of a line", ErrPush, head)
	case n == 0:
		return nil, nil, nil
	}
	raw = slices.Concat(head, make([]byte, n-4))
	_, err = io.ReadFull(from, raw[4:])
	return raw, raw[4:], err
}
