package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/slice"
	"greenlight/internal/suggest"
)

func newStateSet(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set ID key=value...",
		Short: "Change fields of a slice, all in one write",
		Long: `Change fields of a slice's file, all in one write; what isn't named keeps every byte, and "updated" becomes the time of
the change. An empty value clears a field. Known fields are checked: status must be one that gl knows, counts must be
whole numbers, deps must be slices and make no cycle; other keys are free.

A slice that another session works on is changed all the same, with a warning. Setting status to pending also lets
the next gl slice launch a stalled slice again.

Exit codes: 0 written; 1 it failed; 2 wrong usage, or a value that can't be.`,
		Example: `  gl state set S-07 status=implementing step=implementing
  gl state set S-07 status=complete step=complete tests=42 security_tests=7
  gl state set S-07 deps=S-02,S-03
  gl state set S-07 waiting_for="a look at the mail's wording"`,
		Args:              cmdutil.Args(cobra.MinimumNArgs(2)),
		ValidArgsFunction: app.Complete(completeSet),
		RunE: func(c *cobra.Command, a []string) error {
			return runSet(c.Context(), app, a[0], a[1:])
		},
	}
}

// knownKeys are the fields that gl reads.
var knownKeys = [...]string{"status", "step", "tests", "security_tests", "failing", "tests_failing", "deps", "milestone",
	"name", "session", "started", "updated", "waiting_for", "wave", "priority", "id"}

// statuses are those that people are told of; plan.Classify accepts other spellings, too.
func statuses() []string {
	return []string{"pending", "ready", "in_progress", "tests", "implementing", "security", "fixing", "verifying", "complete", "failed", "paused"}
}

func completeSet(app *cmdutil.App, c *cobra.Command, have []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(have) == 0 {
		return app.CompleteIDs(c, have, word)
	}
	var list []string
	if key, _, chosen := strings.Cut(word, "="); chosen {
		for _, v := range valuesOf(app, key) {
			list = append(list, key+"="+v)
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range knownKeys[:len(knownKeys)-1] {
		list = append(list, k+"=")
	}
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// valuesOf are the values of a field that a shell can offer.
func valuesOf(app *cmdutil.App, key string) []string {
	switch key {
	case "status":
		return statuses()
	case "step":
		return append([]string{"none", "complete"}, slices.DeleteFunc(statuses(), func(s string) bool { return !plan.IsStep(s) })...)
	case "milestone":
		return app.Milestones()
	case "deps":
		ids, _ := app.CompleteIDs(nil, nil, "")
		return ids
	}
	return nil
}

// A setting is one key=value of the command line.
type setting struct {
	key, value string
	deps       []string // of deps: the ids
}

func runSet(ctx context.Context, app *cmdutil.App, id string, words []string) error {
	set, err := readSettings(words)
	if err != nil {
		return err
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	// The notes of ids that were spelt differently are given once, before the edit that may be tried again.
	if err := resolveDeps(app, pr, id, set); err != nil {
		return err
	}
	warning, open := "", false
	err = pr.Slices.Edit(ctx, id, func(f *slice.File) error {
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return err
		}
		st := p.State(id)
		warning, open = foreignWarning(app, pr, st), st.Attempt.Open()
		return apply(p, st, f, set)
	})
	if err != nil {
		return err
	}
	if warning != "" {
		app.IO.Message("%s", warning)
	}
	for _, x := range set {
		if slices.Contains(knownKeys[:], x.key) {
			continue
		}
		if meant := suggest.Match(x.key, knownKeys[:]); meant != "" {
			app.IO.Message("note: %s is a key that gl doesn't know, and is kept as it is: did you mean %s?", x.key, meant)
		}
	}
	return afterSet(app, pr, id, set, open)
}

// validKey says whether a frontmatter line can begin so. It is no regular expression: compiling one would be a good part
// of the start of every gl.
func validKey(key string) bool {
	for i, c := range []byte(key) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return key != "" && len(key) <= 64
}

// readSettings checks what can be checked without the project.
func readSettings(words []string) ([]setting, error) {
	var set []setting
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, cmdutil.Usage("%q is not key=value", w)
		}
		if err := checkKey(key); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(set, func(s setting) bool { return s.key == key }) {
			return nil, cmdutil.Usage("%s is given twice", key)
		}
		s, err := readSetting(key, value)
		if err != nil {
			return nil, err
		}
		set = append(set, s)
	}
	return set, nil
}

func checkKey(key string) error {
	switch {
	case !validKey(key):
		return cmdutil.Usage("key %q: a letter or '_', then letters, digits, '_' and '-', at most 64 in all", key)
	case strings.EqualFold(key, "id"):
		return cmdutil.Usage("the id can't be changed: it is the name of the file")
	}
	for _, k := range knownKeys {
		if key != k && strings.EqualFold(key, k) {
			return cmdutil.Usage("key %q: did you mean %s?", key, k)
		}
	}
	return nil
}

func readSetting(key, value string) (setting, error) {
	s := setting{key: key, value: value}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return s, cmdutil.Usage("the value of %s must be one line without control characters", key)
	}
	switch key {
	case "status":
		if plan.Classify(value) == plan.Unknown {
			return s, cmdutil.Usage("status must be %s", cmdutil.MustBe(value, statuses()))
		}
	case "tests", "security_tests", "failing", "tests_failing":
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return s, cmdutil.Usage("%s must be a whole number, 0 or more, not %q", key, value)
		}
		s.value = strconv.FormatUint(n, 10)
	case "deps":
		// The file's own reader, so that ranges and words for "none" mean here what they mean there.
		f, err := slice.ParseFile([]byte("---\ndeps: " + value + "\n---\n"))
		if err != nil {
			return s, cmdutil.Usage("deps %q can't be read: %v", value, err)
		}
		s.deps = f.List("deps")
	}
	return s, nil
}

// resolveDeps makes the ids of deps those of slices. An id that the slice depends on already may stay, known or not.
func resolveDeps(app *cmdutil.App, pr *project.Project, id string, set []setting) error {
	i := slices.IndexFunc(set, func(s setting) bool { return s.key == "deps" })
	if i < 0 {
		return nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return err
	}
	var deps []string
	for _, d := range set[i].deps {
		if err := slice.ValidID(d); err != nil {
			return cmdutil.Usage("deps: %w", err)
		}
		match := d
		if _, known := p.Snapshot.Evidence[d]; !known && !slices.Contains(p.State(id).Deps, d) {
			if match, err = app.Resolve(p, d); err != nil {
				return cmdutil.Usage("deps: %w", err)
			}
		}
		if match == id {
			return cmdutil.Usage("%s can't depend on itself", id)
		}
		if !slices.Contains(deps, match) {
			deps = append(deps, match)
		}
	}
	set[i].deps = deps
	return nil
}

func apply(p *plan.Plan, st *plan.State, f *slice.File, set []setting) error {
	for _, s := range set {
		if s.key != "deps" {
			if err := f.Set(s.key, s.value); err != nil {
				return err
			}
			continue
		}
		for _, d := range s.deps {
			if path := pathTo(p, d, st.ID); path != nil {
				return cmdutil.Usage("deps: that would be a cycle: %s -> %s", st.ID, strings.Join(path, " -> "))
			}
		}
		if err := f.SetList("deps", s.deps); err != nil {
			return err
		}
	}
	return nil
}

// pathTo returns the way along dependencies from one slice to another, both included; nil for none. It looks at all
// slices, done or not, where the plan's own cycles are those of unfinished ones: a slice may be put back later.
func pathTo(p *plan.Plan, from, to string) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at == to {
			var path []string
			for ; at != ""; at = came[at] {
				path = append(path, at)
			}
			slices.Reverse(path)
			return path
		}
		st := p.State(at)
		if st == nil {
			continue
		}
		for _, d := range st.Deps {
			if _, seen := came[d]; !seen {
				came[d] = at
				queue = append(queue, d)
			}
		}
	}
	return nil
}

// afterSet does what a new status or new dependencies bring along.
func afterSet(app *cmdutil.App, pr *project.Project, id string, set []setting, open bool) error {
	for _, s := range set {
		switch {
		case s.key == "status" && plan.Classify(s.value) == plan.Available && !open:
			if err := pr.Runs.MarkRetried(id); err != nil {
				return err
			}
		case s.key == "deps":
			p, err := pr.Plan(time.Now(), pr.Options())
			if err != nil {
				return err
			}
			if have := p.State(id).Deps; !sameIDs(have, s.deps) {
				app.IO.Message("warning: GRAPH.json wins over the slice's own deps: %s depends on %s", id, orNothing(have))
			}
		}
	}
	return nil
}

func sameIDs(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

func orNothing(ids []string) string {
	if len(ids) == 0 {
		return "nothing"
	}
	return strings.Join(ids, ", ")
}
