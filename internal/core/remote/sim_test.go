package remote_test

import (
	"container/heap"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"greenlight/internal/core/remote"
)

// The simulation runs a coordinator, workers, the engine and the exchange between them in one
// goroutine, under a virtual clock. One seed decides everything that happens: what the network
// loses, repeats, delays and reorders, who is cut off and for how long, which process dies between
// which two effects, whose disk is slow, whose clock jumps, who burns down, and what a hostile
// worker sends. What must hold whatever happens is in sim_truth_test.go.
//
//	go test ./internal/core/remote -run Simulation -seed 4711 -v      one seed, with all its steps
//	GREENLIGHT_SIMULATE=1h go test ./internal/core/remote -run Simulation -timeout 2h

var seedFlag = flag.Uint64("seed", 0, "run the simulation with this seed alone, and print its steps")

// TestSimulation runs the first seeds for a second, or new ones on all processors for as long as
// GREENLIGHT_SIMULATE says.
func TestSimulation(t *testing.T) {
	if *seedFlag != 0 {
		simulate(t, *seedFlag, true)
		return
	}
	length, from, runners := time.Second, uint64(1), 1
	if s := os.Getenv("GREENLIGHT_SIMULATE"); s != "" {
		var err error
		if length, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
		from, runners = uint64(time.Now().Unix())<<20, runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	seen, seed, began := map[string]int{}, from, time.Now()
	for range runners {
		group.Go(func() {
			for time.Since(began) < length && !t.Failed() {
				mu.Lock()
				mine := seed
				seed++
				mu.Unlock()
				happened := simulate(t, mine, false)
				mu.Lock()
				for what, n := range happened {
					seen[what] += n
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	n := seed - from
	t.Logf("%d seeds from %d on, %.0f a second", n, from, float64(n)/time.Since(began).Seconds())
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%10d %s", seen[what], what)
	}
	for _, what := range rare { // a simulation in which it never happens says nothing about it
		if n > 1000 && seen[what] == 0 {
			t.Errorf("in %d seeds no %s", n, what)
		}
	}
}

// rare is what the machines are made for.
var rare = []string{"attempt abandoned", "attempt settled", "attempt stopped", "clock jumps", "command run",
	"coordinator dies", "end of a log lost", "hostile message", "job refused", "line heard", "line unheard",
	"log too large", "message late", "message lost", "message repeated", "notice goodbye", "notice silent",
	"notice strange", "slow disk", "work kept", "worker burns", "worker dies", "worker is cut off",
	"work goes on elsewhere",
	"work goes on where it was", "work handed back", "work waits for its worker", "worker joins anew", "worker leaves",
	"worker lost", "worker revoked", "worktree needless"}

// simulate runs a seed, and returns how often what happened.
func simulate(t *testing.T, seed uint64, loud bool) (seen map[string]int) {
	t.Helper()
	w := newWorld(seed, loud)
	defer func() {
		if v := recover(); v != nil {
			broken, ok := v.(violation)
			if !ok {
				fmt.Printf("seed %d\n", seed)
				panic(v)
			}
			t.Errorf("seed %d, at %v: %s\nreplay: go test ./internal/core/remote -run Simulation -seed %d -v",
				seed, w.now, string(broken), seed)
		}
		seen = w.seen
	}()
	w.run()
	return w.seen
}

type violation string

type world struct {
	*rand.Rand
	now    time.Duration
	queue  events
	number int
	faults faults
	policy remote.Policy
	home   *home
	sites  []*site
	truth  *truth
	seen   map[string]int
	loud   bool
}

// faults are how likely what goes wrong is until the calm.
type faults struct {
	calm                    time.Duration // from when on nothing goes wrong
	loss, twice, late       float64       // of a message
	crash                   float64       // before an effect
	slow                    float64       // of a write
	partition, burn, jump   float64       // in a second
	hostile, refused, quits float64
}

type event struct {
	at time.Duration
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func newWorld(seed uint64, loud bool) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 40)), seen: map[string]int{}, loud: loud}
	w.policy = remote.Policy{Beat: 2 * time.Second, Resend: 3 * time.Second, Silent: 8 * time.Second,
		Lost: 40 * time.Second, Accept: 20 * time.Second, Return: 30 * time.Second, Gap: 3 * time.Second, MaxLog: 1 << 20,
		Window: 1 + w.Int64N(300), Disk: 1000}
	if w.chance(0.1) {
		w.policy.MaxLog = 100 + w.Int64N(400)
	}
	some := func(most float64) float64 { // half of the seeds have none of it
		if w.chance(0.5) {
			return 0
		}
		return most * w.Float64()
	}
	w.faults = faults{calm: w.between(30*time.Second, 4*time.Minute), loss: some(0.3), twice: some(0.3),
		late: some(0.3), crash: some(0.02), slow: some(0.1), partition: some(0.03), burn: some(0.003),
		jump: some(0.02), hostile: some(0.3), refused: some(0.2), quits: some(0.005)}
	w.truth = newTruth(w)
	w.home = newHome(w, 1+w.IntN(6))
	for i := range 1 + w.IntN(4) {
		w.sites = append(w.sites, newSite(w, i))
	}
	return w
}

func (w *world) chance(p float64) bool { return p > 0 && w.Float64() < p }

func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.Int64N(int64(b-a)))
}

func (w *world) calm() bool { return w.now >= w.faults.calm }

// happens reports whether a fault happens now.
func (w *world) happens(p float64) bool { return !w.calm() && w.chance(p) }

func (w *world) after(d time.Duration, do func()) {
	w.number++
	heap.Push(&w.queue, event{w.now + d, w.number, do})
}

func (w *world) saw(what string) { w.seen[what]++ }

func (w *world) say(format string, args ...any) {
	if w.loud {
		fmt.Printf("%12v  %s\n", w.now.Round(time.Millisecond), fmt.Sprintf(format, args...))
	}
}

// shown is an event, an effect or a message for people, made only if it is printed.
type shown struct{ v any }

func show(v any) shown { return shown{v} }

func (s shown) String() string {
	data, err := json.Marshal(s.v)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s", s.v, data)
}

func (w *world) violated(format string, args ...any) {
	panic(violation(fmt.Sprintf(format, args...)))
}

// run goes on until all is done, which it must be some time after the faults' end.
func (w *world) run() {
	w.home.start()
	for _, s := range w.sites {
		s.start()
		w.after(0, s.trouble)
	}
	if w.chance(w.faults.hostile) {
		w.after(0, func() { hostile(w) })
	}
	const patience = 15 * time.Minute
	looks := time.Duration(0)
	for w.queue.Len() > 0 {
		e := heap.Pop(&w.queue).(event)
		w.now = max(w.now, e.at)
		e.do()
		if !w.calm() || w.now < looks {
			continue
		}
		looks = w.now + time.Second
		if w.open() == "" {
			w.truth.end()
			return
		}
		if w.now > w.faults.calm+patience {
			w.violated("not all ends: %s", w.open())
		}
	}
}

// open returns what isn't over.
func (w *world) open() string {
	var open []string
	if !w.home.up {
		return "the coordinator is down"
	}
	for _, name := range w.home.names() {
		if r := w.home.records[name]; r.open {
			open = append(open, "attempt "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.home.attempts)) {
		open = append(open, fmt.Sprintf("leases %s", w.home.attempts[name]))
	}
	for _, s := range w.sites {
		if !s.gone && s.busy() != "" {
			open = append(open, s.name+" has "+s.busy())
		}
	}
	return strings.Join(open, "\n")
}

// carry takes a message from one side to the other: late, twice, or never. A worker that is cut
// off gets and sends nothing until it isn't; some of that waits in the engine.
func (w *world) carry(s *site, deliver func()) {
	w.truth.messages++
	if w.happens(w.faults.loss) {
		w.saw("message lost")
		return
	}
	d := w.between(time.Millisecond, 20*time.Millisecond)
	if w.happens(w.faults.late) {
		w.saw("message late")
		d += w.between(0, 30*time.Second)
	}
	if w.now < s.cut {
		if w.chance(0.5) {
			w.saw("message lost")
			return
		}
		d += s.cut - w.now
	}
	w.after(d, deliver)
	if w.happens(w.faults.twice) {
		w.saw("message repeated")
		w.after(d+w.between(0, 40*time.Second), deliver)
	}
}

// hostile sends the coordinator what a worker without any lease can make up.
func hostile(w *world) {
	if w.calm() {
		return
	}
	fence := remote.Fence{Attempt: w.home.names()[w.IntN(len(w.home.records))], Lease: 1 + w.IntN(3)}
	if w.chance(0.1) {
		fence.Attempt = "unknown"
	}
	made := []remote.ToCoordinator{
		&remote.Hello{Protocol: remote.Version, Boot: 1 + w.Int64N(9), OS: "linux", Arch: "amd64"},
		&remote.Beat{Boot: 1 + w.Int64N(9), State: remote.State{Serial: w.Int64N(9),
			Held: []remote.Held{{Fence: fence, Stage: remote.Running}}}},
		&remote.Goodbye{Boot: 1}, &remote.Accept{Fence: fence}, &remote.Refuse{Fence: fence, Reason: "no"},
		&remote.Prepared{Fence: fence}, &remote.Started{Fence: fence},
		&remote.Chunk{Fence: fence, Offset: w.Int64N(9), Data: []byte("hostile")},
		&remote.Heard{Fence: fence, Number: 1 + w.Int64N(3)},
		&remote.Saved{Fence: fence, Number: 99, Commit: strings.Repeat("e", 40)},
		&remote.Offer{Fence: fence, Result: remote.Result{How: remote.Exited, Commit: strings.Repeat("e", 40)}},
		&remote.Ask{Fence: fence, Number: 1, Below: 1, Argv: []string{"state", "set"}}, &remote.Gone{Fence: fence},
	}
	data := encode(w, made[w.IntN(len(made))])
	if w.chance(0.3) { // or what isn't even a message
		data = slices.Clone(data)
		data[w.IntN(len(data))] ^= byte(1 + w.IntN(255))
	}
	w.saw("hostile message")
	w.home.receive("hostile", data)
	for _, s := range w.sites {
		if w.chance(0.1) {
			s.receive(data)
		}
	}
	w.after(w.between(0, 3*time.Second), func() { hostile(w) })
}

func encode(w *world, m remote.Message) []byte {
	data, err := remote.Encode(m)
	if err != nil {
		w.violated("%v", err)
	}
	return data
}

// A seed is worth something only if it does the same each time.
func TestSimulationRepeats(t *testing.T) {
	for seed := range uint64(8) {
		first, again := newWorld(seed, false), newWorld(seed, false)
		first.run()
		again.run()
		if first.now != again.now || first.number != again.number || !maps.Equal(first.seen, again.seen) {
			t.Errorf("seed %d ends at %v after %d events, and again at %v after %d", seed, first.now, first.number,
				again.now, again.number)
		}
	}
}
