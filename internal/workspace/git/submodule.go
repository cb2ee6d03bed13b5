package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A module is a submodule of a checkout.
type module struct{ name, path, commit string }

// FillSubmodules fills the submodules of a worktree from those of another checkout of the
// repository, at top: each one that exists there is cloned, with nothing fetched. No agent has
// worked in the worktree yet: what a killed call left is made again.
func (x Exclusive) FillSubmodules(ctx context.Context, top string) error {
	if err := x.w.Check(); err != nil {
		return err
	}
	return fillModules(ctx, x.w.Admin, x.w.Path, top)
}

func fillModules(ctx context.Context, gitDir, path, from string) error {
	modules, err := modulesOf(ctx, gitDir, path)
	if err != nil {
		return err
	}
	for _, m := range modules {
		source := gitDirOf(filepath.Join(from, m.path))
		if source == "" { // not there either
			continue
		}
		own, dir := filepath.Join(gitDir, "modules", m.name), filepath.Join(path, m.path)
		if err := cloneModule(ctx, m, source, own, dir); err != nil {
			return fmt.Errorf("submodule %s: %w", m.path, err)
		}
		if err := fillModules(ctx, own, dir, filepath.Join(from, m.path)); err != nil {
			return err
		}
	}
	return nil
}

// modulesOf lists the submodules in the index that .gitmodules names.
func modulesOf(ctx context.Context, gitDir, path string) ([]module, error) {
	file := filepath.Join(path, ".gitmodules")
	if !paths.IsFile(file) {
		return nil, nil
	}
	at := []string{"--git-dir=" + gitDir, "--work-tree=" + path}
	out, err := run(ctx, path, append(at, "config", "-z", "--file", file, "--get-regexp",
		`^submodule\..*\.path$`)...)
	if err != nil { // a file without paths, or one that git can't read
		return nil, unanswered(err)
	}
	names := map[string]string{}
	for _, line := range split(out) {
		key, dir, _ := strings.Cut(line, "\n")
		names[dir] = strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
	}
	if out, err = run(ctx, path, append(at, "ls-files", "-s", "-z")...); err != nil {
		return nil, err
	}
	var list []module
	for _, line := range split(out) { // MODE HASH STAGE\tPATH
		head, dir, _ := strings.Cut(line, "\t")
		f := strings.Fields(head)
		if len(f) < 2 || f[0] != "160000" || names[dir] == "" {
			continue
		}
		// The name becomes a directory, and .gitmodules comes with the clone.
		if name := filepath.FromSlash(names[dir]); filepath.IsLocal(name) && filepath.IsLocal(dir) {
			list = append(list, module{name, dir, f[1]})
		}
	}
	return list, nil
}

// gitDirOf returns the git directory of the checkout at top, "" for none.
func gitDirOf(top string) string {
	path := filepath.Join(top, ".git")
	if paths.IsDir(path) {
		return path
	}
	return GitFile(top)
}

// cloneModule clones the repository source into the git directory own with the checkout dir. Its
// remote is the source's.
func cloneModule(ctx context.Context, m module, source, own, dir string) error {
	if GitFile(dir) == own && refillModule(ctx, m, own, dir) {
		return nil
	}
	for _, old := range []string{own, dir} {
		if err := os.RemoveAll(old); err != nil {
			return err
		}
	}
	if err := durable.MkdirAll(filepath.Dir(own), 0o755); err != nil &&
		!errors.Is(err, fs.ErrExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	cmd, err := command(ctx, filepath.Dir(own), "clone", "-q", "--no-checkout", "--template=",
		"--separate-git-dir="+own, "--", source, dir)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Env, cmd.Stderr = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file"), &said
	if err := cmd.Run(); err != nil {
		return failed(ctx, "clone", said.String(), err)
	}
	url, err := quiet(ctx, source, "--git-dir="+source, "config", "--get", "remote.origin.url")
	if err == nil && url != "" {
		_, err = run(ctx, own, "--git-dir="+own, "config", "remote.origin.url", url)
	}
	if err != nil {
		return err
	}
	if commit, err := ResolveCommit(ctx, own, m.commit); err != nil || commit == "" {
		return errors.Join(err, fmt.Errorf(
			"commit %.12s isn't in the main checkout's copy: run git submodule update there",
			m.commit))
	}
	for _, args := range [][]string{{"update-ref", "--no-deref", "HEAD", m.commit},
		{"read-tree", "--reset", "-u", "HEAD"}} {
		if _, err := runFor(ctx, long, dir, "",
			append([]string{"--git-dir=" + own, "--work-tree=" + dir}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// refillModule restores the files of a submodule that is already at its commit, and reports whether
// it is.
func refillModule(ctx context.Context, m module, own, dir string) bool {
	if commit, err := ResolveCommit(ctx, own, "HEAD"); err != nil || commit != m.commit {
		return false
	}
	if err := durable.Unlink(filepath.Join(own, "index.lock")); ignoreMissing(err) != nil {
		return false
	}
	for _, args := range [][]string{{"read-tree", "--reset", "-u", "HEAD"}, {"clean", "-ffdq"}} {
		if _, err := runFor(ctx, long, dir, "",
			append([]string{"--git-dir=" + own, "--work-tree=" + dir}, args...)...); err != nil {
			return false
		}
	}
	return true
}

// FillLFS replaces pointers of git-lfs by the files that the repository has. Other pointers stay:
// nothing is fetched.
func (x Exclusive) FillLFS(ctx context.Context) error {
	if !paths.IsDir(filepath.Join(x.w.Common, "lfs", "objects")) {
		return nil
	}
	if _, err := paths.Program("git-lfs", ""); err != nil {
		return nil
	}
	_, err := x.w.run(ctx, mostFill, "", "lfs", "checkout")
	return err
}
