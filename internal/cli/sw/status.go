package sw

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/jsondoc"
	"greenlight/internal/plan"
	"greenlight/internal/sanitize"
	"greenlight/internal/specwright"
	"greenlight/internal/term"
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

type statusDoc struct {
	SchemaVersion int            `json:"schema_version"`
	Root          string         `json:"root"`
	File          string         `json:"file"`
	Version       *string        `json:"version"`
	Updated       *string        `json:"updated"`
	Work          *workDoc       `json:"work"`
	Gates         []gateDoc      `json:"gates"`
	GatesMissing  []string       `json:"gates_missing"` // enabled, and without a verdict
	Lock          *lockDoc       `json:"lock"`
	Queue         []unitDoc      `json:"queue"`
	Drift         *string        `json:"drift"`
	Next          nextHint       `json:"next"`
	Warnings      []plan.Warning `json:"warnings"`
}

type workDoc struct {
	ID          string   `json:"id"`
	Description *string  `json:"description"`
	Status      string   `json:"status"` // verbatim
	Unit        *string  `json:"unit"`
	WorkDir     *string  `json:"work_dir"`
	Intensity   *string  `json:"intensity"`
	Total       *int     `json:"tasks_total"`
	Completed   []string `json:"tasks_completed"`
	Task        *string  `json:"current_task"`
}

type gateDoc struct {
	Name       string  `json:"name"`
	Unit       *string `json:"unit"` // of files that keep gates by units
	Status     string  `json:"status"`
	LastRun    *string `json:"last_run"`    // verbatim
	AgeSeconds *int    `json:"age_seconds"` // of the evidence where it is there, else since last_run
	Evidence   *string `json:"evidence"`
	Found      bool    `json:"evidence_found"`
	Enabled    bool    `json:"enabled"`
	Block      *int    `json:"block"`
	Warn       *int    `json:"warn"`
	Info       *int    `json:"info"`
}

type lockDoc struct {
	Skill      string  `json:"skill"`
	Holder     *string `json:"holder"`
	Since      *string `json:"since"` // verbatim
	AgeSeconds int     `json:"age_seconds"`
	Stale      bool    `json:"stale"`
}

type unitDoc struct {
	ID          string   `json:"id"`
	Description *string  `json:"description"`
	Status      string   `json:"status"` // verbatim
	Order       *float64 `json:"order"`
	WorkDir     *string  `json:"work_dir"`
	Current     bool     `json:"current"`
}

type nextHint struct {
	Skill   string `json:"skill"`
	Command string `json:"command"` // gl's, that belongs to it
	Reason  string `json:"reason"`
}

// A view is the state as it is shown, at one time.
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
	v := &view{State: st, root: root, cfg: specwright.ReadConfig(root), now: time.Now(), live: s.caller(root).Live}
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

func (v *view) doc(warnings []plan.Warning) statusDoc {
	next := v.Next(v.root, v.cfg, v.now)
	d := statusDoc{SchemaVersion: 1, Root: v.root, File: specwright.StateFile, Version: jsondoc.OrNull(v.Version), Updated: jsondoc.OrNull(v.Updated),
		Drift: jsondoc.OrNull(v.Drift()), Next: nextHint{next.Command, next.Also, next.Why}, Warnings: append([]plan.Warning{}, warnings...),
		Gates: []gateDoc{}, GatesMissing: []string{}, Queue: []unitDoc{}}
	if w := v.Work; w != nil {
		d.Work = &workDoc{w.ID, jsondoc.OrNull(w.Description), w.Status, jsondoc.OrNull(w.Unit), jsondoc.OrNull(w.Dir), jsondoc.OrNull(w.Intensity), w.Total,
			append([]string{}, w.Done...), jsondoc.OrNull(w.Task)}
		for _, name := range v.Enabled(v.cfg) {
			if v.Gate(name) == nil {
				d.GatesMissing = append(d.GatesMissing, name)
			}
		}
	}
	for i := range v.Gates {
		g := &v.Gates[i]
		d.Gates = append(d.Gates, gateDoc{g.Name, jsondoc.OrNull(g.Unit), g.Status, jsondoc.OrNull(g.LastRun), v.age(g), jsondoc.OrNull(g.Evidence), v.found(g),
			slices.Contains(v.Enabled(v.cfg), g.Name), g.Block, g.Warn, g.Info})
	}
	if l := v.Lock; l != nil {
		d.Lock = &lockDoc{l.Skill, jsondoc.OrNull(l.Holder), jsondoc.OrNull(l.Since), int(v.LockAge(v.now).Seconds()), v.stale()}
	}
	for _, u := range v.Units {
		d.Queue = append(d.Queue, unitDoc{u.ID, jsondoc.OrNull(u.Description), u.Status, u.Order, jsondoc.OrNull(u.Dir), u.ID == v.InHand()})
	}
	return d
}

func (v *view) stale() bool { return !v.Fresh(v.now) && !v.live(v.Lock.Holder) }

// age is how many seconds ago the gate ran; nil for unknown, also where that is in the future.
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

// labelWidth is the column in which the texts begin, as in gl status.
const labelWidth = 10

func (v *view) lines() []string {
	var lines []string
	add := func(label, text string) {
		if text != "" {
			lines = append(lines, term.Pad(label, labelWidth)+text)
		}
	}
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
	for i := range v.Gates {
		add([]string{"Gates:", ""}[min(i, 1)], v.gateText(&v.Gates[i]))
	}
	if l := v.Lock; l != nil {
		add("Lock:", l.Who()+", for "+plan.Age(v.LockAge(v.now))+map[bool]string{true: ", stale"}[v.stale()])
	}
	for i, u := range v.Units {
		mark := map[bool]string{true: " ← current"}[u.ID == v.InHand()]
		add([]string{"Queue:", ""}[min(i, 1)], fmt.Sprintf("%d. [%s] %s (%s)%s", i+1, strings.ToUpper(u.Status), u.ID, u.Dir, mark))
	}
	add("Drift:", v.Drift())
	next := v.Next(v.root, v.cfg, v.now)
	add("Next:", next.Command+" ("+next.Why+")")
	return lines
}

func described(id, text string) string {
	if text == "" {
		return id
	}
	return id + " (" + sanitize.Line(text) + ")"
}

// gateText is one gate: "tests FAIL, 12m ago, 2 block, 1 warn, 0 info, evidence.md".
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
