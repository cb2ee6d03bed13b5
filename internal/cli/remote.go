package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli/cmdutil"
)

// A Network is what only gl-remote has: the server of workers, and workers. gl itself has none of
// it, so that it stays small and starts fast.
type Network struct {
	Serve func(context.Context, ServeOptions) error
	Work  func(context.Context, WorkOptions) error
}

// Remote is nil in gl. The program gl-remote sets it before it calls Main, and is gl in everything
// else.
var Remote *Network

// remoteProgram is the program with the network, which is installed beside gl.
const remoteProgram = "gl-remote"

// findRemote finds the program with the network.
func findRemote() (string, error) {
	path, err := findBeside(remoteProgram)
	if err != nil {
		return "", fmt.Errorf("work on other machines needs the program %s: install it beside gl, from the same release: %w",
			remoteProgram, err)
	}
	return path, nil
}

// becomeRemote replaces this process by gl-remote with the same arguments. It returns only if that
// fails.
func becomeRemote(app *cmdutil.App) error {
	path, err := findRemote()
	if err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", path,
		syscall.Exec(path, append([]string{remoteProgram}, app.Args...), app.Environ))
}

// findBeside finds a program in the directory of this one, or else on PATH.
func findBeside(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		path := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	path, err := paths.Program(name, "/")
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s isn't beside it or on PATH", name)
	}
	return path, err
}
