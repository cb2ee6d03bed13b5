package testfiles

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// EmptyRepository turns a directory into an empty git repository on a branch, with the user "t"
// and automatic garbage collection off. Only the first call runs git, because tests make
// hundreds of repositories.
func EmptyRepository(dir, branch string) error {
	made, err := skeleton()
	if err != nil {
		return err
	}
	for path, text := range made {
		if err := put(dir, path, text); err != nil {
			return err
		}
	}
	return put(dir, ".git/HEAD", "ref: refs/heads/"+branch+"\n")
}

// skeleton holds the files that git creates in an empty directory, by paths as for Put.
var skeleton = sync.OnceValues(func() (made map[string]string, err error) {
	dir, err := os.MkdirTemp("", "repository")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, args := range [][]string{
		{"init", "-q", "--template="}, {"config", "user.name", "t"},
		{"config", "user.email", "t@t"}, {"config", "gc.auto", "0"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if err := cmd.Run(); err != nil {
			return nil, err
		}
	}
	made = map[string]string{".git/info/": "", ".git/hooks/": ""}
	return made, filepath.WalkDir(filepath.Join(dir, ".git"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if d.IsDir() {
				made[filepath.ToSlash(name)+"/"] = ""
				return nil
			}
			data, err := os.ReadFile(path)
			made[filepath.ToSlash(name)] = string(data)
			return err
		})
})
