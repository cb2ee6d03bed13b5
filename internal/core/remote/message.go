// Package remote is the protocol between a coordinator and its workers: messages, and the state
// machines of both sides. It is pure: a machine takes an event and returns effects, which
// packages away and hands carry out. It has no clock, opens no file and starts no goroutine.
package remote

// Version is the protocol's. Both sides must have the same one; a hello of another one is still
// understood, so that the coordinator can say which gl to install.
const Version = 2

// Bounds of what is sent. They keep a message below NATS's default limit of 1 MiB.
const (
	MaxMessage = 1<<20 - 16<<10 // bytes of an encoded message
	MaxChunk   = 256 << 10      // bytes of a chunk
	MaxLine    = 256 << 10      // bytes of a line of an agent's input
	MaxInput   = 512 << 10      // bytes of the input of an agent's command
	MaxOutput  = 256 << 10      // bytes of each output of an agent's command
	MaxHeld    = 2048           // leases that one worker has
	MaxSlots   = 1024
	maxLabels  = 64

	mostDiscarded = 64 // worktrees in one message
	maxFiles      = 1024
	maxLeft       = 64 // processes that a job left running
	maxArgs       = 4096
	maxText       = 4 << 10 // bytes of a text that is shown
	maxNumber     = 1 << 53 // of what other JSON decoders read without loss
)

// A Message is what one side sends the other: a ToCoordinator or a ToWorker.
type Message interface {
	kind() string
	check() error
}

// ToCoordinator is a message from a worker: Hello, Beat, Goodbye, Accept, Refuse, Prepared,
// Started, Chunk, Heard, Saved, Offer, Ask, Gone.
type ToCoordinator interface {
	Message
	toCoordinator()
}

// ToWorker is a message from the coordinator: Greet, Welcome, Drain, Place, Withdraw, Ack, Say,
// End, Confirm, Answer, Discard.
type ToWorker interface {
	Message
	toWorker()
}

// Hello is a worker's first message after each start, repeated until Welcome answers it.
type Hello struct {
	Protocol int      `json:"protocol"` // Version
	Boot     int64    `json:"boot"`     // number of this start of the worker, greater than all before
	Release  Text     `json:"release"`  // of its gl
	Host     Text     `json:"host"`
	Slots    int      `json:"slots"`            // jobs that it runs at once
	OS       string   `json:"os"`               // as in GOOS
	Arch     string   `json:"arch"`             // as in GOARCH
	Agents   []string `json:"agents,omitempty"` // that it has tested
	Labels   []string `json:"labels,omitempty"`
	Sandbox  []string `json:"sandbox,omitempty"`  // "bwrap" if it works there
	Included []string `json:"included,omitempty"` // files outside of git that it has
	Lacks    []Text   `json:"lacks,omitempty"`    // what the worker misses, one sentence each
	State
}

// Beat says that a worker is there and what it has, every Welcome.Beat.
type Beat struct {
	Boot int64 `json:"boot"`
	State
}

// State is what a worker has at the moment.
type State struct {
	Serial   int64    `json:"serial"`             // the highest of the placements it has seen
	Held     []Held   `json:"held,omitempty"`     // every lease it has that isn't confirmed
	Lineages []string `json:"lineages,omitempty"` // whose worktrees and conversations it has kept
	Draining bool     `json:"draining,omitempty"` // it accepts no more jobs
	Drained  int64    `json:"drained,omitempty"`  // number of the last Drain since its start
	Full     bool     `json:"full,omitempty"`     // its limit of disk is reached: it accepts no more jobs
}

// Held is a lease that a worker has.
type Held struct {
	Fence
	Stage Stage `json:"stage"`
}

// Goodbye says that a worker stops for good: it runs nothing of what it had. What it offers later
// is kept, and doesn't count unless its lease is still the newest.
type Goodbye struct {
	Boot   int64 `json:"boot"`
	Reason Text  `json:"reason,omitempty"`
}

// Accept says that a worker has the lease on disk and prepares its job.
type Accept struct{ Fence }

// Refuse says that a worker doesn't have the lease, never started its job and never will.
type Refuse struct {
	Fence
	Reason Text `json:"reason"`
}

// Prepared says that a job's worktree is ready and its program about to start.
type Prepared struct{ Fence }

// Started says that a job's program runs.
type Started struct{ Fence }

// Chunk is a part of a job's log, from Offset on. The log is a file in the format of package
// logfile: output, with the worker's notes in it.
type Chunk struct {
	Fence
	Offset int64  `json:"offset"`
	Data   []byte `json:"data"` // 1 to MaxChunk bytes
}

// Heard acknowledges Say.
type Heard struct {
	Fence
	Number int64 `json:"number"`
	Failed Text  `json:"failed,omitempty"` // why the program can't be told; "" if it was
}

// Saved says that a snapshot of a job's work has been pushed to the lease's ref.
type Saved struct {
	Fence
	Number int64  `json:"number"` // 1 for the first snapshot of the lease
	Commit string `json:"commit"`
}

// Offer says that a job has ended and that its work has been pushed. It is repeated until
// Confirm answers it.
type Offer struct {
	Fence
	Result Result `json:"result"`
}

// Ask is a gl command that the agent runs on its worker. It is repeated until Answer answers it.
type Ask struct {
	Fence
	Number int64    `json:"number"` // 1 for the lease's first command
	Below  int64    `json:"below"`  // commands with lower numbers have been answered or given up
	Argv   []string `json:"argv"`   // without the name of the program
	Dir    string   `json:"dir,omitempty"`
	Input  []byte   `json:"input,omitempty"`
}

// Gone says that a worker no longer has a lease that was confirmed.
type Gone struct{ Fence }

// Greet asks a worker for its Hello.
type Greet struct{}

// Welcome answers Hello. Durations are in milliseconds.
type Welcome struct {
	Boot    int64 `json:"boot"`              // of the Hello
	Beat    int64 `json:"beat_ms"`           // between beats
	Refused Text  `json:"refused,omitempty"` // why the worker gets no work until its next hello; "" if it does
}

// Drain tells a worker to stop accepting jobs, or to accept them again. It is repeated until
// State.Drained has its number.
type Drain struct {
	Number int64 `json:"number"` // greater than of all before
	On     bool  `json:"on"`
}

// Place gives a worker a lease. It is repeated until Accept, Refuse or Offer answers it.
type Place struct {
	Fence
	Serial int64 `json:"serial"` // greater than of all placements on this worker before
	Job    Job   `json:"job"`
}

// Withdraw takes a lease back: a job that hasn't started never will, and is refused; one that runs
// is ended, and offered. It is repeated until Refuse or Offer answers it.
type Withdraw struct {
	Fence
	Serial int64 `json:"serial"` // of the placement; 0 if the coordinator doesn't know the lease
}

// Ack acknowledges a job's log below Offset: it is on the coordinator's disk.
type Ack struct {
	Fence
	Offset int64 `json:"offset"`
}

// Say is a line for a job's program, or the end of its input. It is repeated until Heard answers
// it, and applied once, in the order of the numbers.
type Say struct {
	Fence
	Number int64  `json:"number"` // 1 for the lease's first
	Line   []byte `json:"line,omitempty"`
	Close  bool   `json:"close,omitempty"` // ends the input; Line is empty
}

// End ends a job's program. It is repeated until Offer answers it.
type End struct {
	Fence
	Kill   bool `json:"kill,omitempty"` // without grace
	Reason Text `json:"reason,omitempty"`
}

// Confirm says that what the lease's worker offered is settled or kept: the worker may remove it.
type Confirm struct {
	Fence
	Keep bool `json:"keep,omitempty"` // a continuation is likely: keep worktree and conversation while there is room
}

// Discard says that no job will go on in worktrees that a worker has kept. It is repeated while the
// worker says that it has them.
type Discard struct {
	Lineages []string `json:"lineages"`
}

// Answer answers Ask.
type Answer struct {
	Fence
	Number   int64  `json:"number"`
	ExitCode int    `json:"exit_code"`
	Output   []byte `json:"output,omitempty"`
	Errors   []byte `json:"errors,omitempty"`
}

func (*Hello) toCoordinator()    {}
func (*Beat) toCoordinator()     {}
func (*Goodbye) toCoordinator()  {}
func (*Accept) toCoordinator()   {}
func (*Refuse) toCoordinator()   {}
func (*Prepared) toCoordinator() {}
func (*Started) toCoordinator()  {}
func (*Chunk) toCoordinator()    {}
func (*Heard) toCoordinator()    {}
func (*Saved) toCoordinator()    {}
func (*Offer) toCoordinator()    {}
func (*Ask) toCoordinator()      {}
func (*Gone) toCoordinator()     {}

func (*Greet) toWorker()    {}
func (*Welcome) toWorker()  {}
func (*Drain) toWorker()    {}
func (*Place) toWorker()    {}
func (*Withdraw) toWorker() {}
func (*Ack) toWorker()      {}
func (*Say) toWorker()      {}
func (*End) toWorker()      {}
func (*Confirm) toWorker()  {}
func (*Answer) toWorker()   {}
func (*Discard) toWorker()  {}

func (*Hello) kind() string    { return "hello" }
func (*Beat) kind() string     { return "beat" }
func (*Goodbye) kind() string  { return "goodbye" }
func (*Accept) kind() string   { return "accept" }
func (*Refuse) kind() string   { return "refuse" }
func (*Prepared) kind() string { return "prepared" }
func (*Started) kind() string  { return "started" }
func (*Chunk) kind() string    { return "chunk" }
func (*Heard) kind() string    { return "heard" }
func (*Saved) kind() string    { return "saved" }
func (*Offer) kind() string    { return "offer" }
func (*Ask) kind() string      { return "ask" }
func (*Gone) kind() string     { return "gone" }
func (*Greet) kind() string    { return "greet" }
func (*Welcome) kind() string  { return "welcome" }
func (*Drain) kind() string    { return "drain" }
func (*Place) kind() string    { return "place" }
func (*Withdraw) kind() string { return "withdraw" }
func (*Ack) kind() string      { return "ack" }
func (*Say) kind() string      { return "say" }
func (*End) kind() string      { return "end" }
func (*Confirm) kind() string  { return "confirm" }
func (*Answer) kind() string   { return "answer" }
func (*Discard) kind() string  { return "discard" }
