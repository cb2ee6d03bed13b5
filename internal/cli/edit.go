package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
)

func newEdit(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:   "edit ID",
		Short: "Edit a slice's file in your editor",
		Long: `Open a copy of a slice's file in $VISUAL, $EDITOR or vi, check the edited copy, and replace the file. A copy that gl couldn't read
back is refused, and so is one of a file that was changed meanwhile; your text is then kept, and gl prints its path.

Exit codes: 0 written, or nothing was changed; 1 refused, or the editor failed; 2 wrong usage.`,
		Example:           "  gl edit S-07",
		Args:              cmdutil.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: app.CompleteFirstID,
		RunE: func(c *cobra.Command, a []string) error {
			return runEdit(c.Context(), app, a[0])
		},
	}
}

func runEdit(ctx context.Context, app *cmdutil.App, id string) error {
	if app.Inside() {
		return errors.New("gl edit is for a person with an editor: use gl state set and gl state note here")
	}
	pr, id, err := app.Slice(id)
	if err != nil {
		return err
	}
	old, err := ops.EditText(ctx, pr, id)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp("", "gl-edit-"+id+"-*.md")
	if err != nil {
		return err
	}
	name := f.Name()
	_, err = f.Write(old)
	if err = errors.Join(err, f.Close()); err == nil {
		err = openEditor(ctx, app, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	text, err := os.ReadFile(name) // editors write a new file in place of the old one
	if err != nil {
		return err
	}
	if bytes.Equal(text, old) {
		app.IO.Printf("nothing was changed\n")
		return os.Remove(name)
	}
	notes, err := ops.Edit(ctx, pr, id, old, text)
	for _, note := range notes {
		app.IO.Message("%s", sanitize.Text(note))
	}
	if err != nil {
		return fmt.Errorf("%w. %s stays as it was; your text is in %s", err, id, name)
	}
	app.IO.Printf("%s is written\n", id)
	return os.Remove(name)
}

// openEditor opens a file in the person's editor, as git does: the variable is a command line.
func openEditor(ctx context.Context, app *cmdutil.App, file string) error {
	line := ""
	for _, key := range []string{"VISUAL", "EDITOR"} {
		if value := strings.TrimSpace(app.Getenv(key)); value != "" {
			line = value
			break
		}
	}
	if line == "" {
		if !app.IO.Interactive() { // vi would read the end of its input in a loop
			return errors.New("there is no terminal for vi, and neither VISUAL nor EDITOR is set")
		}
		line = "vi"
	}
	argv, err := shellwords.Split(line)
	if err != nil || len(argv) == 0 {
		return fmt.Errorf("the editor %q isn't a command line: set EDITOR", line)
	}
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], file)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = app.IO.In, app.IO.Out, app.IO.Err, app.Environ
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", argv[0], err)
	}
	return nil
}
