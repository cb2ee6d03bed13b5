package hub

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"greenlight/internal/core/remote"
	"greenlight/internal/workspace/git"
)

// An opener opens a connection to the exchange, on which git's own protocol follows.
type opener func(ctx context.Context, s Service, f remote.Fence) (net.Conn, error)

// FetchOver fetches the published commits of a lease into a repository, over a connection that
// open makes.
func FetchOver(ctx context.Context, open opener, repo string, f remote.Fence) error {
	return overConn(ctx, open, FetchService, f, func(ctx context.Context, stream *os.File) error {
		return git.FetchStream(ctx, repo, stream, jobRefs+f.String())
	})
}

// PushOver pushes a commit as the lease's ref, over a connection that open makes.
func PushOver(ctx context.Context, open opener, repo string, f remote.Fence, commit string) error {
	return overConn(ctx, open, PushService, f, func(ctx context.Context, stream *os.File) error {
		return git.PushStream(ctx, repo, stream, commit, f.Ref())
	})
}

// overConn gives git one end of a pair of sockets and copies between the other end and the
// connection: git can't encrypt what it sends.
func overConn(ctx context.Context, open opener, s Service, f remote.Fence,
	run func(context.Context, *os.File) error) error {
	conn, err := open(ctx, s, f)
	if err != nil {
		return err
	}
	defer conn.Close()
	theirs, ours, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(ours, conn) // until the coordinator's git ends
		_ = ours.(*net.UnixConn).CloseWrite()
		conn.Close()
		copied <- err
	}()
	go func() {
		_, _ = io.Copy(conn, ours)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, ours) // what the coordinator's git didn't want to hear
	}()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err = run(ctx, theirs)
	ours.Close()
	conn.Close()
	if copyErr := <-copied; err != nil && copyErr != nil && !errors.Is(copyErr, net.ErrClosed) {
		err = errors.Join(err, copyErr)
	}
	return err
}

func socketPair() (theirs *os.File, ours net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	theirs = os.NewFile(uintptr(fds[0]), "git")
	file := os.NewFile(uintptr(fds[1]), "connection")
	defer file.Close() // the net.Conn has a copy
	if ours, err = net.FileConn(file); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return theirs, ours, nil
}
