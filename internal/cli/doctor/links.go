package doctor

import (
	"io/fs"
	"path/filepath"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
	"greenlight/internal/run/workers"
	"greenlight/internal/state/statedir"
	"greenlight/internal/workspace/git"
)

// checkLinks reports files of the state that gl neither reads nor writes: symbolic links, pipes and
// devices.
func checkLinks(x *exam) []Finding {
	var all []Finding
	exchange := filepath.Join(workers.Dir(x.pr.Runs.Files.Dir()), git.ExchangeName)
	for _, dir := range durable.StateDirs() {
		_ = filepath.WalkDir(filepath.Join(x.pr.Root, dir),
			func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && path == exchange {
					return fs.SkipDir // git's, with links of gl's to its refs
				}
				if err != nil || d.IsDir() || d.Type().IsRegular() {
					return nil // reported by the check that needs it
				}
				rel := paths.Relative(x.pr.Root, path)
				message := durable.ErrIrregular.Error()
				if d.Type() == fs.ModeSymlink {
					if durable.CheckPath(path) == nil {
						return nil // the state directory itself, which GREENLIGHT_ROOT allows
					}
					message = "is a symbolic link, which gl doesn't follow"
				}
				all = append(all, found(Error, rel, message, "rm "+rel))
				return nil
			})
	}
	for _, path := range statedir.Repositories(x.pr.Root) {
		all = append(all, found(Error, path, "is a git repository in the state, and any git there runs what its configuration names", "rm -r "+path+", unless you have made it"))
	}
	return all
}
