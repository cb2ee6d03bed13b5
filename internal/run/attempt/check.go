package attempt

import (
	"cmp"
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
	"unicode"
	"unicode/utf8"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/base/proc"
	"greenlight/internal/core/agent"
	"greenlight/internal/core/outcome"
	"greenlight/internal/core/plan"
)

// Records are input: a clone may bring them, a merge may garble them, an agent may edit them.
// So every field is checked when a record is read, and nothing above the store meets a record
// that the store couldn't have written.

const (
	largestRecord = 4 << 20
	mostAttempts  = 1 << 30
	longestName   = 200     // bytes of an id, a token, an agent's name
	longestText   = 1 << 20 // bytes of any other text: a prompt may be long
)

// A BadRecord is a file of the store that can't be used. Nothing is lost: SetAside moves it to
// runs/bad.
type BadRecord struct {
	Path    string
	Settled bool // its attempt is over
	// it is left where it is: another version of gl wrote it, or the disk doesn't give it just now
	Keep bool
	Err  error
}

func (e *BadRecord) Error() string {
	what := "attempt record"
	if filepath.Base(e.Path) == holdFile {
		what = "hold"
	}
	return fmt.Sprintf("%s %s: %v", what, e.Path, e.Err)
}

func (e *BadRecord) Unwrap() error { return e.Err }

// Help is the command that gets a bad record out of the way; "" where none does.
func (e *BadRecord) Help() string {
	if e.Keep {
		return ""
	}
	return "gl doctor --fix"
}

// WithHelp is the error, and the command that helps.
func (e *BadRecord) WithHelp() string {
	if help := e.Help(); help != "" {
		return e.Error() + ". Run " + help
	}
	return e.Error()
}

// errForeign marks what another version of gl may have written.
type errForeign struct{ error }

func foreign(format string, a ...any) error { return errForeign{fmt.Errorf(format, a...)} }

// check compares a record with its file's name, and refuses what gl can't have written or
// doesn't understand.
func (r *Record) check(e Entry) error {
	switch {
	case r.ID.Slice != e.Slice || r.ID.N != e.N:
		return fmt.Errorf("says it is %s", r.ID.Name())
	case r.SchemaVersion != schemaVersion:
		return foreign("unknown schema version %d: another version of gl wrote it", r.SchemaVersion)
	}
	return cmp.Or(r.checkState(e.Outcome), r.ID.check(), r.Life.check(), r.Job.check(),
		r.Task.check(), r.Talk.check(), r.Place.check(), r.Conditions.check(), r.Judged.check(),
		r.Since.check())
}

// checkState checks how far the attempt is: named is the outcome in the file's name, "" for a
// live record.
func (r *Record) checkState(named outcome.Outcome) error {
	for _, o := range []outcome.Outcome{named, r.Judged.Outcome} {
		switch {
		case o == "" || o.Known():
		case plainWord(string(o)):
			return foreign("unknown outcome %q: another version of gl wrote it", o)
		default:
			return fmt.Errorf("outcome %q is no outcome", o)
		}
	}
	switch {
	case !slices.Contains([]plan.Phase{plan.Claimed, plan.Preparing, plan.Started, plan.Queued,
		plan.Ended, plan.Settled}, r.Life.Phase):
		return foreign("unknown phase %.40q: another version of gl wrote it", r.Life.Phase)
	case (named != "") != (r.Life.Phase == plan.Settled):
		return fmt.Errorf("phase %q doesn't belong in this directory", r.Life.Phase)
	case named != r.Judged.Outcome && r.Life.Phase == plan.Settled:
		return fmt.Errorf("says its outcome is %q", r.Judged.Outcome)
	case r.Life.Phase == plan.Ended && (r.Judged.Outcome == "" || r.Judged.Seen == nil):
		return errors.New("has ended without an outcome and the state that was judged")
	case r.Job.Sandbox != "" && r.Job.Sandbox != SandboxBwrap:
		return foreign("unknown sandbox %.40q: another version of gl wrote it", r.Job.Sandbox)
	case r.Life.Phase == plan.Queued &&
		(r.Landing == nil || r.Judged.Seen == nil || r.Place.Lineage == 0):
		return errors.New("is in the merge queue without a worktree and the state that was seen")
	case r.Life.Phase == plan.Preparing && (r.Life.Wrapper == nil || r.Place.Lineage == 0):
		return errors.New("prepares a worktree without a number or a gl process")
	case !r.Life.Phase.Begun() && r.ID.Token == "":
		return errors.New("is a claim without a token")
	case !slices.Contains([]string{"", EndStop, EndSilence, EndGrace, EndCommand, EndAbandon},
		r.Life.Ending):
		return foreign("unknown ending %q: another version of gl wrote it", r.Life.Ending)
	}
	return nil
}

// plainWord reports whether s could be a word of ours: an outcome that this version doesn't know.
func plainWord(s string) bool {
	return len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func (id *Identity) check() error {
	if err := checkID(strings.TrimPrefix(id.Slice, taskMark)); err != nil {
		return err
	}
	return cmp.Or(checkLine("token", id.Token), checkLine("system", id.System),
		checkLine("of", id.Of), checkTexts(id.Title), checkCounts(id.First, id.N-id.First))
}

func (j *Job) check() error {
	if j.Dir != "" && !filepath.IsAbs(j.Dir) {
		return fmt.Errorf("dir %.80q isn't absolute", j.Dir)
	}
	return cmp.Or(checkLine("agent", j.Agent), checkLine("stream", j.Stream),
		checkLine("runner", j.Runner), checkLine("account", j.Account), checkLine("model", j.Model),
		checkTexts(j.Prompt, j.Program), checkTexts(j.Argv...))
}

func (d *Dialog) check() error {
	if d.Conversation != agent.ConversationID(d.Conversation) {
		return fmt.Errorf("conversation %.40q is no id", d.Conversation)
	}
	texts := append([]string{d.Handoff}, d.Anew...)
	if c := d.Continues; c != nil {
		if c.Of != "" {
			if err := checkID(c.Of); err != nil {
				return err
			}
		}
		if err := checkCounts(c.After); err != nil {
			return err
		}
		texts = append(texts, c.Why, c.Output)
	}
	for _, m := range d.Said {
		texts = append(texts, m.ID, m.Text)
	}
	return checkTexts(texts...)
}

func (p *Place) check() error {
	for _, hash := range []string{p.Tree, p.Head} {
		if len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
			return fmt.Errorf("%.40q isn't the hash of a git object", hash)
		}
	}
	return nil
}

func (c *Conditions) check() error {
	if c.Test == nil {
		return nil
	}
	return cmp.Or(checkTexts(c.Test.Line), checkTexts(c.Test.Argv...))
}

func (l *Life) check() error {
	for _, id := range []*proc.ID{&l.Launcher, l.Wrapper, l.Process} {
		if id != nil && id.PID < 0 {
			return fmt.Errorf("%d is no process", id.PID)
		}
	}
	before := l.Before
	return cmp.Or(checkLine("status", before.Status), checkLine("step", before.Step),
		checkLine("session", before.Session), checkLine("started", before.Started),
		checkTexts(l.EndingDetail), checkTimes(&l.ClaimedAt, l.StartedAt, l.EndedAt, l.SettledAt),
		l.Remote.check())
}

func (j *Judgement) check() error {
	return cmp.Or(checkTexts(j.Detail, j.Unverified), checkCounts(j.Tests), j.evidence().check())
}

func (e *Evidence) check() error {
	if u := e.Tokens; u != nil && !u.Sane() {
		return fmt.Errorf("tokens are %+v", *u)
	}
	counts := []int{e.Denials}
	if res := e.Result; res != nil {
		counts = append(counts, res.Turns, res.APIStatus, int(min(res.DurationMS, 0)),
			int(min(res.Tokens, 0)))
		if res.CostUSD != nil && *res.CostUSD < 0 {
			return fmt.Errorf("cost_usd is %g", *res.CostUSD)
		}
	}
	if err := checkCounts(counts...); err != nil || e.Limit == nil {
		return err
	}
	if !slices.Contains(agent.LimitKinds(), e.Limit.Kind) {
		return foreign("unknown limit %.40q: another version of gl wrote it", e.Limit.Kind)
	}
	return checkTimes(e.Limit.Reset)
}

func (e *Errand) check() error {
	if dir := ".greenlight/summaries/"; e.Summary != "" &&
		(!strings.HasPrefix(e.Summary, dir) || !filepath.IsLocal(filepath.FromSlash(e.Summary))) {
		return fmt.Errorf("summary %.80q isn't in %s", e.Summary, dir)
	}
	texts := append([]string{e.Refused}, e.Lacks...)
	if e.Wants != nil {
		for _, path := range append([]string{e.Wants.Verdict}, e.Wants.paths()...) {
			if path != "" && !filepath.IsLocal(filepath.FromSlash(path)) {
				return fmt.Errorf("wants %.80q, which isn't in the project", path)
			}
		}
		texts = append(texts, e.Wants.Tag)
	}
	return checkTexts(texts...)
}

func (a *Aftermath) check() error {
	texts := []string{a.Rejected}
	for _, c := range a.Comments {
		texts = append(texts, c.File, c.Has, c.Text)
	}
	if a.Undone != nil {
		texts = append(texts, a.Undone.Commit, a.Undone.Why)
	}
	if a.Answered != nil {
		texts = append(texts, a.Answered.Question, a.Answered.Text)
	}
	return checkTexts(texts...)
}

// checkID refuses ids that could lead out of a directory. What else an id may be its tracker knows.
func checkID(id string) error {
	if id == "" || len(id) > longestName || id[0] == '.' || strings.Contains(id, "..") ||
		strings.ContainsAny(id, `/\`) ||
		strings.ContainsFunc(id, unicode.IsControl) || !utf8.ValidString(id) {
		return fmt.Errorf("%.40q is no id", id)
	}
	return nil
}

// checkLine refuses what isn't one line of text.
func checkLine(field, s string) error {
	if len(s) > 5*longestName || strings.ContainsFunc(s, unicode.IsControl) ||
		!utf8.ValidString(s) {
		return fmt.Errorf("%s %.40q isn't one line of text", field, s)
	}
	return nil
}

func checkTexts(texts ...string) error {
	for _, s := range texts {
		if len(s) > longestText || strings.ContainsRune(s, 0) {
			return fmt.Errorf("text %.40q is too long, or isn't text", s)
		}
	}
	return nil
}

// checkTimes doesn't compare times with each other or with now: a clock that was set makes any
// order.
func checkTimes(times ...*time.Time) error {
	for _, at := range times {
		if at != nil && !at.IsZero() && !saneTime(*at) {
			return fmt.Errorf("%s is no time of an attempt", at.Format(time.RFC3339))
		}
	}
	return nil
}

// saneTime reports whether a clock could show it: computers without a battery begin in 1970.
func saneTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 9000 }

func checkCounts(counts ...int) error {
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("counts %d", n)
		}
	}
	return nil
}

// readChecked reads a JSON file of the store into v and checks it. What is wrong with its
// content is a *BadRecord.
func readChecked(path string, v any, check func() error) error {
	data, err := readFile(path)
	switch {
	case errors.Is(err, errTooLarge):
	case err != nil:
		return err
	default:
		if err = json.Unmarshal(data, v); err == nil {
			err = check()
		}
	}
	if err != nil {
		return &BadRecord{Path: path, Keep: errors.As(err, new(errForeign)), Err: err}
	}
	return nil
}

var errTooLarge = fmt.Errorf("is larger than %d MB, the most that gl writes", largestRecord>>20)

func readFile(path string) ([]byte, error) {
	info, err := durable.Stat(path)
	if err == nil && info.Size() > largestRecord {
		err = errTooLarge
	}
	if err != nil {
		return nil, err
	}
	return durable.ReadFile(path)
}

// A Quarantine is runs/bad, with the files of a store that can't be used.
type Quarantine struct{ Store *Store }

// An Aside is a file that was moved aside.
type Aside struct {
	*BadRecord
	To string
}

func (a *Aside) Error() string { return fmt.Sprintf("%v. Moved to %s", a.BadRecord, a.To) }

// SetAside moves the bad ones to runs/bad, where nothing of them is lost. What another version
// of gl wrote stays: that version may be at work on it. The lock must be held; a file that is
// sound by now stays, too.
func (q Quarantine) SetAside(bad []*BadRecord) (moved []*Aside, err error) {
	for _, b := range bad {
		if b.Keep || q.soundNow(b) {
			continue
		}
		to, moveErr := q.moveAside(b.Path)
		if moveErr != nil {
			err = errors.Join(err, fmt.Errorf("%w, and can't be moved aside: %w", b, moveErr))
			continue
		}
		moved = append(moved, &Aside{b, to})
	}
	return moved, err
}

// Bad finds every file of the store that can't be used. It reads all records.
func (q Quarantine) Bad() ([]*BadRecord, error) {
	_, bad, err := q.Store.Live()
	if err != nil {
		return nil, err
	}
	note := func(err error) {
		var b *BadRecord
		if errors.As(err, &b) {
			bad = append(bad, b)
		}
	}
	_, err = q.Store.HoldFile.Read()
	note(err)
	settled, err := q.Store.Files.settledEntries()
	slices.SortFunc(settled, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Slice, b.Slice), a.N-b.N)
	})
	for _, e := range settled {
		_, err := q.Store.readSettled(e)
		note(err)
	}
	return bad, err
}

// soundNow reports whether the file can be used by now, or is gone.
func (q Quarantine) soundNow(b *BadRecord) bool {
	file := filepath.Base(b.Path)
	var err error
	switch e, isLive := parseLive(file); {
	case b.Path == q.Store.HoldFile.path():
		_, err = q.Store.HoldFile.Read()
	case b.Settled:
		e, _ = parseSettled(file)
		_, err = q.Store.readSettled(e)
	case isLive:
		_, err = q.Store.readLive(e.Slice, e.N)
	}
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func (q Quarantine) moveAside(path string) (to string, err error) {
	if err := mkdir(q.Store.Files.badDir()); err != nil {
		return "", err
	}
	to = filepath.Join(q.Store.Files.badDir(), filepath.Base(path))
	for n := 2; paths.Exists(to); n++ {
		to = filepath.Join(q.Store.Files.badDir(), filepath.Base(path)+"."+strconv.Itoa(n))
	}
	for _, p := range []string{path, to} {
		if err := durable.CheckPath(p); err != nil {
			return "", err
		}
	}
	return to, os.Rename(path, to)
}

// Moved lists the files that were moved aside and are still there.
func (q Quarantine) Moved() ([]string, error) {
	entries, err := durable.ReadDir(q.Store.Files.badDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = filepath.Join(q.Store.Files.badDir(), e.Name())
	}
	return names, err
}

// asideEntries are the attempts whose records were moved aside: their numbers aren't given out
// again, since their logs are still there.
func (f Files) asideEntries() ([]Entry, error) {
	return list(f.badDir(), func(file string) (Entry, bool) {
		if i := strings.LastIndex(file, ".json"); i >= 0 {
			file = file[:i+len(".json")]
		}
		if e, ok := parseSettled(file); ok && e.Outcome.Known() {
			return e, ok
		}
		return parseLive(file)
	})
}
