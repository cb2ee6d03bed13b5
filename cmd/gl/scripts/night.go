package scripts

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// This is the check of night_counted.txtar. It compares what the script's agents logged with
// what gl reports, and uses no code of gl for that.

// An agentRun is one start of an agent, as the agent logs it: "begin NANOSECONDS SLICE ATTEMPT
// ACCOUNT FATE COST RESET", and "end" likewise.
type agentRun struct {
	slice, attempt, account, fate string
	cost                          float64 // NaN if the agent reports none
	reset, begin, end             int64   // in milliseconds; end is 0 if it was killed
}

func (r *agentRun) name() string { return r.slice + "." + r.attempt }

// endings gives for each fate how the attempt ends, of which transition a person is notified,
// and whether its cost was wasted.
var endings = map[string]struct {
	outcome, told string
	lost          bool
}{
	"complete": {"done", "", false}, "429": {"held", "", false}, "500": {"held", "", false}, "offline": {"held", "", false},
	"question": {"waiting", "needs_you", false}, "red": {"red", "", true}, "redagain": {"red", "needs_you", true},
	"exit7": {"failed", "failed", true}, "kill9": {"failed", "failed", true}, "turns": {"stalled", "failed", true}, "budget": {"stalled", "failed", true},
	"hang": {"hung", "failed", true}, "vanish": {"crashed", "failed", true},
}

// A night is the agents' log. Kills of a run and raised budgets are logged there, too.
type night struct {
	runs            []*agentRun
	drains, killed  int
	raised          int64 // when a budget was raised last
	budgets, limits int   // reached
}

func readNight(ts *testscript.TestScript, log string) *night {
	n := &night{}
	byName := map[string]*agentRun{}
	number := func(s string) int64 {
		i, err := strconv.ParseInt(s, 10, 64)
		ts.Check(err)
		return i
	}
	for line := range strings.Lines(log) {
		f := strings.Fields(line)
		switch f[0] {
		case "begin":
			r := &agentRun{slice: f[2], attempt: f[3], account: f[4], fate: f[5], cost: math.NaN(),
				begin: number(f[1]) / 1e6}
			// these never get to report it
			if f[6] != "-" && f[5] != "kill9" && f[5] != "hang" && f[5] != "vanish" {
				r.cost, _ = strconv.ParseFloat(f[6], 64)
			}
			if f[7] != "-" {
				r.reset = number(f[7])
			}
			if byName[r.name()] != nil {
				ts.Fatalf("%s was started twice", r.name())
			}
			byName[r.name()] = r
			n.runs = append(n.runs, r)
		case "end":
			byName[f[2]+"."+f[3]].end = number(f[1]) / 1e6
		case "drain":
			n.drains++
		case "killed":
			n.killed++
		case "raised":
			n.budgets, n.raised = n.budgets+1, number(f[1])/1e6
		}
	}
	for _, r := range n.runs {
		if endings[r.fate].outcome == "held" {
			n.limits++
		}
	}
	return n
}

// accounted LOG: compares gl's journal, records, costs, report and notifications of the night
// with the agents' log.
func accounted(ts *testscript.TestScript, _ bool, args []string) {
	n := readNight(ts, ts.ReadFile(args[0]))
	journal := jsonLines(ts, ".greenlight/runs/journal.jsonl")
	same := func(what string, got, want any) {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			ts.Fatalf("%s: %v by gl, %v by the agents' log", what, got, want)
		}
	}
	n.checkAttempts(ts, journal, same)
	n.checkCosts(ts, same)
	n.checkHolds(ts, journal, same)

	told := map[string]int{}
	for _, m := range jsonLines(ts, filepath.Join(ts.Getenv("WORK"), "told")) {
		told[m["kind"].(string)]++
	}
	want := map[string]int{"end": n.drains - n.killed, "budget": n.budgets, "hold": n.limits}
	for _, r := range n.runs {
		if kind := endings[r.fate].told; kind != "" {
			want[kind]++
		}
	}
	same("notifications", told, want)
	sum := 0
	for _, k := range told {
		sum += k
	}
	same("events of notifications", len(of(journal, "notified")), sum)
	same("drains that began", len(of(journal, "drain_started")), n.drains)
	same("drains that ended", len(of(journal, "drain_ended")), n.drains-n.killed)
}

// checkAttempts checks that each run of an agent is one attempt: claimed, launched, ended and
// settled once, in this order, with its outcome and its cost.
func (n *night) checkAttempts(ts *testscript.TestScript, journal []object,
	same func(string, any, any)) {
	kinds, ended := map[string][]string{}, map[string]object{}
	for _, e := range journal {
		kind := e["kind"].(string)
		if slices.Contains([]string{"claimed", "launched", "ended", "settled"}, kind) {
			name := fmt.Sprint(e["slice"], ".", e["attempt"])
			kinds[name] = append(kinds[name], kind)
			if kind == "ended" {
				ended[name] = e
			}
		}
	}
	var records []string
	for _, r := range n.runs {
		same("the life of "+r.name(), kinds[r.name()],
			[]string{"claimed", "launched", "ended", "settled"})
		e := ended[r.name()]
		same("the end of "+r.name(), e["outcome"], endings[r.fate].outcome)
		same("the agent of "+r.name(), e["agent"], r.account)
		cost, known := e["cost_usd"].(float64)
		same("whether the cost of "+r.name()+" is known", known, !math.IsNaN(r.cost))
		if known {
			same("the cost of "+r.name(), cost, r.cost)
		}
		records = append(records, r.name()+"."+endings[r.fate].outcome+".json")
	}
	same("attempts", len(kinds), len(n.runs))
	slices.Sort(records)
	files, err := filepath.Glob(ts.MkAbs(".greenlight/runs/done/*"))
	ts.Check(err)
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	same("records", files, records)
}

// checkCosts checks that gl cost, gl status and gl report have the same sums, in total and by
// slice.
func (n *night) checkCosts(ts *testscript.TestScript, same func(string, any, any)) {
	cents := func(usd any) int { f, _ := usd.(float64); return int(math.Round(100 * f)) }
	type sum struct{ known, unknown, failed int }
	sums := map[string]sum{}
	for _, r := range n.runs {
		for _, key := range []string{"", r.slice} {
			s := sums[key]
			if math.IsNaN(r.cost) {
				s.unknown++
			} else if s.known += cents(r.cost); endings[r.fate].lost {
				s.failed += cents(r.cost)
			}
			sums[key] = s
		}
	}
	work := ts.Getenv("WORK")
	got := func(o object) sum {
		return sum{cents(o["cost_usd"]), int(o["unknown_cost"].(float64)), cents(o["failed_usd"])}
	}
	cost := jsonFile(ts, filepath.Join(work, "cost.json"))
	bySlice := map[string]sum{"": got(cost["total"].(object))}
	for _, row := range cost["rows"].([]any) {
		bySlice[row.(object)["key"].(string)] = got(row.(object))
	}
	same("gl cost", bySlice, sums)
	same("gl status",
		got(jsonFile(ts, filepath.Join(work, "status.json"))["cost"].(object)), sums[""])
	report := jsonFile(ts, filepath.Join(work, "report.json"))["cost"].(object)
	total, failed := report["total"].(object), report["failed"].(object)
	same("gl report",
		sum{cents(total["usd"]), int(total["unknown"].(float64)), cents(failed["usd"])}, sums[""])
}

// checkHolds checks that an agent that met a limit is held once for it; an attempt claimed
// after that doesn't begin early, and the wait of an outage doubles. Work beyond the budget
// begins when the budget is raised.
func (n *night) checkHolds(ts *testscript.TestScript, journal []object,
	same func(string, any, any)) {
	const first = 300 // parallel.hold_seconds of the script, in milliseconds
	limits, met := map[string][]*agentRun{}, map[string]int{}
	byName := map[string]*agentRun{}
	for _, r := range n.runs {
		byName[r.name()] = r
		if endings[r.fate].outcome == "held" {
			limits[r.account] = append(limits[r.account], r)
			met[r.account]++
		}
	}
	held, until := map[string]int{}, map[string]int64{}
	for _, e := range journal {
		account, _ := e["agent"].(string)
		switch {
		case e["kind"] == "hold" && e["reason"] != "budget":
			k := held[account]
			if held[account]++; k >= len(limits[account]) {
				ts.Fatalf("%s is held for the %d. time, and its agents have met %d limits", account, k+1, k)
			}
			if until[account] = limits[account][k].reset; until[account] == 0 {
				until[account] = limits[account][k].end + first<<k
			}
		case e["kind"] == "claimed":
			if r := byName[fmt.Sprint(e["slice"], ".", e["attempt"])]; r != nil &&
				r.begin < until[account] {
				ts.Fatalf("%s began %d ms before the end of the hold of %s", r.name(),
					until[account]-r.begin, account)
			}
		}
	}
	same("holds", held, met)
	same("ends of holds", len(of(journal, "hold_ended")), n.limits+n.budgets)
	for _, r := range n.runs {
		if r.slice == "S-10" && r.begin < n.raised {
			ts.Fatalf("%s began before the budget was raised", r.name())
		}
	}
}

func of(journal []object, kind string) (list []object) {
	for _, e := range journal {
		if e["kind"] == kind {
			list = append(list, e)
		}
	}
	return list
}

func jsonFile(ts *testscript.TestScript, path string) (o object) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(path)), &o))
	return o
}

func jsonLines(ts *testscript.TestScript, path string) (list []object) {
	for line := range strings.Lines(ts.ReadFile(path)) {
		var o object
		ts.Check(json.Unmarshal([]byte(line), &o))
		list = append(list, o)
	}
	return list
}

// estimated SAMPLES: prints the errors of gl's estimates of the end; SAMPLES has a line
// "NANOSECONDS SECONDS" for each, without SECONDS if gl had none. It is a measurement, and
// fails only if gl never had an estimate.
func estimated(ts *testscript.TestScript, _ bool, args []string) {
	ends := of(jsonLines(ts, ".greenlight/runs/journal.jsonl"), "drain_ended")
	end, err := time.Parse(time.RFC3339, ends[len(ends)-1]["time"].(string))
	ts.Check(err)
	var late, relative []float64
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		f := strings.Fields(line)
		at, err := strconv.ParseInt(f[0], 10, 64)
		ts.Check(err)
		left := end.Sub(time.Unix(0, at)).Seconds()
		if len(f) < 2 || left < 1 { // too little for a resolution of seconds
			continue
		}
		eta, err := strconv.ParseFloat(f[1], 64)
		ts.Check(err)
		late = append(late, math.Abs(left-eta))
		relative = append(relative, 100*math.Abs(left-eta)/left)
	}
	if len(late) == 0 {
		ts.Fatalf("gl has never known an end")
	}
	slices.Sort(late)
	slices.Sort(relative)
	ts.Logf("%d estimates of the end: the median is off by %.1f s or %.0f%% of what was left, the worst by %.1f s or %.0f%%", len(late),
		late[len(late)/2], relative[len(relative)/2], late[len(late)-1], relative[len(relative)-1])
}
