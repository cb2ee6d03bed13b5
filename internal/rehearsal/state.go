package rehearsal

import (
	"context"

	"greenlight/internal/legacy"
	"greenlight/internal/slice"
)

// A writer sets fields of a slice's state and the time of the change, all in one write.
type writer func(ctx context.Context, id string, fields []field) error

type field struct{ key, value string }

// writeSlice writes into the slices of the project at root.
func writeSlice(root string) writer {
	store := legacy.OpenEither(root)
	return func(ctx context.Context, id string, fields []field) error {
		return store.Edit(ctx, id, func(file *slice.File) error {
			for _, f := range fields {
				if err := file.Set(f.key, f.value); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
