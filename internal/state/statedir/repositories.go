package statedir

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Repositories returns the git repositories in the state of the project at root, including bare
// ones, as paths relative to root. Git would run the commands in their configuration. An empty
// .git, which a sandbox leaves, isn't one.
func Repositories(root string) []string {
	var list []string
	top := Path(root)
	_ = filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path != top && path == Path(root, "runs") && e.IsDir() {
			if e != nil && e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		repository := e.Name() == ".git" && (!e.IsDir() || there(path, "HEAD"))
		bare := e.IsDir() && e.Name() != ".git" && there(path, "HEAD") && there(path, "objects") && there(path, "refs")
		if repository || bare {
			rel, _ := filepath.Rel(root, path)
			list = append(list, filepath.ToSlash(rel))
			if e.IsDir() && path != top {
				return filepath.SkipDir
			}
		}
		return nil
	})
	return list
}

func there(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}
