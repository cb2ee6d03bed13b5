// Package gh runs GitHub's command line, gh; no other package does. It handles pull requests
// and doesn't interpret their content.
package gh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"greenlight/internal/base/paths"
)

var (
	// ErrMissing means that gh isn't on PATH.
	ErrMissing = errors.New("gh isn't installed")
	// ErrLogin means that gh isn't logged in to an account.
	ErrLogin = errors.New("gh isn't logged in")
)

// A PullRequest is a pull request as gh prints it.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	State  string `json:"state"` // OPEN, MERGED or CLOSED
	Title  string `json:"title"`
	Body   string `json:"body"`
}

// The states of a pull request.
const (
	Open   = "OPEN"
	Merged = "MERGED"
	Closed = "CLOSED"
)

const fields = "number,url,state,title,body"

// A Repo is a checkout; gh finds the repository by its remotes.
type Repo struct {
	Dir     string
	Environ []string
}

// Find returns the open pull request of a branch, or nil.
func (r Repo) Find(ctx context.Context, head, base string) (*PullRequest, error) {
	out, err := r.run(ctx, "", "pr", "list", "--head", head, "--base", base, "--state", "open",
		"--limit", "1", "--json", fields)
	if err != nil {
		return nil, err
	}
	var list []PullRequest
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, fmt.Errorf("gh pr list says %.200q", out)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// View returns the pull request with the given number.
func (r Repo) View(ctx context.Context, number int) (*PullRequest, error) {
	out, err := r.run(ctx, "", "pr", "view", strconv.Itoa(number), "--json", fields)
	if err != nil {
		return nil, err
	}
	pr := &PullRequest{}
	if err := json.Unmarshal([]byte(out), pr); err != nil || pr.State == "" {
		return nil, fmt.Errorf("gh pr view says %.200q", out)
	}
	return pr, nil
}

// Create opens a pull request for a branch that has been pushed.
func (r Repo) Create(ctx context.Context, head, base, title, body string) error {
	_, err := r.run(ctx, body, "pr", "create", "--head", head, "--base", base, "--title", title,
		"--body-file", "-")
	return err
}

// Edit changes a pull request's title and text.
func (r Repo) Edit(ctx context.Context, number int, title, body string) error {
	_, err := r.run(ctx, body, "pr", "edit", strconv.Itoa(number), "--title", title,
		"--body-file", "-")
	return err
}

const limit = time.Minute

// loginCode is gh's exit code when it needs a login.
const loginCode = 4

func (r Repo) run(parent context.Context, input string, args ...string) (string, error) {
	program, err := paths.Program("gh", "")
	if err != nil {
		return "", ErrMissing
	}
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = r.Dir, strings.NewReader(input)
	cmd.Env = append(slices.Clip(r.Environ), "PWD="+r.Dir,
		"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GH_PAGER=cat", "NO_COLOR=1",
		"CLICOLOR_FORCE=")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for gl
	var out, words strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &words
	err = cmd.Run()
	verb := "gh " + strings.Join(args[:2], " ")
	said, _, _ := strings.Cut(strings.TrimSpace(words.String()), "\n")
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return out.String(), nil
	case parent.Err() != nil:
		return "", fmt.Errorf("%s: %w", verb, parent.Err())
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: no answer for %s", verb, limit)
	case errors.As(err, &exit) && exit.ExitCode() == loginCode,
		strings.Contains(words.String(), "gh auth login"):
		return "", ErrLogin
	case said != "":
		return "", fmt.Errorf("%s: %s", verb, said)
	}
	return "", fmt.Errorf("%s: %w", verb, err)
}
