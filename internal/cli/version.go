package cli

import (
	_ "embed"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/cli/cmdutil"

	"github.com/spf13/cobra"
)

// stamped is what the program was linked with, by -ldflags "-X main.version=… -X main.commit=…".
var stamped source

// Stamp sets the version and commit that a program was linked with; both are empty unless it was
// built as a release. It is called before Main.
func Stamp(version, commit string) {
	stamped = source{version: version, commit: commit}
}

func newVersion(app *cmdutil.App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print gl's version, the commit and Go version it was built with, and its platform. gl --version prints the same. A build
that isn't a release is called dev; "modified" says that the checkout had changes beyond its commit.

Exit codes: 0 printed; 2 wrong usage.`,
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
	// the checkout it was built from had changes that aren't committed
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // such as linux/amd64
}

// line returns the version in one line: "gl 1.2.3 (0123456789ab) go1.25.0 linux/amd64".
func (v versionDoc) line() string {
	commit := ""
	if v.Commit != nil {
		commit = " (" + *v.Commit
		if v.Modified {
			commit += ", modified"
		}
		commit += ")"
	}
	return "gl " + v.Version + commit + " " + v.Go + " " + v.Platform
}

// versionInfo describes this program. The same answer is needed several times by some commands.
var versionInfo = sync.OnceValue(func() versionDoc {
	info, _ := debug.ReadBuildInfo()
	s := whence(stamped, info, archived)
	return versionDoc{SchemaVersion: 1, Version: s.version, Commit: jsondoc.OrNull(s.commit),
		Modified: s.modified, Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH}
})

// release returns the version alone.
func release() string { return versionInfo().Version }

// A source is what a program was built from.
type source struct {
	version, commit string // without the v of a tag; the commit's first digits
	modified        bool
}

// archived is the commit and tag of a source archive: git archive, which GitHub's downloads are
// made with, fills them in (.gitattributes).
//
//go:embed archived.txt
var archived string

// whence tells what a program was built from: by what it was linked with, else by what go build
// (in a git checkout) and go install (of a module's version) note in it, else by the archive that
// its source came in.
func whence(linked source, info *debug.BuildInfo, archive string) source {
	s := source{version: "dev"}
	if commit, tag, _ := strings.Cut(strings.TrimSpace(archive), " "); isCommit(commit) {
		s.commit = commit
		if released(tag) {
			s.version = tag
		}
	}
	if info != nil {
		s.readBuild(info)
	}
	if linked.version != "" {
		s.version = linked.version
	}
	if linked.commit != "" {
		s.commit = linked.commit
	}
	s.version = strings.TrimPrefix(s.version, "v")
	s.commit = s.commit[:min(len(s.commit), 12)]
	return s
}

// readBuild takes over what go build noted in the program.
func (s *source) readBuild(info *debug.BuildInfo) {
	// A version that isn't a tag's is made of a time and a commit:
	// v0.0.0-20261124032000-70f5d8821234.
	if v := info.Main.Version; released(v) {
		s.version = v
	} else if at := strings.LastIndexByte(v, '-'); at >= 0 {
		if commit, _, _ := strings.Cut(v[at+1:], "+"); isCommit(commit) {
			s.commit = commit
		}
	}
	for _, set := range info.Settings {
		switch set.Key {
		case "vcs.revision":
			s.commit = set.Value
		case "vcs.modified":
			s.modified = set.Value == "true"
		}
	}
}

// isCommit reports whether the text is a commit's id, of at least 12 digits.
func isCommit(text string) bool {
	return len(text) >= 12 && strings.Trim(text, "0123456789abcdef") == ""
}

// releases matches the versions of tags: v1.2.3, v1.2.3-rc.1.
var releases = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+(-[a-z]+\.?\d*)?$`)
})

func released(version string) bool { return releases().MatchString(version) }
