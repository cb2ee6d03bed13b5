package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
)

// DiffOptions control how differences are shown.
type DiffOptions struct {
	Stat  int      // a summary for that many columns, instead of the text
	Paths []string // nothing else; nil for all
}

// Diff writes the differences of two commits or trees, as git shows them, without color. It runs no
// external program and no text conversion of the repository's configuration.
func Diff(ctx context.Context, common, a, b string, o DiffOptions, w io.Writer) error {
	args := []string{"diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color"}
	if o.Stat > 0 {
		args = append(args, fmt.Sprintf("--stat=%d", o.Stat))
	} else {
		args = append(args, "-p")
	}
	_, _, err := call{dir: common, limit: long, stdout: w}.run(ctx,
		slices.Concat(steady, []string{"--git-dir=" + common}, args,
			[]string{a + "^{tree}", b + "^{tree}", "--"}, literal(o.Paths))...)
	return err
}

// literal returns paths in which git finds no patterns.
func literal(paths []string) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = ":(top,literal)" + p
	}
	return list
}

// TreeLike returns the tree of a commit or tree, with the paths for which which is true as from has
// them.
func TreeLike(ctx context.Context, common, tree, from string,
	which func(path string) bool) (id string, err error) {
	s, err := newScratchTrees(common)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.q.remove()) }()
	if id, err = s.replace(ctx, tree, from, which); err != nil {
		return "", err
	}
	return id, s.q.release()
}

// DiffTool shows how two trees differ in the named program, or the one that the person has
// configured. It gets the terminal and follows the repository's configuration, since the person
// asks for it.
func DiffTool(ctx context.Context, top, tool, a, b string, in, out, errs *os.File) error {
	args := []string{"difftool", "--dir-diff", "--no-prompt"}
	if tool != "" {
		args = append(args, "--tool="+tool)
	}
	cmd := exec.CommandContext(ctx, "git", append(args, a, b)...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = top, in, out, errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git difftool: %w", err)
	}
	return nil
}
