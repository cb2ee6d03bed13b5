package claudetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Version is the version of the client that gl is tested with.
const Version = "2.1.330"

// DirVariable names the directory in which npm has installed the client.
const DirVariable = "GREENLIGHT_CLAUDE_DIR"

// ErrNoClient means that DirVariable isn't set.
var ErrNoClient = errors.New("no client: run make test-claude, or name the directory of npm's node_modules in " + DirVariable)

// Client returns the path of the client's program. It is in the package for this platform, so
// that it also works after npm install --ignore-scripts.
func Client() (string, error) {
	dir := os.Getenv(DirVariable)
	if dir == "" {
		return "", ErrNoClient
	}
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	path := filepath.Join(dir, "node_modules", "@anthropic-ai",
		"claude-code-"+runtime.GOOS+"-"+arch, "claude")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s has no client of %s: %w", dir, Version, err)
	}
	return filepath.Abs(path)
}

// Environ returns the whole environment of a client that talks only to the stand-in: it
// inherits nothing from the caller, HOME is its own, reports and updates are off, and all other
// requests go to a proxy that refuses them. The client gives up on the first error, where by
// default it would retry ten times with growing delays.
func Environ(api *API, home, path string) []string {
	return []string{
		"PATH=" + path,
		"HOME=" + home,
		"USER=tester", "SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm-256color",
		"ANTHROPIC_BASE_URL=" + api.URL,
		"ANTHROPIC_API_KEY=" + Key,
		"CLAUDE_CODE_MAX_RETRIES=0",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		"HTTPS_PROXY=" + api.URL, "HTTP_PROXY=" + api.URL,
		"NO_PROXY=127.0.0.1,localhost",
		// outside a sandbox root may not skip the permissions, and CI often runs as root
		"IS_SANDBOX=1",
	}
}

// Key is the API key that the client sends to the stand-in. It is valid nowhere else.
const Key = "standin-standin-standin-standin"
