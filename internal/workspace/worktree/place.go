package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/workspace/git"
)

const placeHelp = "name another place with gl settings set git.worktrees DIR"

// choosePlace returns the directory of the repository's worktrees, as a real path if possible.
func choosePlace(at git.Checkout, asked string) string {
	place := at.Top + ".gl"
	if asked != "" {
		place = filepath.Join(asked, filepath.Base(at.Top))
	}
	there, err := nearest(place)
	if err != nil {
		return place
	}
	real, err := filepath.EvalSymlinks(there)
	if err != nil {
		return place
	}
	return filepath.Join(real, strings.TrimPrefix(place, there))
}

// checkPlace refuses a place where worktrees would be in danger. It makes nothing. chosen is set if
// a person has chosen the place.
func checkPlace(ctx context.Context, at git.Checkout, place string, chosen bool) error {
	if strings.ContainsAny(place, "\n\r") {
		return &Refused{fmt.Sprintf("the path %q has a line break in it", place), placeHelp}
	}
	there, err := nearest(place)
	if err != nil {
		return &Refused{err.Error(), placeHelp}
	}
	switch inside, err := repositoryAbove(ctx, there, at); {
	case err != nil:
		return err
	case inside != "":
		return &Refused{fmt.Sprintf("worktrees in %s would be inside of the repository in %s",
			place, inside), placeHelp}
	}
	if err := syscall.Access(there, 2); err != nil { // W_OK
		return &Refused{fmt.Sprintf("worktrees can't be made in %s: %v", there, err), placeHelp}
	}
	// A person who chooses a place has chosen its file system, too.
	if !chosen && !sameMount(there, at.Top) {
		return &Refused{fmt.Sprintf("%s is on another file system than the repository", there),
			placeHelp}
	}
	return nil
}

// nearest returns the path, or the nearest existing directory above it.
func nearest(path string) (string, error) {
	for {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return path, nil
		case err == nil:
			return "", fmt.Errorf("%s is not a directory", path)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		case filepath.Dir(path) == path:
			return "", err
		}
		path = filepath.Dir(path)
	}
}

// repositoryAbove returns the directory, at or above dir, that is a checkout or a repository; ""
// for none. A bare repository may have its checkouts beside or below it; worktrees are safe there,
// too.
func repositoryAbove(ctx context.Context, dir string, at git.Checkout) (string, error) {
	for ; ; dir = filepath.Dir(dir) {
		switch {
		case git.Marked(dir):
			top, err := git.Root(ctx, dir)
			if top != "" || err != nil && !isBareNote(dir, at) {
				return dir, nil
			}
		case dir == at.Common:
		case git.LooksLikeRepository(dir):
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", ctx.Err()
		}
	}
}

// isBareNote reports whether the .git of dir only points to our repository, which is bare: then dir
// isn't a checkout.
func isBareNote(dir string, at git.Checkout) bool {
	return git.Bare(at.Common) &&
		(paths.Same(filepath.Join(dir, ".git"), at.Common) || git.GitFile(dir) == at.Common)
}

// sameMount reports whether two directories are on the same mount of the same file system: nothing
// can be renamed or cloned from one mount to another, and a container's mount may disappear with
// it.
func sameMount(a, b string) bool {
	var sa, sb syscall.Stat_t
	if syscall.Stat(a, &sa) != nil || syscall.Stat(b, &sb) != nil || sa.Dev != sb.Dev {
		return false
	}
	data, err := durable.ReadFile("/proc/self/mountinfo")
	return err != nil || mountOf(string(data), a) == mountOf(string(data), b)
}

// mountOf returns the mount point of the path, by Linux's list of mounts.
func mountOf(mountinfo, path string) string {
	var best string
	for line := range strings.Lines(mountinfo) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`,
			`\`).Replace(f[4])
		if len(point) >= len(best) &&
			(point == path || strings.HasPrefix(path, strings.TrimSuffix(point, "/")+"/")) {
			best = point
		}
	}
	return best
}
