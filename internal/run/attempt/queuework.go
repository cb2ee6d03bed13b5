package attempt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/proc"
)

// A queueWork is runs/queue.json: what the merge queue's worker tests that is no attempt's.
// What is queued meanwhile waits for that.
type queueWork struct {
	Tests string  `json:"tests"` // a branch
	By    proc.ID `json:"by"`
}

func (s *Control) queueWorkPath() string { return filepath.Join(s.dir, "queue.json") }

// NoteQueueWork notes that this process, which works the merge queue, tests a branch by itself;
// "" when it is through.
func (s *Control) NoteQueueWork(branch string) error {
	if branch != "" {
		return durable.WriteJSON(s.queueWorkPath(), queueWork{branch, proc.Self()})
	}
	if err := os.Remove(s.queueWorkPath()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// QueueWork is the branch that the merge queue's worker tests by itself, "" for none.
func (s *Control) QueueWork() string {
	var w queueWork
	if !readJSON(s.queueWorkPath(), &w) || w.By.Dead() {
		return ""
	}
	return w.Tests
}
