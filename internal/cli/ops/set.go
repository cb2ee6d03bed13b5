package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/base/suggest"
	"greenlight/internal/base/uniq"
	"greenlight/internal/core/depgraph"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
	"greenlight/internal/state/contracts"
	"greenlight/internal/state/journal"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/sliceid"
	"greenlight/internal/state/tracker"
)

// Keys returns the fields of a slice that gl reads.
func Keys() []string { return slice.Keys(slice.ByPerson) }

// Statuses returns those that help and completion name; plan.Classify accepts other spellings, too.
func Statuses() []string { return slice.Statuses() }

// A Change is a field's new value.
type Change struct {
	Key, Value string

	deps []string // the ids, if the key is deps
}

// ParseChanges reads key=value words and checks what it can without the project. Its errors are
// ArgumentErrors.
func ParseChanges(words []string) ([]Change, error) {
	var changes []Change
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return nil, badArgument("%q is not key=value", w)
		}
		if err := checkKey(key); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Key == key }) {
			return nil, badArgument("%s is given twice", key)
		}
		c, err := parseChange(key, value)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// AgentKeys returns the fields that the agent of an attempt may change of its slice: its progress,
// and what it has found out. The others decide who builds, at what cost, when, and who approves.
func AgentKeys() []string { return slice.Keys(slice.ByAgent) }

// CheckAgent refuses changes that only a person may make.
func CheckAgent(id string, changes []Change) error {
	for _, c := range changes {
		if !slices.Contains(AgentKeys(), c.Key) {
			return fmt.Errorf("an agent can't change %s of its slice: a person can, with gl state set %s %s",
				c.Key, id, shellwords.Quote(c.Key+"="+c.Value))
		}
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case !validKey(key):
		return badArgument("key %q: a letter or '_', then letters, digits, '_' and '-', at most 64 in all", key)
	case strings.EqualFold(key, "id"):
		return badArgument("the id can't be changed: it is the name of the file")
	}
	for _, k := range Keys() {
		if key != k && strings.EqualFold(key, k) {
			return badArgument("key %q: did you mean %s?", key, k)
		}
	}
	return nil
}

// validKey reports whether a frontmatter line can begin with key. It avoids regular expressions:
// compiling one would be a good part of every start of gl.
func validKey(key string) bool {
	for i, c := range []byte(key) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return key != "" && len(key) <= 64
}

func parseChange(key, value string) (Change, error) {
	c := Change{Key: key, Value: value}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return c, badArgument("the value of %s must be one line without control characters", key)
	}
	if key == "deps" {
		// The file's own reader, so that ranges and words for "none" mean here what they mean
		// there.
		f, err := slice.ParseFile([]byte("---\ndeps: " + value + "\n---\n"))
		if err != nil {
			return c, badArgument("deps %q can't be read: %v", value, err)
		}
		c.deps = f.List("deps")
		return c, nil
	}
	checked, err := slice.Check(key, value)
	if err != nil {
		return c, &ArgumentError{err}
	}
	c.Value = checked
	return c, nil
}

// Set changes fields of a slice's file, all in one write. A status that makes the slice available
// also lets a stalled slice be launched again. The notes are for a person to read; those up to a
// failure come with the error.
func Set(ctx context.Context, pr *project.Project, id string, changes []Change,
	who attempt.Claimant) (notes []string, err error) {
	changes = slices.Clone(changes)
	// Notes about ids in another spelling are made once, before the edit, which may be retried.
	notes, err = resolveDeps(pr, id, changes)
	if err != nil {
		return notes, err
	}
	review, err := reviewOf(pr, id, changes)
	if err != nil {
		return notes, err
	}
	var warnings []string
	open, done := false, false
	var events []journal.Event
	due := handOver{pr: pr, who: who, edit: editAlone}
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Key == "deps" }) {
		due.edit = edit
	}
	err = due.do(ctx, id, func(m moment, f *slice.File) error {
		warnings, open, done = warnOther(pr, m.st, who, m.now), m.st.Attempt.Open(),
			m.st.Class == plan.Done
		before := f.Progress()
		status, _ := f.Get("status")
		step, _ := f.Get("step")
		err := reclaim(m.st, f, who, changes)
		if err == nil {
			err = apply(m.plan, m.st, f, changes)
		}
		if err == nil {
			err = takeOut(pr, m, changes)
		}
		if err == nil && m.st.Session != "" {
			var note string
			if note, err = keepQuestion(id, f, status, step); note != "" {
				warnings = append(warnings, note)
			} else if err == nil && !open && !done && review != "" {
				note, err = askReview(id, f, review)
				warnings = append(warnings, note)
			}
		}
		if err == nil {
			err = due.check(m.st, before, f.Progress())
		}
		events = f.Progress().Since(before, about(pr, m.st, journal.Event{}))
		if waiting, _ := f.Get("waiting_for"); waiting != "" && m.st.WaitingFor == "" && !open {
			// otherwise when its attempt ends
			events = append(events, about(pr, m.st,
				journal.Event{Kind: journal.NeedsYou, Reason: plan.WaitText(waiting)}))
		}
		return err
	})
	if err != nil {
		return notes, err
	}
	_ = pr.Runs.Journal().Append(events...)
	notes = append(append(notes, warnings...), unknownKeys(changes)...)
	more, err := afterSet(ctx, pr, id, changes, open, done)
	return append(notes, more...), err
}

// reclaim restores the claim of the caller's own attempt in a file that git reset to an earlier
// version, with no claim or another one: perhaps of an attempt that never started, so that no
// record knows it. Without its own claim, the agent's report would count as a person's once its
// attempt is over. Claim refuses a slice with an open attempt, so no other session has it.
func reclaim(st *plan.State, f *slice.File, who attempt.Claimant, changes []Change) error {
	says := slices.ContainsFunc(changes, func(c Change) bool {
		return c.Key == "status" || c.Key == "step"
	})
	if !says || who.Token == "" || !st.Attempt.Open() || st.Attempt.Token != who.Token ||
		st.Session == who.Token {
		return nil
	}
	return f.Set("session", who.Token)
}

// unknownKeys returns notes about keys that look like typing errors.
func unknownKeys(changes []Change) (notes []string) {
	known := Keys()
	for _, c := range changes {
		if slices.Contains(known, c.Key) {
			continue
		}
		if meant := suggest.Match(c.Key, known); meant != "" {
			notes = append(notes, fmt.Sprintf("note: gl doesn't know the key %s and keeps it as it is: did you mean %s?", c.Key, meant))
		}
	}
	return notes
}

// resolveDeps resolves the ids of deps to those of slices. Existing dependencies may stay, known or
// not.
func resolveDeps(pr *project.Project, id string, changes []Change) (notes []string, err error) {
	i := slices.IndexFunc(changes, func(c Change) bool { return c.Key == "deps" })
	if i < 0 {
		return nil, nil
	}
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil, err
	}
	st := p.State(id)
	if st == nil {
		return nil, notFound(id)
	}
	var deps uniq.List
	have := uniq.Of(st.Deps)
	for _, d := range changes[i].deps {
		match, note, err := resolveDep(p, st, have, d)
		if note != "" {
			notes = append(notes, note)
		}
		if err != nil {
			return notes, err
		}
		deps.Add(match)
	}
	changes[i].deps = deps.Items()
	return notes, nil
}

// resolveDep returns the slice that a dependency of st means.
func resolveDep(p *plan.Plan, st *plan.State, have *uniq.List,
	id string) (match, note string, err error) {
	if err := sliceid.Valid(id); err != nil {
		return "", "", badArgument("deps: %w", err)
	}
	match = id
	if _, known := p.Snapshot.Evidence[id]; !known && !have.Has(id) {
		if match, note, err = project.Resolve(p, id); err != nil {
			return "", "", badArgument("deps: %w", err)
		}
	}
	if match == st.ID {
		return "", note, badArgument("%s can't depend on itself", match)
	}
	return match, note, nil
}

func apply(p *plan.Plan, st *plan.State, f *slice.File, changes []Change) error {
	sets := func(key string) bool {
		return slices.ContainsFunc(changes, func(c Change) bool { return c.Key == key })
	}
	if sets("waiting_for") && !sets("waiting_kind") { // the old kind belonged to another text
		if err := f.SetAll([][2]string{{"waiting_kind", ""}}); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.Key != "deps" {
			if err := f.Set(c.Key, c.Value); err != nil {
				return err
			}
			continue
		}
		// All slices count, done or not, because a slice may be put back later; the plan's own
		// cycles are those of unfinished ones.
		deps := func(id string) []string {
			if st := p.State(id); st != nil {
				return st.Deps
			}
			return nil
		}
		for _, d := range c.deps {
			if path := depgraph.Path(d, st.ID, deps); path != nil {
				return badArgument("deps: that would be a cycle: %s -> %s", st.ID,
					strings.Join(path, " -> "))
			}
		}
		if err := f.SetList("deps", c.deps); err != nil {
			return err
		}
	}
	return nil
}

// reviewOf returns why a person has to approve the slice once the changes complete it; "" for no
// review.
func reviewOf(pr *project.Project, id string, changes []Change) (string, error) {
	if !slices.ContainsFunc(changes, func(c Change) bool {
		return c.Key == "status" && plan.Classify(c.Value) == plan.Done
	}) {
		return "", nil
	}
	return pr.Approvals().Of(id, contracts.ReadBook(pr.Root))
}

// askReview makes a slice that a session completes in the checkout wait for the review that its
// contracts require.
func askReview(id string, f *slice.File, why string) (note string, err error) {
	note = fmt.Sprintf("%s waits for a person's approval: %s. Once a person has approved it: gl accept %s", id, why, id)
	return note, f.SetAll([][2]string{{"status", tracker.Verifying}, {"step", tracker.Verifying},
		{"waiting_for", "review: " + why}})
}

// keepQuestion keeps a slice in progress open as long as it has a question, which completing it
// would lose. status and step are those before the change.
func keepQuestion(id string, f *slice.File, status, step string) (note string, err error) {
	waiting, _ := f.Get("waiting_for")
	if now, _ := f.Get("status"); waiting == "" || plan.Classify(now) != plan.Done {
		return "", nil
	}
	if plan.Classify(status) == plan.Done {
		status, step = "implementing", "implementing"
	}
	note = fmt.Sprintf("warning: %s asks a person, so it isn't complete: its status stays %s until that is answered, or cleared with waiting_for=", id, status)
	return note, f.SetAll([][2]string{{"status", status}, {"step", step}})
}

// afterSet applies the consequences of a new status or new dependencies; done and open report
// whether the slice was done and whether it has an open attempt.
func afterSet(
	ctx context.Context, pr *project.Project, id string, changes []Change, open, done bool,
) (notes []string, err error) {
	for _, c := range changes {
		switch {
		case c.Key == "status" && !open && reopens(c.Value, done):
			if err := amend(ctx, pr, func(w *attempt.Writer) error {
				return w.MarkRetried(id)
			}); err != nil {
				return notes, err
			}
		case c.Key == "status" && !open && plan.Classify(c.Value) == plan.Done:
			if err := pr.Runs.Proofs.CallComplete(pr.Key(), id); err != nil {
				return notes, err
			}
		case c.Key == "deps":
			p, err := pr.Plan(time.Now(), pr.Options())
			if err != nil {
				return notes, err
			}
			st := p.State(id)
			if st != nil && !sameIDs(st.Deps, c.deps) {
				notes = append(notes, fmt.Sprintf("warning: GRAPH.json wins over the slice's own deps: %s depends on %s", id, orNothing(st.Deps)))
			}
		}
	}
	return notes, nil
}

// takeOut takes a slice out of the merge queue whose progress a person changes.
func takeOut(pr *project.Project, m moment, changes []Change) error {
	st := m.st
	progress := func(c Change) bool {
		return slices.Contains([]string{"status", "step", "session"}, c.Key)
	}
	if st.Attempt == nil || st.Attempt.Phase != plan.Queued ||
		!slices.ContainsFunc(changes, progress) {
		return nil
	}
	return pr.Runs.Within(m.held).MarkTaken(st.ID, st.Attempt.N)
}

// reopens reports whether a status lets the slice be launched again, or makes one that was done
// open again.
func reopens(status string, done bool) bool {
	c := plan.Classify(status)
	return c == plan.Available || done && c != plan.Done
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

// dated prefixes a text with the date, as in the section Decisions.
func dated(at time.Time, text string) string {
	return at.UTC().Format(time.DateOnly) + ": " + strings.TrimSpace(text)
}
