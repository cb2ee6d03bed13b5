package specwright

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/text/jsonedit"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
)

// Verdicts returns the possible results of a gate.
func Verdicts() []string { return []string{"PASS", "FAIL", "WARN", "ERROR", "SKIP"} }

// A Config holds the settings of .specwright/config.json that affect the state.
type Config struct {
	Gates []string // enabled gates, in the order in which sw-verify runs them
	Build bool     // there is a build command
	// the command lines of the mechanical gates, build and tests; "" for none
	Commands map[string]string
	Problem  string // why the file is invalid; the defaults apply then
}

// gateOrder returns the order of sw-verify, which is also the set of gates enabled by default.
func gateOrder() []string { return []string{"build", "tests", "security", "wiring", "spec"} }

// ReadConfig reads config.json. Agents have written the enabled gates in several ways: gates or
// gates.enabled is a list of names, or maps each gate to a boolean or to an object with
// "enabled".
func ReadConfig(root string) Config {
	c := Config{Gates: gateOrder()}
	data, err := durable.ReadFile(filepath.Join(root, filepath.FromSlash(configFile)))
	if errors.Is(err, fs.ErrNotExist) {
		return c
	}
	var file struct {
		Gates    json.RawMessage
		Commands struct{ Build, Test, Tests any }
	}
	if err == nil {
		err = jsonedit.Unmarshal(data, &file)
	}
	if err == nil && len(file.Gates) > 0 && string(file.Gates) != "null" {
		c.Gates, err = enabled(file.Gates)
	}
	if err != nil {
		c.Gates = gateOrder()
		c.Problem = fmt.Sprintf("%s can't be understood, so the usual gates count: %v",
			configFile, err)
		return c
	}
	c.Build = file.Commands.Build != nil && file.Commands.Build != ""
	c.Commands = map[string]string{}
	for _, of := range []struct {
		gate string
		line any
	}{
		{"build", file.Commands.Build}, {"tests", file.Commands.Tests}, {"tests", file.Commands.Test},
	} {
		if line, ok := of.line.(string); ok && line != "" {
			c.Commands[of.gate] = line
		}
	}
	return c
}

// enabled parses the value of gates. Having no enabled gate must be explicit, as an empty list
// or with every gate switched off, since it lets unchecked work ship.
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
			_ = json.Unmarshal(raw, &g) // an unreadable value doesn't disable a gate
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

// Trusted returns the commands of the mechanical gates as a person must have allowed them.
func (c Config) Trusted() []trust.Command {
	var list []trust.Command
	for _, gate := range slices.Sorted(maps.Keys(c.Commands)) {
		list = append(list, trust.Command{Key: trust.Specwright + gate, Line: c.Commands[gate]})
	}
	return list
}

// inOrder strips the prefix gate- and sorts by gateOrder, with unknown gates before the last
// one: spec is the final check.
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

// Enabled returns the gates that the current work must pass.
func (s *State) Enabled(c Config) []string {
	if s.Work == nil || s.Work.Intensity != "quick" {
		return c.Gates
	}
	if c.Build {
		return []string{"build", "spec"}
	}
	return []string{"spec"}
}

// Gate returns the last verdict of the gate for the current unit; nil for none.
func (s *State) Gate(name string) *Gate {
	unit := ""
	if u := s.Current(); u != nil {
		unit = u.ID
	}
	var found *Gate
	for i := range s.Gates {
		g := &s.Gates[i]
		if g.Name == name && (g.Unit == unit || g.Unit == "") &&
			(found == nil || found.Unit == "" && g.Unit != "") {
			found = g
		}
	}
	return found
}

// Time returns when the gate ran: the time of its evidence file if that exists, because the
// recorded time may be invented. Zero means unknown.
func (g *Gate) Time(root string) time.Time {
	if g.Evidence != "" {
		if info, err := os.Stat(evidencePath(root, g.Evidence)); err == nil {
			return info.ModTime()
		}
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

// A Verdict is the combined result of all enabled gates.
type Verdict struct {
	Bad    []string // "gate tests FAIL", "gate spec not run": these prevent shipping
	Failed []string // those of Bad that ran: "tests FAIL"
	Old    []string // descriptions of gates that ran more than 30 minutes ago
	// the path of what /sw-init writes first; "" if it is there
	Unfounded string
	// the path of what the design must have produced before planning; "" if it is there
	Undesigned string
	// the path of the spec that a work without units needs before it is built; "" if it is there
	Unplanned string
}

// Failing reports whether a gate ran and didn't pass.
func (v Verdict) Failing() bool { return len(v.Failed) > 0 }

// Words describes the problems: "gate tests FAIL, gate spec not run".
func (v Verdict) Words() string { return strings.Join(v.Bad, ", ") }

// Verdict combines the results of the enabled gates.
func (s *State) Verdict(root string, c Config, now time.Time) Verdict {
	v := Verdict{Unfounded: unwritten(root, constitution), Undesigned: s.undesigned(root),
		Unplanned: s.unplanned(root)}
	for _, name := range s.Enabled(c) {
		g := s.Gate(name)
		if g == nil || g.Status == "" {
			v.Bad = append(v.Bad, "gate "+name+" not run")
			continue
		}
		switch strings.ToUpper(g.Status) {
		case "PASS", "WARN", "SKIP":
			if at := g.Time(root); !at.IsZero() && now.Sub(at) > lockLimit {
				v.Old = append(v.Old, fmt.Sprintf("gate %s ran %s ago, more than 30 minutes", name,
					plan.Age(now.Sub(at))))
			}
		default:
			v.Bad = append(v.Bad, "gate "+name+" "+g.Status)
			v.Failed = append(v.Failed, name+" "+g.Status)
		}
	}
	return v
}

// undesigned returns the path of the document that a work in design needs before it is planned:
// design.md or, for lite, context.md. It is "" if the document is there, or none is needed.
func (s *State) undesigned(root string) string {
	if s.Work == nil || s.Status() != Designing || s.Work.Intensity == "quick" {
		return ""
	}
	name := "design.md"
	if s.Work.Intensity == "lite" {
		name = "context.md"
	}
	return s.missing(root, name)
}

// unplanned returns the path of the spec that a work in planning lacks. It is "" if the spec is
// there, or each unit has its own.
func (s *State) unplanned(root string) string {
	if s.Work == nil || s.Status() != Planning || len(s.Units) > 0 {
		return ""
	}
	return s.missing(root, "spec.md")
}

// missing returns the path of a document in the work's directory; "" if it is written.
func (s *State) missing(root, name string) string {
	dir := cmp.Or(strings.TrimSuffix(s.Work.Dir, "/"), ".specwright/work/"+s.Work.ID)
	return unwritten(root, dir+"/"+name)
}

// unwritten returns the path of a document that is missing or empty; "" if it is written.
func unwritten(root, path string) string {
	data, err := durable.ReadFile(evidencePath(root, path))
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return path
	}
	return ""
}

// constitution is the document that /sw-init writes first; a project that has it is set up.
const constitution = ".specwright/CONSTITUTION.md"

// verdict returns the verdict for refusals: once there is a state, the protocol doesn't send
// anyone back to /sw-init.
func (e *Edit) verdict() Verdict {
	v := e.State.Verdict(e.root, ReadConfig(e.root), e.now)
	v.Unfounded = ""
	return v
}

// A Result is the outcome of a gate. An empty Evidence keeps the recorded path; if there is
// none, it becomes the gate's report, if that exists where sw-verify writes it.
type Result struct {
	Name, Status, Evidence string
	Block, Warn, Info      int
}

// MayRecord returns an error if no gate can be recorded now.
func (e *Edit) MayRecord() error { return e.in("record a gate", Verifying) }

// SetGate records a gate's verdict, in the shape of the file's other gates.
func (e *Edit) SetGate(r Result) error {
	if err := e.MayRecord(); err != nil {
		return err
	}
	r.Name = strings.TrimPrefix(r.Name, "gate-")
	if err := CheckID(r.Name); err != nil {
		return err
	}
	if !slices.Contains(e.State.Enabled(ReadConfig(e.root)), r.Name) {
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
	return e.setAll(append(list, setting{number(r.Block), under(findings, "block")},
		setting{number(r.Warn), under(findings, "warn")},
		setting{number(r.Info), under(findings, "info")})...)
}

// EvidenceDir returns the directory for the evidence of the work's gates; "" without one.
func (w *Work) EvidenceDir() string {
	if w == nil || w.Dir == "" {
		return ""
	}
	return strings.TrimSuffix(w.Dir, "/") + "/evidence"
}

// report returns the default for a gate's evidence: the report that sw-verify writes, if it
// exists. Otherwise it is null rather than missing, because skills read the field.
func (e *Edit) report(gate string) json.RawMessage {
	dir := e.State.Work.EvidenceDir()
	if dir == "" {
		return null
	}
	for _, name := range []string{gate + "-report.md", "gate-" + gate + ".md", gate + ".md"} {
		if paths.IsFile(evidencePath(e.root, dir+"/"+name)) {
			return quote(dir + "/" + name)
		}
	}
	return null
}

// gatePath returns the path of the gate, or the path where it belongs.
func (e *Edit) gatePath(name string) []string {
	if g := e.State.Gate(name); g != nil {
		return g.path
	}
	at, prefix := []string{"gates"}, ""
	byUnit := slices.ContainsFunc(e.State.Gates, func(g Gate) bool { return g.Unit != "" })
	if u := e.State.Current(); u != nil && byUnit {
		at = under(at, u.ID)
	}
	for _, g := range e.State.Gates {
		if strings.HasPrefix(g.path[len(g.path)-1], "gate-") {
			prefix = "gate-"
		}
	}
	return under(at, prefix+name)
}

// gateKey returns the key that the gate uses, or else that another gate uses, or else the
// first.
func (e *Edit) gateKey(at []string, names ...string) string {
	paths := [][]string{at}
	for _, g := range e.State.Gates {
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
