package remote

// CoordinatorEvent is what the coordinator's machine is told: Begin, Tick, FromWorker, Joined,
// Revoked, SetDraining, Assign, Published, Speak, Stop, Abandon, Done, Kept, Unneeded, Answered.
type CoordinatorEvent interface{ coordinatorEvent() }

// Begin is a machine's first event: it goes on with what it has on disk.
type Begin struct{}

// Tick makes a machine look at its clock. It comes every second while there is a connection.
type Tick struct{}

// FromWorker is a message from a worker whose key was checked.
type FromWorker struct {
	Worker  string
	Message ToCoordinator
}

// Joined says which key a worker has. One with another key than before has nothing of what the
// worker of that name had. It comes after Begin for each worker, and before a new key's messages.
type Joined struct{ Worker, Key string }

// Revoked says that a worker's key is no longer valid.
type Revoked struct{ Worker string }

// SetDraining makes a worker stop accepting jobs, or accept them again.
type SetDraining struct {
	Worker string
	On     bool
}

// Assign gives a new or vacant attempt to a worker. Talk has the first lines for the job's program.
// It is ignored while another worker's lease counts.
type Assign struct {
	Attempt, Worker string
	Job             Job
	Talk            [][]byte
}

// Published answers the effect Publish.
type Published struct {
	Fence
	Failed Text // "" if the commit can be fetched
}

// Speak is a line for an attempt's agent, or the end of its input.
type Speak struct {
	Attempt string
	Line    []byte
	Close   bool
}

// Stop ends an attempt's job. The attempt is settled as usual.
type Stop struct {
	Attempt string
	Halting
}

// Abandon closes an attempt without its worker. Work that comes later is kept.
type Abandon struct {
	Attempt string
	Reason  Text
}

// Done answers the effect Settle: the attempt's end is on disk.
type Done struct {
	Fence
	Keep bool // the worker is to keep worktree and conversation for a continuation
}

// Kept answers the effect Keep.
type Kept struct {
	Fence
	Worker string
}

// Unneeded says that no job will go on in worktrees that a worker has kept: their slices are
// merged, or go on in other ones. It is said again while the worker has them.
type Unneeded struct {
	Worker   string
	Lineages []string
}

// Answered answers the effect Run.
type Answered struct{ Answer }

func (Begin) coordinatorEvent()       {}
func (Tick) coordinatorEvent()        {}
func (FromWorker) coordinatorEvent()  {}
func (Joined) coordinatorEvent()      {}
func (Revoked) coordinatorEvent()     {}
func (SetDraining) coordinatorEvent() {}
func (Assign) coordinatorEvent()      {}
func (Published) coordinatorEvent()   {}
func (Speak) coordinatorEvent()       {}
func (Stop) coordinatorEvent()        {}
func (Abandon) coordinatorEvent()     {}
func (Done) coordinatorEvent()        {}
func (Kept) coordinatorEvent()        {}
func (Unneeded) coordinatorEvent()    {}
func (Answered) coordinatorEvent()    {}

// CoordinatorEffect is what the coordinator's machine wants done, in the order of the slice that
// Step returns, before the next Step. PersistAttempt, PersistMember, Drop, Append, Seal and Send
// are done at once; if one of the first five fails, nothing after it may be done, and the machine
// is made anew from its files. The others are begun, and answered by an event where one is named:
// exactly one for each effect, however long it takes.
type CoordinatorEffect interface{ coordinatorEffect() }

// PersistAttempt writes an attempt durably. The pointer is valid until the next Step.
type PersistAttempt struct{ Attempt *Attempt }

// PersistMember writes what is known of a worker durably.
type PersistMember struct{ Member Member }

// Drop removes an attempt's file.
type Drop struct{ Attempt string }

// Append writes Data to an attempt's log durably.
type Append struct {
	Fence
	Data []byte
}

// SendToWorker sends a message. It may be lost.
type SendToWorker struct {
	Worker  string
	Message ToWorker
}

// Publish makes a commit fetchable and the lease's ref pushable by the lease's worker, and no
// other. Published answers it.
type Publish struct {
	Fence
	Worker, Commit string
	Merge          string // a commit of which the same is true; "" for none
}

// Forget takes the lease's rights and refs in the exchange back.
type Forget struct {
	Fence
	Worker string
}

// Seal ends the lease's right to push, as the writes above: its worker is gone for good, and what
// it has pushed stays as it is. Another machine that joins under the name may get old messages.
type Seal struct{ Fence }

// Settle ends an attempt with its result: collects the work, judges it and writes the record. Done
// answers it. It comes again after a restart that came before Done: settling is repeatable.
type Settle struct {
	Fence
	Worker string
	Result Result
}

// Keep collects work that doesn't count as work in progress, and tells it. If the lease's ref
// doesn't exist, there is nothing to keep. Kept answers it.
type Keep struct {
	Fence
	Worker string
	Result Result
}

// Run runs a command of an attempt's agent at home. Answered answers it.
type Run struct {
	Fence
	Worker string
	Ask    Ask
}

// Vacant says that an attempt has no worker. Assign or Stop answers it, and Abandon if the attempt
// is settled already or is to go on without a worker; a notice of contact takes it back.
type Vacant struct {
	Fence  // the lease that ended; lease 0 for none so far
	Worker string
	Saved  string // commit of the last snapshot, ""
	Why    Text
}

// Unheard says that lines may not have reached an attempt's agent.
type Unheard struct {
	Fence
	Lines []Line
	Why   Text
}

// Notice tells how far a lease or a worker is.
type Notice struct {
	Fence  // the zero Fence if the notice is about a worker
	Worker string
	What   News
	Detail Text // for NewsSaved the commit
}

// News is what a notice is about.
type News string

// What notices tell.
const (
	NewsHello    News = "hello" // of a worker that says what it has
	NewsAccepted News = "accepted"
	NewsPrepared News = "prepared"
	NewsStarted  News = "started"
	NewsSaved    News = "saved" // a snapshot is in the exchange, and may be collected
	NewsEnded    News = "ended"
	NewsSilent   News = "silent"
	NewsLost     News = "lost"
	NewsContact  News = "contact" // after silence
	NewsGoodbye  News = "goodbye"
	NewsStrange  News = "strange" // a worker sent what it has no right to
)

func (PersistAttempt) coordinatorEffect() {}
func (PersistMember) coordinatorEffect()  {}
func (Drop) coordinatorEffect()           {}
func (Append) coordinatorEffect()         {}
func (SendToWorker) coordinatorEffect()   {}
func (Publish) coordinatorEffect()        {}
func (Forget) coordinatorEffect()         {}
func (Seal) coordinatorEffect()           {}
func (Settle) coordinatorEffect()         {}
func (Keep) coordinatorEffect()           {}
func (Run) coordinatorEffect()            {}
func (Vacant) coordinatorEffect()         {}
func (Unheard) coordinatorEffect()        {}
func (Notice) coordinatorEffect()         {}

// WorkerEvent is what a worker's machine is told: Begin, Tick, FromCoordinator, Ready, Launched,
// Told, Logged, Snapshotted, Finished, Pushed, Asked, Removed, DiskUsed, Leave.
type WorkerEvent interface{ workerEvent() }

// FromCoordinator is a message from the coordinator.
type FromCoordinator struct{ Message ToWorker }

// Ready answers the effect Prepare. A job that can't be prepared is Finished.
type Ready struct{ Fence }

// Launched answers the effect Launch: the program runs. A program that can't be started is
// Finished.
type Launched struct{ Fence }

// Told answers the effect Tell.
type Told struct {
	Fence
	Number int64
	Failed Text // "" if the program was told
}

// Logged says what a job's log has: the bytes from Start to Size. Those before were trimmed.
type Logged struct {
	Fence
	Start, Size int64
}

// Snapshotted says that a running job's work was pushed.
type Snapshotted struct {
	Fence
	Commit string
}

// Finished says that a job is over, and nothing of it runs. Its Result has no commit.
type Finished struct {
	Fence
	Result Result // its Log is the log's size
}

// Pushed answers the effect Push.
type Pushed struct {
	Fence
	Commit  string
	Unsaved Text // why Commit isn't all of the work
	Failed  bool // the exchange can't be reached: it is tried again
}

// Inquire is a command that a job's agent runs. Reply answers it with its key.
type Inquire struct {
	Fence
	Key   int64 // chosen by the caller
	Argv  []string
	Dir   string
	Input []byte
}

// Removed answers the effect Remove.
type Removed struct{ Fence }

// DiskUsed says how many bytes the worker uses.
type DiskUsed struct{ Bytes int64 }

// Leave makes the worker accept no more jobs, and say goodbye when what it had is confirmed.
type Leave struct {
	Now    bool // ends what runs
	Reason Text
}

func (Begin) workerEvent()           {}
func (Tick) workerEvent()            {}
func (FromCoordinator) workerEvent() {}
func (Ready) workerEvent()           {}
func (Launched) workerEvent()        {}
func (Told) workerEvent()            {}
func (Logged) workerEvent()          {}
func (Snapshotted) workerEvent()     {}
func (Finished) workerEvent()        {}
func (Pushed) workerEvent()          {}
func (Inquire) workerEvent()         {}
func (Removed) workerEvent()         {}
func (DiskUsed) workerEvent()        {}
func (Leave) workerEvent()           {}

// WorkerEffect is what a worker's machine wants done, under the rules of CoordinatorEffect.
// PersistWork, PersistMark and SendToCoordinator are done at once.
type WorkerEffect interface{ workerEffect() }

// PersistWork writes the file of one lease durably. The pointer is valid until the next Step.
type PersistWork struct{ Work *Work }

// PersistMark writes the worker's mark durably.
type PersistMark struct{ Mark Mark }

// SendToCoordinator sends a message. It may be lost.
type SendToCoordinator struct{ Message ToCoordinator }

// SendChunk sends Size bytes of a job's log from Offset on as a Chunk. It may be lost.
type SendChunk struct {
	Fence
	Offset, Size int64
}

// Trim says that a job's log below Offset is at the coordinator and may be removed.
type Trim struct {
	Fence
	Offset int64
}

// Prepare makes a job's worktree and sets it up. Ready or Finished answers it. Halt may come
// meanwhile.
type Prepare struct {
	Fence
	Job Job
}

// Launch starts a prepared job's program. Launched, Finished or both answer it.
type Launch struct {
	Fence
	Job Job
}

// Tell gives a line to a running program. Told answers it.
type Tell struct {
	Fence
	Line
}

// Halt ends a job that is prepared or runs. Finished comes when nothing of it runs any more.
type Halt struct {
	Fence
	Halting
}

// Reap makes sure that nothing runs of a job that ran before the worker's restart. Finished
// answers it, with How Crashed.
type Reap struct {
	Fence
	Job Job
}

// Push commits what an ended job left, and pushes it to the lease's ref. Pushed answers it.
type Push struct {
	Fence
	Job Job
}

// Reply answers Inquire.
type Reply struct {
	Fence
	Key    int64
	Answer Answer
}

// Remove removes a lease's log and file, and with Worktree its lineage's worktree and conversation.
// The file goes last. Removed answers it.
type Remove struct {
	Fence
	Lineage  string
	Worktree bool
}

// Depart says that the worker has nothing left to do, and may exit.
type Depart struct{}

func (PersistWork) workerEffect()       {}
func (PersistMark) workerEffect()       {}
func (SendToCoordinator) workerEffect() {}
func (SendChunk) workerEffect()         {}
func (Trim) workerEffect()              {}
func (Prepare) workerEffect()           {}
func (Launch) workerEffect()            {}
func (Tell) workerEffect()              {}
func (Halt) workerEffect()              {}
func (Reap) workerEffect()              {}
func (Push) workerEffect()              {}
func (Reply) workerEffect()             {}
func (Remove) workerEffect()            {}
func (Depart) workerEffect()            {}
