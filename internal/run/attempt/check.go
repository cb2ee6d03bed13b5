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
	"greenlight/internal/core/plan"
)

// Records are input: a clone may bring them, a merge may garble them, an agent may edit them. So every field is checked
// when a record is read, and nothing above the store meets a record that the store couldn't have written.

const (
	largestRecord = 4 << 20
	mostAttempts  = 1 << 30
	longestName   = 200     // bytes of an id, a token, an agent's name
	longestText   = 1 << 20 // bytes of any other text: a prompt may be long
)

// A BadRecord is a file of the store that can't be used. Nothing is lost: SetAside moves it to runs/bad.
type BadRecord struct {
	Path    string
	Settled bool // its attempt is over
	Keep    bool // it is left where it is: another version of gl wrote it, or the disk doesn't give it just now
	Err     error
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

// check compares a record with its file's name, and refuses what gl can't have written or doesn't understand.
func (r *Record) check(e Entry) error {
	switch {
	case r.ID.Slice != e.Slice || r.ID.N != e.N:
		return fmt.Errorf("says it is %s", r.ID.Name())
	case r.SchemaVersion != schemaVersion:
		return foreign("unknown schema version %d: another version of gl wrote it", r.SchemaVersion)
	}
	return cmp.Or(r.checkState(e.Outcome), r.checkNames(), r.checkText(), r.Life.checkProcesses(), r.checkTimes(), r.checkCounts())
}

// checkState checks how far the attempt is: named is the outcome in the file's name, "" for a live record.
func (r *Record) checkState(named Outcome) error {
	for _, o := range []Outcome{named, r.Judged.Outcome} {
		switch {
		case o == "" || o.Known():
		case plainWord(string(o)):
			return foreign("unknown outcome %q: another version of gl wrote it", o)
		default:
			return fmt.Errorf("outcome %q is no outcome", o)
		}
	}
	switch {
	case !slices.Contains([]plan.Phase{plan.Claimed, plan.Preparing, plan.Started, plan.Queued, plan.Ended, plan.Settled}, r.Life.Phase):
		return foreign("unknown phase %.40q: another version of gl wrote it", r.Life.Phase)
	case (named != "") != (r.Life.Phase == plan.Settled):
		return fmt.Errorf("phase %q doesn't belong in this directory", r.Life.Phase)
	case named != r.Judged.Outcome && r.Life.Phase == plan.Settled:
		return fmt.Errorf("says its outcome is %q", r.Judged.Outcome)
	case r.Life.Phase == plan.Ended && (r.Judged.Outcome == "" || r.Judged.Seen == nil):
		return errors.New("has ended without an outcome and the state that was judged")
	case r.Job.Sandbox != "" && r.Job.Sandbox != SandboxBwrap:
		return foreign("unknown sandbox %.40q: another version of gl wrote it", r.Job.Sandbox)
	case r.Life.Phase == plan.Queued && (r.Landing == nil || r.Judged.Seen == nil || r.Place.Lineage == 0):
		return errors.New("is in the merge queue without a worktree and the state that was seen")
	case r.Life.Phase == plan.Preparing && (r.Life.Wrapper == nil || r.Place.Lineage == 0):
		return errors.New("prepares a worktree without a number or a gl process")
	case !r.Life.Phase.Begun() && r.ID.Token == "":
		return errors.New("is a claim without a token")
	case !slices.Contains([]string{"", EndStop, EndSilence, EndGrace, EndCommand, EndAbandon}, r.Life.Ending):
		return foreign("unknown ending %q: another version of gl wrote it", r.Life.Ending)
	}
	return nil
}

// plainWord says whether s could be a word of ours: an outcome that this version doesn't know.
func plainWord(s string) bool {
	return len(s) <= 40 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

func (r *Record) checkNames() error {
	if err := checkID(strings.TrimPrefix(r.ID.Slice, taskMark)); err != nil {
		return err
	}
	for field, s := range map[string]string{
		"token": r.ID.Token, "agent": r.Job.Agent, "stream": r.Job.Stream, "runner": r.Job.Runner, "system": r.ID.System, "of": r.ID.Of,
		"account": r.Job.Account, "model": r.Job.Model,
		"status": r.Life.Before.Status, "step": r.Life.Before.Step, "session": r.Life.Before.Session, "started": r.Life.Before.Started,
	} {
		if len(s) > 5*longestName || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
			return fmt.Errorf("%s %.40q isn't one line of text", field, s)
		}
	}
	if dir := ".greenlight/summaries/"; r.Task.Summary != "" && (!strings.HasPrefix(r.Task.Summary, dir) || !filepath.IsLocal(filepath.FromSlash(r.Task.Summary))) {
		return fmt.Errorf("summary %.80q isn't in %s", r.Task.Summary, dir)
	}
	if r.Task.Wants != nil {
		for _, path := range append([]string{r.Task.Wants.Verdict}, r.Task.Wants.paths()...) {
			if path != "" && !filepath.IsLocal(filepath.FromSlash(path)) {
				return fmt.Errorf("wants %.80q, which isn't in the project", path)
			}
		}
	}
	if r.Talk.Conversation != agent.ConversationID(r.Talk.Conversation) {
		return fmt.Errorf("conversation %.40q is no id", r.Talk.Conversation)
	}
	if r.Job.Dir != "" && !filepath.IsAbs(r.Job.Dir) {
		return fmt.Errorf("dir %.80q isn't absolute", r.Job.Dir)
	}
	return nil
}

// checkID refuses ids that could lead out of a directory. What else an id may be its tracker knows.
func checkID(id string) error {
	if id == "" || len(id) > longestName || id[0] == '.' || strings.Contains(id, "..") || strings.ContainsAny(id, `/\`) ||
		strings.ContainsFunc(id, unicode.IsControl) || !utf8.ValidString(id) {
		return fmt.Errorf("%.40q is no id", id)
	}
	return nil
}

func (r *Record) checkText() error {
	texts := append([]string{r.ID.Title, r.Job.Prompt, r.Job.Program, r.Judged.Detail, r.Life.EndingDetail, r.Talk.Handoff, r.Since.Rejected}, slices.Concat(r.Job.Argv, r.Talk.Anew)...)
	if r.Talk.Continues != nil && r.Talk.Continues.Of != "" {
		if err := checkID(r.Talk.Continues.Of); err != nil {
			return err
		}
	}
	if r.Talk.Continues != nil {
		texts = append(texts, r.Talk.Continues.Why, r.Talk.Continues.Output)
	}
	texts = append(append(texts, r.Judged.Unverified, r.Task.Refused), r.Task.Lacks...)
	if r.Task.Wants != nil {
		texts = append(texts, r.Task.Wants.Tag)
	}
	for _, m := range r.Talk.Said {
		texts = append(texts, m.ID, m.Text)
	}
	for _, c := range r.Since.Comments {
		texts = append(texts, c.File, c.Has, c.Text)
	}
	if r.Since.Undone != nil {
		texts = append(texts, r.Since.Undone.Commit, r.Since.Undone.Why)
	}
	if r.Since.Answered != nil {
		texts = append(texts, r.Since.Answered.Question, r.Since.Answered.Text)
	}
	if r.Conditions.Test != nil {
		texts = append(append(texts, r.Conditions.Test.Line), r.Conditions.Test.Argv...)
	}
	for _, hash := range []string{r.Place.Tree, r.Place.Head} {
		if len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
			return fmt.Errorf("%.40q isn't the hash of a git object", hash)
		}
	}
	for _, s := range texts {
		if len(s) > longestText || strings.ContainsRune(s, 0) {
			return fmt.Errorf("text %.40q is too long, or isn't text", s)
		}
	}
	return nil
}

func (l *Life) checkProcesses() error {
	for _, id := range []*proc.ID{&l.Launcher, l.Wrapper, l.Process} {
		if id != nil && id.PID < 0 {
			return fmt.Errorf("%d is no process", id.PID)
		}
	}
	return nil
}

// checkTimes doesn't compare times with each other or with now: a clock that was set makes any order.
func (r *Record) checkTimes() error {
	times := []*time.Time{&r.Life.ClaimedAt, r.Life.StartedAt, r.Life.EndedAt, r.Life.SettledAt}
	if u := r.Judged.evidence().Tokens; u != nil && !u.Sane() {
		return fmt.Errorf("tokens are %+v", *u)
	}
	if l := r.Judged.evidence().Limit; l != nil {
		times = append(times, l.Reset)
	}
	for _, at := range times {
		if at != nil && !at.IsZero() && !saneTime(*at) {
			return fmt.Errorf("%s is no time of an attempt", at.Format(time.RFC3339))
		}
	}
	return nil
}

// saneTime says whether a clock could show it: computers without a battery begin in 1970.
func saneTime(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 9000 }

func (r *Record) checkCounts() error {
	counts := []int{r.Judged.Tests, r.ID.First, r.ID.N - r.ID.First, r.Judged.evidence().Denials}
	if r.Talk.Continues != nil {
		counts = append(counts, r.Talk.Continues.After)
	}
	if res := r.Judged.evidence().Result; res != nil {
		counts = append(counts, res.Turns, res.APIStatus, int(min(res.DurationMS, 0)), int(min(res.Tokens, 0)))
		if res.CostUSD != nil && *res.CostUSD < 0 {
			return fmt.Errorf("cost_usd is %g", *res.CostUSD)
		}
	}
	for _, n := range counts {
		if n < 0 {
			return fmt.Errorf("counts %d", n)
		}
	}
	if l := r.Judged.evidence().Limit; l != nil && !slices.Contains([]string{agent.RateLimit, agent.Quota, agent.Login, agent.Outage}, l.Kind) {
		return foreign("unknown limit %.40q: another version of gl wrote it", l.Kind)
	}
	return nil
}

// readChecked reads a JSON file of the store into v and checks it. What is wrong with its content is a *BadRecord.
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

// SetAside moves the bad ones to runs/bad, where they are in nobody's way and nothing of them is lost. What another
// version of gl wrote stays: that version may be at work on it. The lock must be held; a file that is sound by now stays,
// too.
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
	settled, err := q.Store.settledEntries()
	slices.SortFunc(settled, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.Slice, b.Slice), a.N-b.N) })
	for _, e := range settled {
		_, err := q.Store.readSettled(e)
		note(err)
	}
	return bad, err
}

// soundNow says whether the file can be used by now, or is gone.
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

// asideEntries are the attempts whose records were moved aside: their numbers aren't given out again, since their logs
// are still there.
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
