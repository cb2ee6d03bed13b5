package attempt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/agent"
	"greenlight/internal/state/journal"
)

// What a person says to an agent is kept in runs/say until the agent has it for certain. So a
// kill at any step leaves one of three things: the unseen message; a message that was handed
// over and may not have arrived, which the next agent is told with these words; or no message,
// because the agent has said that it has it.

// A Message is what a person says to the agent that works on something, now or when it starts next.
type Message struct {
	ID   string    `json:"id"` // a UUID
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// that it was handed to last, which hasn't said that it has it; 0 for none
	Attempt int `json:"attempt,omitempty"`
}

// MaybeAgain is said before a message that an earlier agent may have read.
const MaybeAgain = "(You may have read this before.) "

// Words returns the message as its agent gets it.
func (m Message) Words() string {
	if m.Attempt != 0 {
		return MaybeAgain + m.Text
	}
	return m.Text
}

// Messages are the files of runs/say.
type Messages struct {
	dir     string
	journal *journal.Journal
}

type sayFile struct {
	SchemaVersion int       `json:"schema_version"`
	Messages      []Message `json:"messages"`
}

func (s *Messages) Path(work string) string { return filepath.Join(s.dir, "say", work+".json") }

// Unheard are the messages for a slice's id, or a task's Work, that no agent is known to have,
// the oldest first. A file that can't be used is an error: what is in it must not be written
// over.
func (s *Messages) Unheard(work string) ([]Message, error) {
	var f sayFile
	err := readChecked(s.Path(work), &f, func() error {
		if f.SchemaVersion != schemaVersion {
			return foreign("unknown schema version %d: another version of gl wrote it",
				f.SchemaVersion)
		}
		for _, m := range f.Messages {
			if m.ID == "" || len(m.ID) > longestName || len(m.Text) > longestText || m.Attempt < 0 {
				return errors.New("a message is longer than any that gl writes, or has no id")
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f.Messages, err
}

func (s *Messages) putUnheard(work string, list []Message) error {
	path := s.Path(work)
	if len(list) == 0 {
		if err := durable.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.WriteJSON(path, sayFile{schemaVersion, list})
}

// Say keeps a message until an agent has it. The lock must be held.
func (s *Messages) Say(system, work, text string, now time.Time) (Message, error) {
	m := Message{ID: newMessageID(), Time: now.UTC(), Text: text}
	list, err := s.Unheard(work)
	if err == nil {
		err = s.putUnheard(work, append(list, m))
	}
	if err == nil {
		_ = s.journal.Append(journal.Event{Kind: journal.Said, System: system,
			Slice: workSlice(work), Reason: text, Key: "said." + m.ID})
	}
	return m, err
}

// newMessageID makes a UUID of version 8, the one for uses of one's own: so an agent's stream
// tells what a person has said from the prompt.
func newMessageID() string {
	id := []byte(newUUID())
	id[14] = agent.MessageVersion
	return string(id)
}

// workSlice is the slice or task that a Work belongs to.
func workSlice(work string) string {
	if id, _, ok := SplitTask(work); ok {
		return id
	}
	return work
}

// HandOver marks the messages as handed to the attempt, and returns them as they were. The lock
// must be held.
func (s *Messages) HandOver(r *Record, which func(Message) bool) ([]Message, error) {
	list, err := s.Unheard(r.ID.Work())
	if err != nil {
		return nil, err
	}
	var handed []Message
	for i, m := range list {
		if which(m) {
			handed = append(handed, m)
			list[i].Attempt = r.ID.N
		}
	}
	if len(handed) == 0 {
		return nil, nil
	}
	return handed, s.putUnheard(r.ID.Work(), list)
}

// Heard forgets messages that the attempt's agent has. The lock must be held.
func (s *Messages) Heard(r *Record, ids []string) error {
	list, err := s.Unheard(r.ID.Work())
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(m Message) bool {
		return slices.Contains(ids, m.ID)
	})
	if len(kept) == len(list) {
		return nil
	}
	if err := s.putUnheard(r.ID.Work(), kept); err != nil {
		return err
	}
	for _, id := range ids {
		e := r.ID.Event(journal.Heard)
		e.Key = "heard." + id
		_ = s.journal.AppendOnce(e)
	}
	return nil
}

// sayAtStart gives an attempt whose agent can't be told while it works what there is to tell
// it. The lock must be held, and the record is to be written before the messages are marked:
// see markSaid.
func (s *Messages) sayAtStart(r *Record) error {
	if r.Talk.Talks {
		return nil
	}
	list, err := s.Unheard(r.ID.Work())
	r.Talk.Said = list
	return err
}

// markSaid says that the attempt has been given its messages.
func (s *Messages) markSaid(r *Record) error {
	if len(r.Talk.Said) == 0 {
		return nil
	}
	_, err := s.HandOver(r, func(m Message) bool { return r.wasSaid(m.ID) })
	return err
}

func (r *Record) wasSaid(id string) bool {
	return slices.ContainsFunc(r.Talk.Said, func(m Message) bool { return m.ID == id })
}

// MarkRead notes that the attempt's agent has run gl slice, which printed what it was to be told.
func (s *Messages) MarkRead(r *Record) error {
	if len(r.Talk.Said) == 0 {
		return nil
	}
	path := s.readPath(r)
	if err := mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	return durable.WriteFile(path, nil, 0o600)
}

// readPath is in the one directory of the records that an agent in a sandbox may write.
func (s *Messages) readPath(r *Record) string {
	return filepath.Join(s.dir, "told", r.ID.Name()+".read")
}

// delivered reports whether what the attempt was to be told has reached its agent: in its
// prompt, or because it asked.
func (s *Messages) delivered(r *Record) bool {
	if r.Talk.Briefed {
		return true
	}
	_, err := durable.Stat(s.readPath(r))
	return err == nil
}

// heardAtStart forgets what an attempt was told at its start, if that reached its agent, and it
// has done anything since. The lock must be held.
func (s *Messages) heardAtStart(r *Record) error {
	if len(r.Talk.Said) == 0 {
		return nil
	}
	delivered := s.delivered(r)
	_ = durable.Remove(s.readPath(r)) // mostly there is none
	worked := !r.Judged.Outcome.Traits().Limited &&
		(r.Judged.evidence().Result != nil && r.Judged.evidence().Result.Turns > 0 ||
			r.Judged.evidence().ExitCode != nil && *r.Judged.evidence().ExitCode == 0)
	if !delivered || !worked {
		return nil
	}
	var ids []string
	for _, m := range r.Talk.Said {
		ids = append(ids, m.ID)
	}
	return s.Heard(r, ids)
}

// Drop forgets what was said about work that is over, and records that it was never read. The
// lock must be held.
func (s *Messages) Drop(system, work string) error {
	list, err := s.Unheard(work)
	if err != nil || len(list) == 0 {
		return err
	}
	_, n, _ := SplitTask(work)
	for _, m := range list {
		_ = s.journal.AppendOnce(journal.Event{Kind: journal.Unheard, System: system,
			Slice: workSlice(work), Attempt: n, Reason: m.Text, Key: "unheard." + m.ID})
	}
	return s.putUnheard(work, nil)
}

// Dropped reports whether the message was forgotten before an agent had it.
func (s *Messages) Dropped(m Message) bool {
	for e, err := range s.journal.ReaderOf(m.Time.Add(-time.Second), journal.Unheard).All() {
		if err == nil && e.Key == "unheard."+m.ID {
			return true
		}
	}
	return false
}

// SaidTo are the slices, and the Works of tasks, for which there are messages.
func (s *Messages) SaidTo() (all []string) {
	list, _ := durable.ReadDir(filepath.Join(s.dir, "say")) // without it nothing was said
	for _, d := range list {
		if work, ok := strings.CutSuffix(d.Name(), ".json"); ok {
			all = append(all, work)
		}
	}
	return all
}
