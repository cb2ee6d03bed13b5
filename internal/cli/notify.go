package cli

import (
	"io"

	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/iostreams"
	"greenlight/internal/run/notify"
	"greenlight/internal/run/project"
)

// channels returns the ways in which a run notifies people, from the settings notify.*. Those
// that run a program or post data are among what gl trust asks about (project.Commands), and a
// run doesn't begin without that permission.
func channels(app *cmdutil.App, pr *project.Project) []notify.Channel {
	var list []notify.Channel
	n := pr.Config.Notify
	if n.Terminal && iostreams.IsTerminal(app.IO.Err) && app.Getenv("TERM") != "dumb" {
		list = append(list,
			notify.Terminal{Tmux: app.Getenv("TMUX") != "", Write: func(text string) {
				_, _ = io.WriteString(app.IO.Err, text)
			}})
	}
	if n.Desktop {
		if c := notify.Desktop(app.Getenv); c != nil {
			list = append(list, c)
		}
	}
	if len(n.Command) > 0 {
		list = append(list, notify.Command(n.Command, pr.Root, app.Environ))
	}
	if n.Webhook != "" {
		list = append(list, notify.Webhook(n.Webhook))
	}
	if n.Ntfy != "" {
		list = append(list, notify.Ntfy(n.Ntfy))
	}
	return list
}
