package cli

import (
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"greenlight/internal/cli/cmdutil"
)

// A worker that is started by ssh gets the flags that are for it, and none that were for gl here.
func TestFlagsForWorkerBySSH(t *testing.T) {
	var got []string
	root := &cobra.Command{Use: "gl"}
	root.PersistentFlags().StringP("directory", "C", "", "")
	c := newWorker(cmdutil.NewApp(nil, io.Discard, io.Discard, nil))
	c.RunE = func(c *cobra.Command, _ []string) error {
		got = passedOn(c)
		return nil
	}
	root.AddCommand(c)
	root.SetArgs([]string{"-C", "p", "worker", "--ssh", "build-2", "--slots", "2", "--label", "gpu,big", "--agent=claude"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	want := []string{"--agent=claude", "--label=gpu", "--label=big", "--slots=2"}
	if !slices.Equal(got, want) {
		t.Errorf("passed on %q", got)
	}
}
