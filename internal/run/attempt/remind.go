package attempt

import (
	"errors"
	"io/fs"
	"path/filepath"

	"greenlight/internal/base/durable"
)

// RemindOnce reports whether the holder of this claim should be reminded now that its slice is
// still in progress, and records that it was. Each claim is reminded once. On an error the
// caller must not remind: the record could not be written, so the reminder would come again at
// every stop.
func (s *Claims) RemindOnce(slice, token string) (bool, error) {
	path := filepath.Join(s.dir, "told", slice)
	old, err := durable.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return false, err
	case string(old) == token:
		return false, nil
	}
	if err := mkdir(filepath.Dir(path)); err != nil {
		return false, err
	}
	return true, durable.Replace(path, old, []byte(token))
}
