package attempt

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/core/plan"
	"greenlight/internal/state/tracker"
)

// What landed may be taken out again, by gl undo or gl land --reset, and then the slice is
// pending. git stash pop can bring its file back as it was before that. So runs/withdrawn notes
// the attempt whose work was taken out: what a file says of that attempt isn't so.

func (s *Proofs) withdrawnPath(system, slice string) string {
	return filepath.Join(s.dir, "withdrawn", fileName(system, slice))
}

// Withdraw notes that the work of the slice's attempt n is in no branch anymore that work lands on.
func (s *Proofs) Withdraw(system, slice string, n int) error {
	if err := mkdir(filepath.Join(s.dir, "withdrawn")); err != nil {
		return err
	}
	return durable.WriteFile(s.withdrawnPath(system, slice), []byte(strconv.Itoa(n)+"\n"), 0o600)
}

// CallComplete forgets that: a person has called the slice complete since.
func (s *Proofs) CallComplete(system, slice string) error {
	err := durable.Unlink(s.withdrawnPath(system, slice))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Withdrawn are the attempts whose work was taken out, by their slices.
func (s *Proofs) Withdrawn(system string) map[string]int {
	entries, err := durable.ReadDir(filepath.Join(s.dir, "withdrawn"))
	if err != nil {
		return nil
	}
	all := map[string]int{}
	for _, e := range entries {
		slice, ok := strings.CutPrefix(e.Name(), fileName(system, ""))
		if !ok {
			continue
		}
		data, err := durable.ReadFile(s.withdrawnPath(system, slice))
		if n, convErr := strconv.Atoi(strings.TrimSpace(string(data))); err == nil &&
			convErr == nil {
			all[slice] = n
		}
	}
	return all
}

// Out is the attempt whose work was taken out of a slice, withdrawn, unless the slice's last
// attempt has landed since; 0 for none.
func Out(withdrawn int, last Entry) int {
	if last.N != withdrawn && last.Outcome.Traits().Success {
		return 0
	}
	return withdrawn
}

// EarlierWord returns the item as it is if its file calls it complete by the word of an earlier
// attempt whose work is in no branch that work lands on: one that the file has the claim of, or
// the attempt out, whose work was taken out, 0 for none. It returns nil for any other item.
func (s *Store) EarlierWord(system string, it *plan.Item, out int) *plan.Item {
	if it.Session != "" {
		return s.calledBefore(system, it)
	}
	if out == 0 {
		return nil
	}
	r, err := s.Get(it.ID, out)
	if err != nil || r.ID.System != system || !r.ID.IsOf(it) {
		return nil
	}
	return r.Withdrawn(it)
}

// earlierWord is EarlierWord for an item that isn't known to be complete, with what the store
// knows of it.
func (s *Store) earlierWord(system string, it *plan.Item) *plan.Item {
	if plan.Classify(it.Status) != plan.Done || it.Corrupt != "" {
		return nil
	}
	index, err := s.Index()
	if err != nil {
		return nil
	}
	var last Entry
	if all := index[it.ID]; len(all) > 0 {
		last = all[len(all)-1]
	}
	return s.EarlierWord(system, it, Out(s.Proofs.Withdrawn(system)[it.ID], last))
}

// disown writes into the file of an item that only the word of an earlier attempt calls
// complete that it is pending. Otherwise it would be complete again once a claim on it is given
// back.
func (w *Writer) disown(tx tracker.Tx, system string, it plan.Item) (plan.Item, error) {
	if w.store.earlierWord(system, &it) == nil {
		return it, nil
	}
	if err := tx.PutBack(it.ID, it.Mark(), true); err != nil {
		return it, err
	}
	return tx.Item(it.ID)
}

// Withdrawn is the item as it is although its file calls it complete, by the attempt whose work
// was taken out; nil for another item.
func (r *Record) Withdrawn(it *plan.Item) *plan.Item {
	if !r.Since.Retried || r.Landing == nil || it.Session != "" ||
		it.Verified != r.Judged.Verified {
		return nil
	}
	mark, open := it.Mark(), *it
	open.Reverted = &mark
	open.Status, open.Step, open.Verified, open.Tests, open.NewTests = "pending", "none", "", 0, 0
	return &open
}

// LeftOpen is an item that its file calls complete though it isn't, as the last settled attempt
// has left it, or as it is since that was retried. n is the attempt whose work was taken out, 0
// for one that was never complete.
func (r *Record) LeftOpen(open *plan.Item, n int) *plan.Item {
	switch {
	case r.Since.Retried:
		open.Status, open.Session = "pending", ""
		if plan.Classify(open.Step) == plan.Done {
			open.Step = tracker.Verifying
		}
	case r.ID.N > n && r.Judged.After != nil && plan.Classify(r.Judged.After.Status) != plan.Done:
		open.Status, open.Step, open.Session = r.Judged.After.Status, r.Judged.After.Step,
			r.Judged.After.Session
	}
	return open
}
