package rehearsal

import (
	"context"

	"greenlight/internal/state/journal"
	"greenlight/internal/state/legacy"
	"greenlight/internal/state/slice"
	"greenlight/internal/state/statedir"
)

// A writer sets fields of a slice's state and the time of the change in one write.
type writer func(ctx context.Context, id string, fields []field) error

type field struct{ key, value string }

// writeSlice returns a writer for the slices of the project at root. It also writes the journal
// entries of gl state set.
func writeSlice(root string, attempt int) writer {
	store, told := legacy.OpenEither(root), journal.Open(statedir.Path(root, "runs"))
	return func(ctx context.Context, id string, fields []field) error {
		var events []journal.Event
		err := store.Edit(ctx, id, func(file *slice.File) error {
			before := file.Progress()
			for _, f := range fields {
				if err := file.Set(f.key, f.value); err != nil {
					return err
				}
			}
			events = file.Progress().Since(before, journal.Event{Slice: id, Attempt: attempt})
			return nil
		})
		if err == nil {
			_ = told.Append(events...)
		}
		return err
	}
}
