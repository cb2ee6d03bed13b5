package slice

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"greenlight/internal/base/durable"
)

// ErrNoState is returned for a directory that isn't a Greenlight project, or has no state yet.
var ErrNoState = errors.New("no Greenlight state")

// Formats that Detect returns.
const (
	Slices = "slices" // one file per slice
	Legacy = "legacy" // a table of slices in STATE.md; see package legacy
)

// Detect returns the state format of the project at root: Slices if .greenlight/slices is a
// directory, otherwise Legacy if there is a STATE.md, otherwise ErrNoState. If either path is
// something else, the error names it.
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
