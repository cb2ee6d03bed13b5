// Package hub connects a coordinator with its workers: one TLS port, the engine that keeps
// messages until they are acknowledged (NATS JetStream), and the exchange repository through which
// commits travel. It moves messages and objects and decides nothing: what a message means is in
// core/remote, and package away chooses who gets which job.
//
// Everything that a worker sends is hostile. The TLS handshake proves its key, which is on the
// list of workers or the connection ends; NATS knows the same worker by its NKey and lets it use
// its own subjects alone; git gets the refs of its granted leases alone. Sizes and numbers are
// bounded before anything is read.
//
// Nothing in the engine is irreplaceable: a coordinator that finds it empty sends its jobs again.
package hub

import (
	"context"
	"errors"

	"greenlight/internal/core/remote"
)

var (
	// ErrUnknown: no worker on the list has the name, or it was revoked.
	ErrUnknown = errors.New("no such worker")
	// ErrFull: the worker has left too many messages unacknowledged.
	ErrFull = errors.New("too many messages wait for the worker")
	// ErrNothing: the worker has pushed nothing for the lease.
	ErrNothing = errors.New("the worker has pushed nothing")
	// ErrWithdrawn: the lease is granted to another worker or to none.
	ErrWithdrawn = errors.New("the lease isn't granted to this worker")
	// ErrRevoked: the coordinator has revoked this worker's key.
	ErrRevoked = errors.New("the coordinator refuses this worker's key; join again with a new token")
)

// An Envelope is a message, and how to acknowledge it. A message whose Ack hasn't been called is
// delivered again: after a while, or when the connection or the process is new. So it may come
// twice, and its receiver has to notice. Ack is called once what the message asks for is on disk.
type Envelope struct {
	Worker string // that sent it; "" for a message of the coordinator
	Data   []byte
	Ack    func() error
}

// A Coordinator is the coordinator's end: package away uses it.
type Coordinator interface {
	// Send puts a message for a worker on disk. It is delivered until the worker acknowledges it.
	// The error may be ErrUnknown or ErrFull.
	Send(ctx context.Context, worker string, data []byte) error
	// Messages returns what workers send, those of one worker in their order. A message that
	// isn't read holds up the others. The channel is closed when the hub ends.
	Messages() <-chan Envelope
	// Connected returns the workers that have a connection, by name, with their address.
	Connected() map[string]string
	// Changed receives a value when a worker has joined, come, gone, or been drained or revoked.
	// Several changes may be one value.
	Changed() <-chan struct{}

	// Publish copies a commit of the project's repository, with its history, to the exchange. The
	// worker to which the lease is granted may fetch it and the lease's earlier ones, and no other.
	Publish(ctx context.Context, f remote.Fence, commit string) error
	// Grant lets a worker fetch what is published for the lease, and push the lease's ref. It is on
	// disk and survives the process.
	Grant(ctx context.Context, worker string, f remote.Fence) error
	// Withdraw ends a grant: from now on the lease's ref stays as it is. It can be collected.
	Withdraw(ctx context.Context, f remote.Fence) error
	// Collect copies what the lease's ref has into the project's repository, after checks, and
	// makes it the ref into. It returns the commit, or ErrNothing.
	Collect(ctx context.Context, f remote.Fence, into string) (commit string, err error)
	// Forget ends a lease's grant and removes its refs from the exchange.
	Forget(ctx context.Context, f remote.Fence) error
}

// A Worker is a worker's end: package hands uses it. Its methods wait for a connection as long as
// their context allows, and the connection is made again whenever it breaks. Once the coordinator
// has revoked the worker's key, all of them return ErrRevoked.
type Worker interface {
	// Send returns when the coordinator's engine has the message on disk.
	Send(ctx context.Context, data []byte) error
	// Messages returns the coordinator's messages. The channel is closed with the connection: by
	// Close, or because the key is revoked, which Err tells.
	Messages() <-chan Envelope
	Err() error
	// Fetch gets the commits that are published for the lease into a repository. They are
	// JobRef(f, commit) there.
	Fetch(ctx context.Context, repo string, f remote.Fence) error
	// Push sends a commit of the repository as the lease's ref, f.Ref(). It may be no descendant
	// of the commit before. The error may be ErrWithdrawn.
	Push(ctx context.Context, repo string, f remote.Fence, commit string) error
	// Close ends the connection for good.
	Close() error
}

// JobRef returns the ref of a published commit, in the exchange and in the repository that a
// worker fetches it into.
func JobRef(f remote.Fence, commit string) string { return jobRefs + f.String() + "/" + commit }

const jobRefs = "refs/gl/job/"
