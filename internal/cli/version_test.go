package cli

import (
	"runtime/debug"
	"testing"
)

func TestWhence(t *testing.T) {
	const commit = "70f5d8821234567890abcdef70f5d8821234abcd"
	checkout := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}}
	}
	module := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}}
	}
	const unfilled = "$Format:%H %(describe:tags=true,match=v[0-9]*)$\n"
	for _, c := range []struct {
		name    string
		linked  source
		info    *debug.BuildInfo
		archive string
		want    source
	}{
		{"nothing known", source{}, nil, unfilled, source{version: "dev"}},
		{"go build without .git", source{}, module("(devel)"), unfilled, source{version: "dev"}},
		{"go build in a checkout", source{}, checkout("v0.0.0-20261124032000-70f5d8821234", "false"),
			unfilled, source{version: "dev", commit: commit[:12]}},
		{"go build in a changed checkout", source{},
			checkout("v1.2.4-0.20261124032000-70f5d8821234+dirty", "true"), unfilled,
			source{version: "dev", commit: commit[:12], modified: true}},
		{"go build of a tag", source{}, checkout("v1.2.3", "false"), unfilled,
			source{version: "1.2.3", commit: commit[:12]}},
		{"go build of a changed tag", source{}, checkout("v1.2.3+dirty", "true"), unfilled,
			source{version: "dev", commit: commit[:12], modified: true}},
		{"go install of a tag", source{}, module("v1.2.3-rc.1"), unfilled, source{version: "1.2.3-rc.1"}},
		{"go install of a commit", source{}, module("v0.0.0-20261124032000-70f5d8821234"), unfilled,
			source{version: "dev", commit: commit[:12]}},
		{"a release", source{version: "1.2.3", commit: commit}, checkout("v1.2.3", "false"), unfilled,
			source{version: "1.2.3", commit: commit[:12]}},
		{"an archive", source{}, module("(devel)"), commit + " \n",
			source{version: "dev", commit: commit[:12]}},
		{"an archive of a tag", source{}, module("(devel)"), commit + " v1.2.3\n",
			source{version: "1.2.3", commit: commit[:12]}},
		{"an archive after a tag", source{}, module("(devel)"), commit + " v1.2.3-4-g70f5d882\n",
			source{version: "dev", commit: commit[:12]}},
		{"an archive of an old git", source{}, nil, commit + " %(describe:tags=true,match=v[0-9]*)\n",
			source{version: "dev", commit: commit[:12]}},
	} {
		if got := whence(c.linked, c.info, c.archive); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestVersionLine(t *testing.T) {
	commit := "70f5d8821234"
	v := versionDoc{Version: "1.2.3", Go: "go1.26.0", Platform: "linux/amd64"}
	for _, c := range []struct {
		commit   *string
		modified bool
		want     string
	}{
		{nil, false, "gl 1.2.3 go1.26.0 linux/amd64"},
		{&commit, false, "gl 1.2.3 (70f5d8821234) go1.26.0 linux/amd64"},
		{&commit, true, "gl 1.2.3 (70f5d8821234, modified) go1.26.0 linux/amd64"},
	} {
		v.Commit, v.Modified = c.commit, c.modified
		if got := v.line(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
