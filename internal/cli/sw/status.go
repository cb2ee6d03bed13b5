package sw

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/term"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/specwright"
)

func newStatus(s *caller) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the work, its tasks, gates, lock, units and next step",
		Long: `Show the current work and unit, its tasks, the gates with their age and evidence, the lock and its age, the queue of
units, contradictions in the file, and the next skill. Nothing is written.

Exit codes: 0 shown; 1 there is no state, or it can't be read; 2 wrong usage.`,
		Example: "  gl sw status\n  gl sw status --json | jq -r .next.skill",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    func(*cobra.Command, []string) error { return s.status(asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

// A StatusDoc is what gl sw status --json prints.
type StatusDoc struct {
	SchemaVersion int       `json:"schema_version"`
	Root          string    `json:"root"`          // absolute path of the project
	File          string    `json:"file"`          // relative to the root
	Version       *string   `json:"version"`       // of the file's format
	Updated       *string   `json:"updated"`       // lastUpdated, verbatim
	Work          *workDoc  `json:"work"`          // the current work; null for none
	Gates         []gateDoc `json:"gates"`         // in the order of the file
	GatesMissing  []string  `json:"gates_missing"` // enabled gates without a verdict
	Lock          *lockDoc  `json:"lock"`          // null if unlocked
	Queue         []unitDoc `json:"queue"`         // the units in the order they are built
	// how the unit's entry contradicts the current work, which takes precedence
	Drift    *string        `json:"drift"`
	Next     nextHint       `json:"next"`
	Warnings []plan.Warning `json:"warnings"`
}

type workDoc struct {
	ID          string   `json:"id"`
	Description *string  `json:"description"`
	Status      string   `json:"status"` // verbatim
	Unit        *string  `json:"unit"`   // id of the current unit; null for single-unit work
	WorkDir     *string  `json:"work_dir"`
	Intensity   *string  `json:"intensity"`                          // null means full
	Total       *int     `json:"tasks_total" jsonschema:"minimum=0"` // null for unknown
	Completed   []string `json:"tasks_completed"`
	Task        *string  `json:"current_task"`
}

type gateDoc struct {
	Name string `json:"name"` // without the prefix gate-
	// in files that keep gates by units
	Unit    *string `json:"unit"`
	Status  string  `json:"status"`   // verbatim
	LastRun *string `json:"last_run"` // verbatim
	// since the evidence was written, if it exists, otherwise since last_run; null for unknown
	AgeSeconds *int    `json:"age_seconds" jsonschema:"minimum=0"`
	Evidence   *string `json:"evidence"` // path as recorded
	Found      bool    `json:"evidence_found"`
	Enabled    bool    `json:"enabled"` // counts for shipping
	Block      *int    `json:"block" jsonschema:"minimum=0"`
	Warn       *int    `json:"warn" jsonschema:"minimum=0"`
	Info       *int    `json:"info" jsonschema:"minimum=0"`
}

type lockDoc struct {
	Skill string `json:"skill"`
	// token of the session; null if the lock names only a skill
	Holder *string `json:"holder"`
	Since  *string `json:"since"` // verbatim
	// since it was acquired or refreshed
	AgeSeconds int `json:"age_seconds" jsonschema:"minimum=0"`
	// 30 minutes old and not held by a running attempt: any session may take it
	Stale bool `json:"stale"`
}

type unitDoc struct {
	ID          string   `json:"id"`
	Description *string  `json:"description"`
	Status      string   `json:"status"` // verbatim
	Order       *float64 `json:"order"`
	WorkDir     *string  `json:"work_dir"`
	Current     bool     `json:"current"` // in progress
}

type nextHint struct {
	Skill   string `json:"skill"`   // the next slash command
	Command string `json:"command"` // the gl command for the next step
	Reason  string `json:"reason"`
}

// A view is the state to be shown, at one time.
type view struct {
	*specwright.State
	root string
	cfg  specwright.Config
	now  time.Time
	live func(token string) bool
}

func (s *caller) status(asJSON bool) error {
	store, root, st, err := s.read()
	if err != nil {
		return err
	}
	c, err := store.Load()
	if err != nil {
		return err
	}
	v := &view{State: st, root: root, cfg: specwright.ReadConfig(root), now: time.Now(),
		live: s.caller(root).Live}
	for _, w := range c.Warnings {
		s.app.IO.Message("warning: %s", cmdutil.WarningText(w))
	}
	if asJSON {
		return s.app.IO.JSON(v.doc(c.Warnings))
	}
	for _, l := range v.lines() {
		s.app.IO.Printf("%s\n", sanitize.Text(l))
	}
	return nil
}

func (v *view) doc(warnings []plan.Warning) StatusDoc {
	next := v.Next(v.root, v.cfg, v.now)
	d := StatusDoc{SchemaVersion: 1, Root: v.root, File: specwright.StateFile,
		Version: jsondoc.OrNull(v.Version), Updated: jsondoc.OrNull(v.Updated),
		Drift: jsondoc.OrNull(v.Drift()), Next: nextHint{next.Command, next.Also, next.Why},
		Warnings: append([]plan.Warning{}, warnings...), Gates: []gateDoc{},
		GatesMissing: []string{}, Queue: []unitDoc{}}
	if w := v.Work; w != nil {
		d.Work = &workDoc{w.ID, jsondoc.OrNull(w.Description), w.Status, jsondoc.OrNull(w.Unit),
			jsondoc.OrNull(w.Dir), jsondoc.OrNull(w.Intensity), w.Total,
			append([]string{}, w.Done...), jsondoc.OrNull(w.Task)}
		for _, name := range v.Enabled(v.cfg) {
			if v.Gate(name) == nil {
				d.GatesMissing = append(d.GatesMissing, name)
			}
		}
	}
	for i := range v.Gates {
		g := &v.Gates[i]
		d.Gates = append(d.Gates, gateDoc{g.Name, jsondoc.OrNull(g.Unit), g.Status,
			jsondoc.OrNull(g.LastRun), v.age(g), jsondoc.OrNull(g.Evidence), v.found(g),
			slices.Contains(v.Enabled(v.cfg), g.Name), g.Block, g.Warn, g.Info})
	}
	if l := v.Lock; l != nil {
		d.Lock = &lockDoc{l.Skill, jsondoc.OrNull(l.Holder), jsondoc.OrNull(l.Since),
			int(v.LockAge(v.now).Seconds()), v.stale()}
	}
	for _, u := range v.Units {
		d.Queue = append(d.Queue, unitDoc{u.ID, jsondoc.OrNull(u.Description), u.Status, u.Order,
			jsondoc.OrNull(u.Dir), u.ID == v.InHand()})
	}
	return d
}

func (v *view) stale() bool { return !v.Fresh(v.now) && !v.live(v.Lock.Holder) }

// age returns how many seconds ago the gate ran; nil if that is unknown or in the future.
func (v *view) age(g *specwright.Gate) *int {
	at := g.Time(v.root)
	if at.IsZero() || at.After(v.now) {
		return nil
	}
	n := int(v.now.Sub(at).Seconds())
	return &n
}

func (v *view) found(g *specwright.Gate) bool {
	path := g.Evidence
	if !filepath.IsAbs(path) {
		path = filepath.Join(v.root, filepath.FromSlash(path))
	}
	_, err := os.Stat(path)
	return g.Evidence != "" && err == nil
}

// labelWidth is the column where the texts begin, as in gl status.
const labelWidth = 10

func (v *view) lines() []string {
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, term.Pad(label, labelWidth)+text)
		}
	}
	next := v.Next(v.root, v.cfg, v.now)
	add("Next:", next.Command+" ("+next.Why+")")
	if w := v.Work; w == nil {
		add("Work:", "none")
	} else {
		add("Work:", described(w.ID, w.Description))
		if u := v.Current(); u != nil {
			add("Unit:", described(u.ID, u.Description))
		}
		add("Status:", w.Status)
		task := w.Tasks()
		if w.Task != "" {
			task += ", now " + w.Task
		}
		add("Tasks:", task)
	}
	for i, text := range v.gates() {
		add([]string{"Gates:", ""}[min(i, 1)], text)
	}
	if l := v.Lock; l != nil {
		add("Lock:",
			l.Who()+", for "+plan.Age(v.LockAge(v.now))+map[bool]string{true: ", stale"}[v.stale()])
	}
	for i, u := range v.Units {
		mark := map[bool]string{true: " ← current"}[u.ID == v.InHand()]
		if counts := u.CountsAs(); counts != "" {
			mark = ", counts as " + counts + mark
		}
		add([]string{"Queue:", ""}[min(i, 1)],
			fmt.Sprintf("%d. [%s] %s (%s)%s", i+1, strings.ToUpper(u.Status), u.ID, u.Dir, mark))
	}
	add("Drift:", v.Drift())
	return lines
}

func described(id, text string) string {
	if text == "" {
		return id
	}
	return id + " (" + sanitize.Line(text) + ")"
}

// gates returns one line for each gate, and a single line for those of a unit that has shipped.
func (v *view) gates() []string {
	var lines []string
	shipped := make(map[string]int)
	for i := range v.Gates {
		g := &v.Gates[i]
		unit := cmp.Or(g.Unit, v.InHand())
		if !v.Shipped(unit) {
			lines = append(lines, v.gateText(g))
			continue
		}
		if shipped[unit]++; shipped[unit] == 1 {
			lines = append(lines, unit)
		}
	}
	for i, line := range lines {
		if n := shipped[line]; n > 0 {
			lines[i] = fmt.Sprintf("%s: %s, shipped", line, words.Count(n, "gate"))
		}
	}
	return lines
}

// gateText returns a gate as text: "tests FAIL, 12m ago, 2 block, 1 warn, 0 info, evidence.md".
func (v *view) gateText(g *specwright.Gate) string {
	words := []string{g.Name + " " + g.Status}
	if g.Unit != "" {
		words[0] = g.Unit + ": " + words[0]
	}
	if age := v.age(g); age != nil {
		words = append(words, plan.Age(time.Duration(*age)*time.Second)+" ago")
	}
	for _, f := range []struct {
		n    *int
		kind string
	}{{g.Block, "block"}, {g.Warn, "warn"}, {g.Info, "info"}} {
		if f.n != nil && *f.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", *f.n, f.kind))
		}
	}
	switch {
	case g.Evidence != "" && !v.found(g):
		words = append(words, g.Evidence+" (missing)")
	case g.Evidence != "":
		words = append(words, g.Evidence)
	}
	return strings.Join(words, ", ")
}
