package specwright

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/durable"
	"greenlight/internal/plan"
	"greenlight/internal/text/jsonedit"
)

// Verdicts are what a gate can say.
func Verdicts() []string { return []string{"PASS", "FAIL", "WARN", "ERROR", "SKIP"} }

// A Config is what the state depends on in .specwright/config.json.
type Config struct {
	Gates   []string // enabled, in the order in which sw-verify runs them
	Build   bool     // there is a build command
	Problem string   // why the file can't be understood; the defaults stand for it
}

// gateOrder is sw-verify's, and what counts as enabled where config.json says nothing.
func gateOrder() []string { return []string{"build", "tests", "security", "wiring", "spec"} }

// ReadConfig reads config.json. Agents have written the enabled gates in several ways: gates or gates.enabled is a list
// of names, or has for each gate a boolean, or an object that says whether it is enabled.
func ReadConfig(root string) Config {
	c := Config{Gates: gateOrder()}
	data, err := durable.ReadFile(filepath.Join(root, filepath.FromSlash(configFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return c
	}
	var file struct {
		Gates    json.RawMessage
		Commands struct{ Build any }
	}
	if err == nil {
		err = jsonedit.Unmarshal(data, &file)
	}
	if err == nil && len(file.Gates) > 0 && string(file.Gates) != "null" {
		c.Gates, err = enabled(file.Gates)
	}
	if err != nil {
		c.Gates = gateOrder()
		c.Problem = fmt.Sprintf("%s can't be understood, so the usual gates count: %v", configFile, err)
		return c
	}
	c.Build = file.Commands.Build != nil && file.Commands.Build != ""
	return c
}

// enabled reads the value of gates. That no gate is enabled must have been said, by an empty list or by gates that are all
// switched off: it lets work be shipped that nobody has looked at.
func enabled(raw json.RawMessage) ([]string, error) {
	var names []string
	if err := json.Unmarshal(raw, &names); err == nil && names != nil {
		return inOrder(names), nil
	}
	var gates map[string]json.RawMessage
	if err := json.Unmarshal(raw, &gates); err != nil {
		return nil, fmt.Errorf("gates: %w", err)
	}
	if raw, ok := gates["enabled"]; ok {
		return enabled(raw)
	}
	known := false
	for key, raw := range gates {
		on := string(raw)
		if isObject(raw) {
			var g struct{ Enabled json.RawMessage }
			_ = json.Unmarshal(raw, &g) // what can't be read isn't switched off
			on = strconv.FormatBool(string(g.Enabled) != "false")
		}
		known = known || on == "true" || on == "false"
		if on == "true" {
			names = append(names, key)
		}
	}
	if !known {
		return gateOrder(), nil
	}
	return inOrder(names), nil
}

// inOrder strips the prefix gate- and sorts by gateOrder, what isn't in it before the last: spec is the ultimate check.
func inOrder(names []string) []string {
	for i, n := range names {
		names[i] = strings.TrimPrefix(n, "gate-")
	}
	rank := func(name string) int {
		if i := slices.Index(gateOrder(), name); i >= 0 {
			return 2 * i
		}
		return 2*len(gateOrder()) - 3
	}
	slices.Sort(names)
	names = slices.Compact(names)
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// Enabled are the gates that the work in hand must pass.
func (s *State) Enabled(c Config) []string {
	if s.Work == nil || s.Work.Intensity != "quick" {
		return c.Gates
	}
	if c.Build {
		return []string{"build", "spec"}
	}
	return []string{"spec"}
}

// Gate is the last verdict of the gate for the unit in hand; nil for none.
func (s *State) Gate(name string) *Gate {
	unit := ""
	if u := s.Current(); u != nil {
		unit = u.ID
	}
	var found *Gate
	for i := range s.Gates {
		g := &s.Gates[i]
		if g.Name == name && (g.Unit == unit || g.Unit == "") && (found == nil || found.Unit == "" && g.Unit != "") {
			found = g
		}
	}
	return found
}

// Time is when the gate ran: the time of its evidence where the file is there, for what is recorded may be invented.
// Zero for unknown.
func (g *Gate) Time(root string) time.Time {
	if info, err := os.Stat(evidencePath(root, g.Evidence)); g.Evidence != "" && err == nil {
		return info.ModTime()
	}
	t, err := time.Parse(time.RFC3339, g.LastRun)
	if err != nil {
		return time.Time{}
	}
	return t
}

func evidencePath(root, evidence string) string {
	if filepath.IsAbs(evidence) {
		return evidence
	}
	return filepath.Join(root, filepath.FromSlash(evidence))
}

// A Verdict is what all enabled gates say together.
type Verdict struct {
	Bad    []string // "gate tests FAIL", "gate spec not run": not to be shipped
	Failed []string // of them those that ran: "tests FAIL"
	Old    []string // those that ran more than 30 minutes ago, in words
}

// Failing says whether a gate ran and didn't pass.
func (v Verdict) Failing() bool { return len(v.Failed) > 0 }

// Words name what is wrong: "gate tests FAIL, gate spec not run".
func (v Verdict) Words() string { return strings.Join(v.Bad, ", ") }

// Verdict looks at the enabled gates.
func (s *State) Verdict(root string, c Config, now time.Time) Verdict {
	var v Verdict
	for _, name := range s.Enabled(c) {
		g := s.Gate(name)
		if g == nil || g.Status == "" {
			v.Bad = append(v.Bad, "gate "+name+" not run")
			continue
		}
		switch strings.ToUpper(g.Status) {
		case "PASS", "WARN", "SKIP":
			if at := g.Time(root); !at.IsZero() && now.Sub(at) > lockLimit {
				v.Old = append(v.Old, fmt.Sprintf("gate %s ran %s ago, more than 30 minutes", name, plan.Age(now.Sub(at))))
			}
		default:
			v.Bad, v.Failed = append(v.Bad, "gate "+name+" "+g.Status), append(v.Failed, name+" "+g.Status)
		}
	}
	return v
}

func (e *Edit) verdict() Verdict { return e.State.Verdict(e.root, ReadConfig(e.root), e.now) }

// A Result is what a gate found. Evidence "" keeps the path that is recorded; without one it is the gate's report, if there
// is one where sw-verify writes it.
type Result struct {
	Name, Status, Evidence string
	Block, Warn, Info      int
}

// SetGate records a gate's verdict, in the shape that the file's gates have.
func (e *Edit) SetGate(r Result) error {
	if err := e.in("record a gate", Verifying); err != nil {
		return err
	}
	r.Name = strings.TrimPrefix(r.Name, "gate-")
	if err := CheckID(r.Name); err != nil {
		return err
	}
	if !slices.Contains(e.Enabled(ReadConfig(e.root)), r.Name) {
		e.warn("gate %s isn't enabled for this work", r.Name)
	}
	if r.Evidence != "" {
		if _, err := os.Stat(evidencePath(e.root, r.Evidence)); err != nil {
			e.warn("the evidence %s isn't there", r.Evidence)
		}
	}
	at := e.gatePath(r.Name)
	if raw, ok := e.doc.Get(at...); ok && !isObject(raw) {
		if err := e.set(emptyObject, at...); err != nil {
			return err
		}
	}
	list := []setting{
		{quote(r.Status), under(at, e.gateKey(at, "status", "verdict"))},
		{quote(e.timestamp()), under(at, e.gateKey(at, "lastRun", "timestamp"))},
	}
	if raw, recorded := e.doc.Get(under(at, "evidence")...); r.Evidence != "" {
		list = append(list, setting{quote(r.Evidence), under(at, "evidence")})
	} else if !recorded || string(raw) == "null" {
		list = append(list, setting{e.report(r.Name), under(at, "evidence")})
	}
	findings := under(at, "findings")
	if raw, ok := e.doc.Get(findings...); !ok || !isObject(raw) {
		list = append(list, setting{json.RawMessage(`{"block":0,"warn":0,"info":0}`), findings})
	}
	return e.setAll(append(list, setting{number(r.Block), under(findings, "block")}, setting{number(r.Warn), under(findings, "warn")},
		setting{number(r.Info), under(findings, "info")})...)
}

// report is the value of a gate's evidence where nobody names one: the report that sw-verify writes, if it is there. Skills
// read the field, so it is null rather than missing.
func (e *Edit) report(gate string) json.RawMessage {
	for _, name := range []string{gate + "-report.md", "gate-" + gate + ".md", gate + ".md"} {
		path := strings.TrimSuffix(e.Work.Dir, "/") + "/evidence/" + name
		if info, err := os.Stat(evidencePath(e.root, path)); e.Work.Dir != "" && err == nil && info.Mode().IsRegular() {
			return quote(path)
		}
	}
	return null
}

// gatePath is where the gate is, or where one of its kind belongs.
func (e *Edit) gatePath(name string) []string {
	if g := e.Gate(name); g != nil {
		return g.path
	}
	at, prefix := []string{"gates"}, ""
	if u := e.Current(); u != nil && slices.ContainsFunc(e.Gates, func(g Gate) bool { return g.Unit != "" }) {
		at = under(at, u.ID)
	}
	for _, g := range e.Gates {
		if strings.HasPrefix(g.path[len(g.path)-1], "gate-") {
			prefix = "gate-"
		}
	}
	return under(at, prefix+name)
}

// gateKey is the name that the gate uses, else that another gate uses, else the first.
func (e *Edit) gateKey(at []string, names ...string) string {
	paths := [][]string{at}
	for _, g := range e.Gates {
		paths = append(paths, g.path)
	}
	for _, path := range paths {
		for _, n := range names {
			if _, ok := e.doc.Get(under(path, n)...); ok {
				return n
			}
		}
	}
	return names[0]
}
