package claudetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Version is the client that gl is tested with.
const Version = "2.1.330"

// DirVariable names the directory in which npm has installed the client.
const DirVariable = "GREENLIGHT_CLAUDE_DIR"

// ErrNoClient says that nobody has named an installed client.
var ErrNoClient = errors.New("no client: run make test-claude, or name the directory of npm's node_modules in " + DirVariable)

// Client is the path of the client's program. It is the platform's own package, so that it works after npm install
// --ignore-scripts too.
func Client() (string, error) {
	dir := os.Getenv(DirVariable)
	if dir == "" {
		return "", ErrNoClient
	}
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	path := filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s has no client of %s: %w", dir, Version, err)
	}
	return filepath.Abs(path)
}

// Environ is the whole environment of a client that talks to the stand-in alone: nothing of the caller's reaches it,
// HOME is its own, what it would report or update is switched off, and whatever it asks for all the same meets a proxy
// that refuses. It gives up on the first error, where it would try ten times with growing waits.
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
		"IS_SANDBOX=1", // root may skip the permissions only in a sandbox, and CI is often root
	}
}

// Key is the API key that the stand-in is called with. It opens nothing.
const Key = "standin-standin-standin-standin"
