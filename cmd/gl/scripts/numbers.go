package scripts

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A numbered is what one of gl's outputs says of a project: by name, as text, as far as it says it.
type numbered map[string]string

// numbers [OUTPUT]: compares the numbers in all that gl prints and writes of the project in the
// current directory. OUTPUT is a file with what a run printed.
func numbers(ts *testscript.TestScript, _ bool, args []string) {
	gl := func(args ...string) string {
		out, err := output(ts, append([]string{"gl"}, args...))
		if err != nil && !strings.HasPrefix(out, "{") {
			ts.Fatalf("gl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	document := func(args ...string) (o object) {
		ts.Check(json.Unmarshal([]byte(gl(append(args, "--json")...)), &o))
		return o
	}
	status := document("status")
	want := statusNumbers(status)
	differ := func(got numbered) (what string, differs bool) {
		for what, n := range got {
			if w, ok := want[what]; !ok || w != n {
				return what, true
			}
		}
		return "", false
	}
	same := func(where string, got numbered) {
		if what, differs := differ(got); differs {
			ts.Fatalf("%s: %s is %q in %s, %q in gl status --json", ts.Name(),
				what, got[what], where, want[what])
		}
	}
	text := gl("status")
	same("gl status", textNumbers(text, "Progress: .* ", " slices", map[string]string{
		"tests": `(?m)^Tests: +(.*)$`, "cost": `(?m)^Cost: +(.*)$`,
		"waiting": `(?m)^Waiting: +(S-\d+)`, "ready": `(?m)^Ready: +(.*)$`,
		"unverified": `(?m)^Verify: +(.*) \(unverified`}))
	same("gl status --compact", compactNumbers(gl("status", "--compact")))
	table := func() numbered { return stateNumbers(ts.ReadFile(".greenlight/STATE.md")) }
	// A run writes it once no more slices change.
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, differs := differ(table()); !differs {
			break
		}
	}
	same("STATE.md", table())
	report := document("report")
	same("gl report --json", reportNumbers(report))
	page := gl("report", "--format", "md")
	same("gl report --format md", textNumbers(page, "", "",
		map[string]string{"tests": `(?m)^Tests: (.*)$`, "listed": `(?m)^## Completed \((\d+)\)$`,
			"troubled": `(?m)^## Failed \((\d+)\)$`, "asks": `(?m)^## Needs you \((\d+)\)$`}))
	same("gl cost --json", costNumbers(document("cost")["total"].(object)))
	for _, row := range document("cost")["rows"].([]any) {
		r := row.(object)
		same("gl cost --json",
			numbered{fmt.Sprint("attempts of ", r["key"]): fmt.Sprint(r["attempts"])})
	}
	same("gl why --json", whyNumbers(document("why")))
	if len(args) > 0 {
		same("the last line of the run", lastLine(ts.ReadFile(args[0])))
	}
}

// statusNumbers are all numbers, by the document that has most of them.
func statusNumbers(o object) numbered {
	count := func(keys ...string) (n int) {
		for _, key := range keys {
			n += len(o[key].([]any))
		}
		return n
	}
	list := func(key string) string { return strings.Trim(fmt.Sprint(o[key]), "[]") }
	n := numbered{"done": fmt.Sprint(o["done"]), "total": fmt.Sprint(o["total"]), "running": fmt.Sprint(count("running")), "merging": fmt.Sprint(count("landing")),
		"troubled": fmt.Sprint(count("failed", "red", "conflict", "stalled")), "asks": fmt.Sprint(count("waiting", "unknown")),
		"ready": strings.ReplaceAll(list("ready"), " ", ", "), "blocked": fmt.Sprint(count("blocked")), "listed": fmt.Sprint(o["done"])}
	if count("waiting") > 0 {
		n["waiting"] = fmt.Sprint(o["waiting"].([]any)[0])
	}
	t := o["tests"].(object)
	n["tests"] = fmt.Sprintf("%v passing, %v failing, %v security", t["passing"], t["failing"], t["security"])
	n["total tests"] = n["tests"]
	n["brief tests"] = fmt.Sprintf("%v tests", t["passing"])
	if t["failing"] != 0.0 {
		n["brief tests"] += fmt.Sprintf(", %v failing", t["failing"])
	}
	if t["new"] != nil {
		n["tests"] += fmt.Sprintf(" (%v new", t["new"])
		if t["removed"] != 0.0 {
			n["tests"] += fmt.Sprintf(", %v removed", t["removed"])
		}
		n["tests"] += ")"
	}
	var unverified []string
	for _, item := range o["slices"].([]any) {
		s := item.(object)
		id := fmt.Sprint(s["id"])
		n["tests of "+id], n["class of "+id] = fmt.Sprint(s["tests"]), fmt.Sprint(s["class"])
		n["attempts of "+id] = fmt.Sprint(s["attempts"])
		if s["class"] == "done" && s["verified"] != true {
			unverified = append(unverified, id)
		}
	}
	n["unverified"], n["how many unverified"] = strings.Join(unverified, ", "),
		fmt.Sprint(len(unverified))
	for what, text := range costNumbers(o["cost"].(object)) {
		n[what] = text
	}
	return n
}

func costNumbers(o object) numbered {
	cents, _ := o["cost_usd"].(float64)
	failed, _ := o["failed_usd"].(float64)
	return numbered{"cost": fmt.Sprintf("$%.2f", cents), "attempts": fmt.Sprint(o["attempts"]),
		"failed cost": fmt.Sprint(math.Round(100 * failed))}
}

// textNumbers finds numbers by expressions, and "done/total" between before and after.
func textNumbers(text, before, after string, by map[string]string) numbered {
	n := numbered{}
	for what, expr := range by {
		if m := regexp.MustCompile(expr).FindStringSubmatch(text); m != nil {
			n[what] = m[1]
		}
	}
	if m := regexp.MustCompile(before + `(\d+)/(\d+)` + after).FindStringSubmatch(text); m != nil &&
		before+after != "" {
		n["done"], n["total"] = m[1], m[2]
	}
	return n
}

func compactNumbers(line string) numbered {
	n := textNumbers(line, "^", " done", map[string]string{"running": `(\d+) running`,
		"merging": `(\d+) merging`, "troubled": `(\d+) failed`, "asks": `(\d+) needs? you`})
	for _, what := range []string{"merging", "troubled", "asks"} { // what is 0 is left out
		if n[what] == "" {
			n[what] = "0"
		}
	}
	return n
}

var stateRow = regexp.MustCompile(`(?m)^\| (S-\d+) \| [^|]* \| [^|]* \| (\d+) \|`)

func stateNumbers(text string) numbered {
	n := textNumbers(text, "", "", map[string]string{"total tests": `(?m)^Total: (.*)$`})
	rows := stateRow.FindAllStringSubmatch(text, -1)
	n["total"] = fmt.Sprint(len(rows))
	for _, m := range rows {
		n["tests of "+m[1]] = m[2]
	}
	return n
}

func reportNumbers(o object) numbered {
	c := o["counts"].(object)
	n := numbered{"done": fmt.Sprint(c["done"]), "total": fmt.Sprint(c["total"]), "running": fmt.Sprint(c["running"]), "merging": fmt.Sprint(c["merging"]),
		"troubled": fmt.Sprint(c["failed"]), "asks": fmt.Sprint(c["needs_you"]), "blocked": fmt.Sprint(c["blocked"]), "how many unverified": fmt.Sprint(c["unverified"]),
		"tests": fmt.Sprint(o["tests"]), "listed": fmt.Sprint(len(o["landed"].([]any)))}
	cost := o["cost"].(object)
	total, failed := cost["total"].(object), cost["failed"].(object)
	usd, _ := total["usd"].(float64)
	lost, _ := failed["usd"].(float64)
	n["cost"], n["failed cost"] = fmt.Sprintf("$%.2f", usd), fmt.Sprint(math.Round(100*lost))
	n["attempts"] = fmt.Sprint(total["known"].(float64) + total["unknown"].(float64))
	return n
}

// whyNumbers are the states of the slices that aren't done.
func whyNumbers(o object) numbered {
	n := numbered{}
	for _, item := range o["slices"].([]any) {
		s := item.(object)
		if state := fmt.Sprint(s["state"]); state != "ready" && state != "blocked" {
			// a class has both
			n[fmt.Sprint("class of ", s["id"])] = strings.Replace(state, "running", "active", 1)
		}
	}
	return n
}

// lastLine is how a run ended: "  2/5 done | 14 tests, 3 failing".
func lastLine(text string) numbered {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return textNumbers(lines[len(lines)-1], "", " done",
		map[string]string{"brief tests": `\| (\d+ tests?(?:, \d+ failing)?)$`})
}
