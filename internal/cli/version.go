package cli

import (
	"runtime"
	"runtime/debug"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/cmdutil"

	"github.com/spf13/cobra"
)

// Version is set when a release is built (-ldflags "-X greenlight/internal/cli.Version=1.2.3").
var Version = "dev"

func newVersion(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print gl's version, the commit and Go version it was built with, and its platform. gl --version prints the same.\n\nExit codes: 0 printed; 2 wrong usage.",
		Example: "  gl version\n  gl version --json",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo()
			if asJSON {
				return app.IO.JSON(v)
			}
			app.IO.Printf("%s\n", v.line())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return c
}

type versionDoc struct {
	SchemaVersion int     `json:"schema_version"`
	Version       string  `json:"version"` // "dev" for a build that isn't a release
	Commit        *string `json:"commit"`  // null if the build doesn't say
	Go            string  `json:"go"`
	Platform      string  `json:"platform"` // such as linux/amd64
}

// line returns the version in one line: "gl 1.2.3 (0123456789ab) go1.25.0 linux/amd64".
func (v versionDoc) line() string {
	commit := ""
	if v.Commit != nil {
		commit = " (" + *v.Commit + ")"
	}
	return "gl " + v.Version + commit + " " + v.Go + " " + v.Platform
}

func versionInfo() versionDoc {
	v := versionDoc{SchemaVersion: 1, Version: Version, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v.Commit = jsondoc.OrNull(s.Value[:12])
			}
		}
	}
	return v
}
