package cli

import (
	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
)

func newWrap(app *cmdutil.App) *cobra.Command {
	var o taskOptions
	return o.flags(app, &cobra.Command{
		Use:   "wrap [boundary]",
		Short: "Put contracts and locking tests around existing code",
		Long: `Have an agent put contracts and locking tests around one boundary of existing code: /gl:wrap BOUNDARY. Without a boundary
it chooses the one that matters most. It works in any git repository. Two boundaries may be wrapped at a time, one not
twice.`,
		Example: "  gl wrap\n  gl wrap internal/payment",
		RunE: func(c *cobra.Command, a []string) error {
			t, err := newTask("wrap", a)
			if err != nil {
				return err
			}
			t.Beside = attempt.Others
			return anywhere(c.Context(), app, t, "boundary", o)
		},
	})
}
