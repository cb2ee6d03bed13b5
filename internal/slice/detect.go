package slice

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"greenlight/internal/durable"
)

// ErrNoState: the directory is no Greenlight project, or one that has no state yet.
var ErrNoState = errors.New("no Greenlight state")

// The formats that Detect tells apart.
const (
	Slices = "slices" // a file for each slice
	Legacy = "legacy" // a STATE.md whose table has the slices: package legacy
)

// Detect says how the project under root keeps its state: "slices" where .greenlight/slices is a directory, else
// "legacy" where there is a STATE.md, else ErrNoState. Something else in the place of either is an error that names it.
func Detect(root string) (format string, err error) {
	dir := filepath.Join(root, ".greenlight", "slices")
	info, err := durable.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return Slices, nil
	case err == nil:
		return "", fmt.Errorf("%s is not a directory: slice files belong into it", dir)
	case !missing(err):
		return "", fmt.Errorf("find the state: %w", err)
	}
	state := filepath.Join(root, ".greenlight", "STATE.md")
	info, err = durable.Stat(state)
	switch {
	case err == nil && info.IsDir():
		return "", fmt.Errorf("%s is a directory, not a file", state)
	case err == nil:
		return Legacy, nil
	case !missing(err):
		return "", fmt.Errorf("find the state: %w", err)
	}
	if info, err := durable.Stat(filepath.Join(root, ".greenlight", "GRAPH.json")); err == nil && info.Mode().IsRegular() {
		return "", fmt.Errorf("%w in %s, but a GRAPH.json: run gl init --no-agent to make its slices", ErrNoState, root)
	}
	return "", fmt.Errorf("%w in %s: run gl init", ErrNoState, root)
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
