package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/run/project/projecttest"
)

// A predicament is a project in which S-1 may block S-2, and S-0 may block S-1.
type predicament struct {
	legacy                        bool
	status, step, session, waits  string
	needs                         string // status of S-0
	attempt                       string // the last one at S-1
	hold                          string
	old, yolo                     bool // S-1 hasn't changed for days; stale claims are taken over
	paused, corrupt, cycle, ghost bool
}

// attempts at S-1: files under runs, in which STATUS, STEP, SESSION, HOST and LOG are placeholders.
var attempts = map[string]map[string]string{
	"": nil,
	"failed": {"runs/done/S-1.1.failed.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed",
		"detail": "exit 7", "after": {"status": "STATUS", "step": "STEP", "session": "SESSION"}}`, "runs/log/S-1.1.log": "{}\n"},
	"touched": {"runs/done/S-1.1.failed.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "settled", "outcome": "failed",
		"detail": "exit 7", "after": {"status": "other", "step": "", "session": ""}}`},
	"stalled": {"runs/done/S-1.2.stalled.json": `{"schema_version": 1, "slice": "S-1", "n": 2, "agent": "claude", "phase": "settled", "outcome": "stalled",
		"detail": "ended at tests", "after": {"status": "STATUS", "step": "STEP", "session": "SESSION"}}`, "runs/log/S-1.2.log": "{}\n"},
	"done": {"runs/done/S-1.1.done.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "settled", "outcome": "done",
		"detail": "1 test", "after": {"status": "complete", "step": "complete", "session": ""}}`, "runs/log/S-1.1.log": "{}\n"},
	"bad": {"runs/live/S-1.1.json": "<<<<<<< HEAD\n"},
	"claimed, launcher dead": {"runs/live/S-1.1.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "claimed", "token": "SESSION-",
		"before": {"status": "pending", "step": "none", "session": ""}, "launcher": {"pid": 7, "start": "1", "boot": "earlier", "host": "HOST"},
		"claimed_at": "2026-01-02T03:04:05Z"}`},
	"started, wrapper dead": {"runs/live/S-1.1.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "started", "token": "SESSION-",
		"before": {"status": "pending", "step": "none", "session": ""}, "launcher": {"pid": 7, "start": "1", "boot": "earlier", "host": "HOST"},
		"wrapper": {"pid": 8, "start": "1", "boot": "earlier", "host": "HOST"}, "process": {"pid": 9, "start": "1", "boot": "earlier", "host": "HOST"},
		"claimed_at": "2026-01-02T03:04:05Z", "started_at": "2026-01-02T03:04:06Z"}`, "runs/log/S-1.1.log": "{}\n"},
	"started elsewhere": {"runs/live/S-1.1.json": `{"schema_version": 1, "slice": "S-1", "n": 1, "agent": "claude", "phase": "started", "token": "SESSION-",
		"before": {"status": "pending", "step": "none", "session": ""}, "launcher": {"pid": 7, "start": "1", "boot": "x", "host": "elsewhere"},
		"wrapper": {"pid": 8, "start": "1", "boot": "x", "host": "elsewhere"}, "process": {"pid": 9, "start": "1", "boot": "x", "host": "elsewhere"},
		"claimed_at": "2026-01-02T03:04:05Z", "started_at": "2026-01-02T03:04:06Z"}`, "runs/log/S-1.1.log": "{}\n"},
}

var holds = map[string]string{
	"":       "",
	"limit":  `{"until": "2099-01-01T00:00:00Z", "since": "2026-01-01T00:00:00Z", "kind": "quota", "reason": "", "by": "S-3", "count": 1}`,
	"person": `{"until": "2099-01-01T00:00:00Z", "since": "2026-01-01T00:00:00Z", "kind": "person"}`,
	"bad":    "nonsense",
}

// ages is a time long before any test.
var ages = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (p predicament) write(t *testing.T) (root string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	deps := p.depsOf()
	slice := func(id, status, step, session, waits, deps string) string {
		return fmt.Sprintf("---\nid: %s\nstatus: %s\nstep: %s\nmilestone: m\ntests: 0\nsession: %s\nwaiting_for: %s\ndeps: %s\n---\n\n# %s: Name\n", id, status, step, session, waits, deps, id)
	}
	files := map[string]string{
		"slices/S-0.md": slice("S-0", p.needs, "none", "", "", deps["S-0"]),
		"slices/S-1.md": slice("S-1", p.status, p.step, p.session, p.waits, deps["S-1"]),
		"slices/S-2.md": slice("S-2", "pending", "none", "", "", "S-1"),
	}
	if p.corrupt {
		files["slices/S-1.md"] = "<<<<<<< HEAD\n" + files["slices/S-1.md"]
	}
	if p.legacy {
		row := func(id, status, deps string) string {
			return fmt.Sprintf("| %s | Name | %s | 0 | 0 | %s |\n", id, status, deps)
		}
		files = map[string]string{"STATE.md": "# Project State\n\n## Slices\n\n| ID | Name | Status | Tests | Security | Deps |\n|----|------|--------|-------|----------|------|\n" +
			row("S-0", p.needs, deps["S-0"]) + row("S-1", p.status, deps["S-1"]) +
			row("S-2", "pending", "S-1")}
	}
	if p.yolo {
		files["config.json"] = `{"mode": "yolo"}`
	}
	if p.hold != "" {
		files["runs/hold.json"] = holds[p.hold]
	}
	in := strings.NewReplacer("STATUS", p.status, "STEP", p.step, "SESSION",
		p.session, "HOST", host)
	for name, text := range attempts[p.attempt] {
		files[name] = in.Replace(text)
	}
	root = projecttest.Write(t, files)
	if p.old {
		for name := range files {
			if err := os.Chtimes(filepath.Join(root, ".greenlight", name), ages, ages); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p.paused {
		at(t, root, "pause", "S-1") // or it refuses
	}
	return root
}

// depsOf returns the dependencies of S-0 and S-1.
func (p predicament) depsOf() map[string]string {
	deps := map[string]string{"S-1": "S-0"}
	switch {
	case p.cycle:
		deps["S-0"] = "S-1"
	case p.ghost:
		deps["S-0"] = "S-9"
	}
	return deps
}

// at runs gl in a project and returns its output.
func at(t *testing.T, root string, words ...string) (code int, text string) {
	t.Helper()
	var out bytes.Buffer
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(root), "COLUMNS=1000"}
	code = Main(context.Background(), append([]string{"-C", root}, words...), strings.NewReader(""),
		&out, &out, environ)
	return code, out.String()
}

// advising lists the commands whose output recommends commands. Their own effects don't matter
// here.
var advising = []string{"status", "why", "why S-1", "why S-2", "slice --dry-run", "doctor", "slice S-1 --dry-run", "slice S-2 --dry-run", "retry S-1", "retry S-2", "accept S-1",
	"reject S-1 text", "pause S-1", "resume S-1", "stop S-1", "state claim S-1", "state release S-1", "state set S-1 step=tests", "logs S-1", "debug S-1"}

// named finds the commands in a text: words to be typed as they are, and placeholders.
var named = regexp.MustCompile(`\bgl (?:state |roadmap |gsd |sw |settings )?[a-z-]+(?: (?:S-\d\b|--?[a-z]+(?:-[a-z]+)*\b|[a-z_]+=[^\s,;:()]*|[A-Z]{2,}\b|all\b|[a-z]+\.[a-z]+\b|\d+\b))*`)

// In every state of a project, the commands that messages recommend work.
func TestAdviceIsAccepted(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	var all []predicament
	for _, status := range []string{"pending", "in_progress", "implementing", "verifying", "complete", "failed", "stalled", "paused", "odd"} {
		for _, session := range []string{"", "tok"} {
			for _, waits := range []string{"", "review"} {
				for attempt := range attempts {
					all = append(all, predicament{status: status, step: "none", session: session,
						waits: waits, attempt: attempt, needs: "complete"})
				}
			}
		}
	}
	names := func(m map[string]string) []string {
		var list []string
		for k := range m {
			list = append(list, k)
		}
		slices.Sort(list)
		return list
	}
	slices.SortFunc(all, func(a, b predicament) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	random := rand.New(rand.NewPCG(1, 14))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	rare := func() bool { return random.IntN(6) == 0 }
	for i := range all {
		p := &all[i]
		p.needs = one("complete", "complete", "complete", "pending", "failed", "in_progress", "odd")
		p.step = one("none", "none", "tests", "verifying", "complete")
		p.hold = one(append(names(holds), "", "", "")...)
		p.old, p.yolo, p.paused, p.corrupt, p.cycle, p.ghost, p.legacy = rare(), rare(), rare(),
			rare(), rare(), rare(), rare()
	}
	n := len(all)
	if testing.Short() {
		n = 4
	} else if !testfiles.Long() {
		n = 4
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	top, _ := commandTree()
	refusals := map[string]bool{} // told once
	for _, p := range all[:n] {
		for _, line := range advising {
			code, text := at(t, p.write(t), strings.Fields(line)...)
			for _, advice := range slices.Compact(slices.Sorted(slices.Values(named.FindAllString(text, -1)))) {
				if c, _, err := top.Find(strings.Fields(advice)[1:]); err != nil || c == top {
					continue // a sentence about gl
				}
				if why := p.refusal(t, line, advice); why != "" && !refusals[line+advice] {
					refusals[line+advice] = true
					t.Errorf("%+v\ngl %s (exit code %d):\n%s%s: %s", p, line, code,
						linesWith(text, advice), advice, why)
				}
			}
		}
	}
}

// linesWith returns the lines of the text that contain the words.
func linesWith(text, words string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, words) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// refusal runs a recommended command and returns its refusal; "" for none.
func (p predicament) refusal(t *testing.T, line, advice string) string {
	words := strings.Fields(advice)[1:]
	switch {
	// a sentence about any slice, or about the command
	case slices.Contains(words, "ID"), advice == "gl pause",
		strings.HasPrefix(line, "resume"):
		// a hand-off was written when the slice was paused
		return ""
	case words[0] == "slice" && len(words) > 1:
		words = append(words, "--dry-run") // only what it would launch; agents are tested elsewhere
	case slices.Contains([]string{"slice", "attach", "init", "help", "rehearse", "quick"},
		words[0]):
		return "" // need an agent or a terminal
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "-f" })
	for i, w := range words {
		if slices.Contains([]string{"TEXT", "NAME"}, w) {
			w = "text"
		}
		words[i] = strings.TrimSuffix(w, "…")
	}
	if words[0] == "settings" {
		words = append(words, "text") // its value is in quotes
	}
	root := p.write(t)
	at(t, root, strings.Fields(line)...)
	code, text := at(t, root, words...)
	if code != 0 && words[0] != "doctor" { // its exit code depends on its findings
		return fmt.Sprintf("exit code %d: %s", code, text)
	}
	if words[0] == "slice" && strings.Contains(text, "Would launch: nothing") && p.hold == "" {
		return text
	}
	return ""
}
