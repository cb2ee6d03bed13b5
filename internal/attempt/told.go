package attempt

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"greenlight/internal/durable"
)

// TellOnce says whether the holder of this claim has yet to be told that its slice is still in progress, and remembers
// that it has been. One claim is told once; an error means that it may not be told, for it would be told for ever.
func (s *Store) TellOnce(slice, token string) (bool, error) {
	path := filepath.Join(s.dir, "told", slice)
	old, err := os.ReadFile(path)
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
