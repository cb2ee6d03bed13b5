package slice

import (
	"fmt"
	"strings"
	"time"

	"greenlight/internal/base/text/textline"
)

// A RowSlice is a row of STATE.md, with the fields the table has no columns for.
type RowSlice struct {
	Row
	Step, Session, Started, WaitingFor, WaitKind, Verified, Failing string

	Changed   time.Time
	Contracts []string // for the file's Contracts section
}

// File converts the row to a slice file, so that one function edits both formats.
func (r RowSlice) File() (*File, error) {
	contracts := ""
	for i, c := range r.Contracts {
		if i == 0 {
			contracts = "## Contracts\n\n"
		}
		contracts += "- " + textline.Join(c) + "\n"
	}
	file, err := ParseFile([]byte("---\n" + strings.Join(RowKeys(), ":\n") + ":\n---\n\n# " + r.ID + "\n\n" + contracts + "\n## Decisions\n"))
	if err != nil {
		return nil, err
	}
	for key, value := range map[string]string{
		"id": r.ID, "name": r.Name, "status": r.Status, "step": r.Step, "started": r.Started,
		"tests": fmt.Sprint(r.Tests), "security_tests": fmt.Sprint(r.Security),
		"session": r.Session, "waiting_for": noneAsEmpty(r.WaitingFor), "waiting_kind": r.WaitKind, "verified": r.Verified, "failing": r.Failing, "deps": strings.Join(r.Deps, ", "),
	} {
		if err := file.Set(key, textline.Join(value)); err != nil {
			return nil, err
		}
	}
	return file, nil
}
