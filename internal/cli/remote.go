package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli/cmdutil"
)

// A Network is what only gl-remote has: the server of workers, and workers. gl itself has none of
// it, so that it stays small and starts fast.
type Network struct {
	Serve func(context.Context, ServeOptions) error
	Work  func(context.Context, WorkOptions) error
}

// remote is nil in gl.
var remote *Network

// RemoteMain runs one command line of gl-remote and returns its exit code: of gl serve or gl
// worker, which replace themselves with it, or of what those two start between them and an agent.
func RemoteMain(ctx context.Context, n *Network, args []string, stdin io.Reader,
	stdout, stderr io.Writer, environ []string) int {
	remote = n
	app := cmdutil.NewApp(stdin, stdout, stderr, environ)
	app.Args = args
	if code, ok := agentProcess(args); ok {
		return code
	}
	root := newRoot(app, remoteGroups())
	root.Long = remoteProgram + " is what gl serve and gl worker run as: use gl."
	root.Args = cobra.ArbitraryArgs
	root.RunE = func(*cobra.Command, []string) error {
		return cmdutil.Usage("%s", strings.TrimSuffix(root.Long, "."))
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		app.IO.Printf("%s", commandHelp(app.IO, c))
	})
	return execute(ctx, app, root, args)
}

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
