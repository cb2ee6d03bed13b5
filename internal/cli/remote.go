package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"greenlight/internal/base/paths"
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

// needsNetwork reports whether a command line needs gl-remote.
func needsNetwork(args []string) bool {
	return Remote == nil && len(args) > 0 && slices.Contains([]string{"serve", "worker"}, args[0]) &&
		!slices.Contains(args, "--help") && !slices.Contains(args, "-h")
}

// becomeRemote replaces this process by gl-remote with the same arguments. It returns only if that
// fails.
func becomeRemote(args, environ []string) error {
	path, err := findBeside(remoteProgram)
	if err != nil {
		return fmt.Errorf("gl %s needs the program %s: install it beside gl, from the same release: %w",
			args[0], remoteProgram, err)
	}
	return fmt.Errorf("start %s: %w", path,
		syscall.Exec(path, append([]string{remoteProgram}, args...), environ))
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
