// Package git runs git; no other package does. Mostly it reads. It changes clones that it made
// (clone.go) and, in a person's repository, linked worktrees (worktree.go, integrate.go), refs
// (refs.go) and the objects of snapshots and merges (snapshot.go, tree.go). A person's checkout,
// including its index, is changed only by a delivery (deliver.go, missed.go) and by a commit of
// state files (state.go). Every call has a deadline. The package doesn't know slices. For a
// directory in no repository the error is ErrNone.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"greenlight/internal/base/paths"
)

// deadline limits one call: git status in a huge checkout on a cold disk takes some seconds.
const deadline = 10 * time.Second

var (
	// ErrNone: the directory is in no repository.
	ErrNone = errors.New("no git repository")
	// ErrMissing: there is no git on PATH.
	ErrMissing = errors.New("git is not on PATH")
)

// InstallHint tells users how to get git.
const InstallHint = "install it (apt install git, brew install git)"

// versions are the versions that programs have reported, by their paths.
var versions sync.Map

// Version returns git's version: "2.39.5". It runs git once.
func Version(ctx context.Context) (string, error) {
	program, _ := paths.Program("git", "") // where there is none, the run says so
	if v, ok := versions.Load(program); ok {
		return v.(string), ctx.Err()
	}
	out, err := run(ctx, "", "version")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(out)
	if len(fields) < 3 {
		return "", fmt.Errorf("git version says %q", strings.TrimSpace(out))
	}
	versions.Store(program, fields[2])
	return fields[2], nil
}

func hasGit() bool {
	_, err := paths.Program("git", "")
	return err == nil
}

// Root returns the top directory of the checkout that dir is in, with symlinks resolved.
func Root(ctx context.Context, dir string) (string, error) {
	if at, known, err := findByFiles(ctx, dir); known {
		return at.Top, err
	}
	out, err := run(ctx, dir, "rev-parse", "--show-toplevel")
	return strings.TrimSuffix(out, "\n"), err
}

// Dirty lists what is changed or untracked in the checkout that dir is in, as `git status
// --porcelain` writes it: two letters, a space, and the path from the checkout's top. skip is a
// path below dir that is left out, "" for none.
func Dirty(ctx context.Context, dir, skip string) ([]string, error) {
	args := []string{"--untracked-files=normal", "--", ":/"}
	if skip != "" {
		args = append(args, ":(exclude,literal)"+skip)
	}
	out, err := status(ctx, dir, args...)
	if err != nil {
		return nil, err
	}
	return readStatus(out), nil
}

// readStatus splits the NUL-separated entries; a rename has the old path in an entry of its own.
func readStatus(out string) []string {
	var list []string
	entries := strings.Split(out, "\x00")
	for i := 0; i < len(entries); i++ {
		e := entries[i]
		if len(e) < 4 {
			continue
		}
		if (e[0] == 'R' || e[0] == 'C') && i+1 < len(entries) {
			i++
			e += " <- " + entries[i]
		}
		list = append(list, e)
	}
	return list
}

// Tracked lists the files under the paths, relative to dir, that git tracks.
func Tracked(ctx context.Context, dir string, paths ...string) ([]string, error) {
	if hasGit() && nowhere(dir) {
		return nil, ErrNone
	}
	out, err := run(ctx, dir, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"},
		paths...)...)
	if err != nil {
		return nil, err
	}
	return split(out), nil
}

// Unignored returns the paths, relative to dir, that git wouldn't ignore if they existed.
func Unignored(ctx context.Context, dir string, paths ...string) ([]string, error) {
	if hasGit() && nowhere(dir) {
		return nil, ErrNone
	}
	out, err := runInput(ctx, dir, ignoreInput(paths), "check-ignore", "--no-index", "-z", "--stdin")
	var exit *exec.ExitError
	// It exits with 1 if none of them is ignored.
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, err
	}
	ignored := map[string]bool{}
	for _, p := range ignoreOutput(out) {
		ignored[p] = true
	}
	var left []string
	for _, p := range paths {
		if !ignored[p] {
			left = append(left, p)
		}
	}
	return left, nil
}

// ignoreInput and ignoreOutput are what git check-ignore -z --stdin reads and prints. It takes a
// path that begins with a colon for pathspec magic, and doesn't know --literal-pathspecs.
func ignoreInput(paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		b.WriteString("./" + p + "\x00")
	}
	return b.String()
}

func ignoreOutput(out string) []string {
	list := split(out)
	for i, p := range list {
		list[i] = strings.TrimPrefix(p, "./")
	}
	return list
}

// Attribute returns the value of an attribute of a path relative to dir: "ours", "set",
// "unspecified".
func Attribute(ctx context.Context, dir, name, path string) (string, error) {
	out, err := run(ctx, dir, "check-attr", "-z", name, "--", path)
	if err != nil {
		return "", err
	}
	fields := split(out)
	if len(fields) < 3 {
		return "", fmt.Errorf("git check-attr says %q", out)
	}
	return fields[2], nil
}

// Config returns the value of a setting as git sees it in dir, "" if it isn't set.
func Config(ctx context.Context, dir, key string) (string, error) {
	return quiet(ctx, dir, "config", "--get", key)
}

// quiet returns what git prints, "" if it exits with 1 to say that there is no answer.
func quiet(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := run(ctx, dir, args...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return "", nil
	}
	return strings.TrimSuffix(out, "\n"), err
}

func split(out string) []string {
	out = strings.TrimSuffix(out, "\x00")
	if out == "" {
		return nil
	}
	return strings.Split(out, "\x00")
}

func run(ctx context.Context, dir string, args ...string) (string, error) {
	return runInput(ctx, dir, "", args...)
}

// runInput runs git in dir and returns its output, also with an error.
func runInput(ctx context.Context, dir, input string, args ...string) (string, error) {
	return runFor(ctx, deadline, dir, input, args...)
}

func runFor(parent context.Context, limit time.Duration, dir, input string,
	args ...string) (string, error) {
	out, _, err := call{dir: dir, limit: limit, stdin: strings.NewReader(input)}.run(parent,
		args...)
	return out, err
}

// A call is one run of git.
type call struct {
	dir   string
	limit time.Duration
	env   []string // beside the environment
	stdin io.Reader

	stdout io.Writer // gets what it prints, which run doesn't return then

	// more returns how long the call may take in all. It is called when the limit is over: finding
	// that out may cost more than the call. nil for no longer.
	more func(ctx context.Context) time.Duration
}

// run returns what git printed to each of its outputs, also with an error.
func (c call) run(parent context.Context, args ...string) (out, errOut string, err error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	defer time.AfterFunc(c.limit, func() { c.expire(ctx, cancel) }).Stop()
	cmd, err := command(ctx, c.dir, args...)
	if err != nil {
		return "", "", noAnswer{err}
	}
	cmd.Stdin, cmd.Env = c.stdin, append(cmd.Env, c.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	stuck, ended := make(chan *StuckError, 1), make(chan struct{})
	go func() { stuck <- watch(ended, cancel, c.dir, args) }()
	err = cmd.Run()
	close(ended)
	if err == nil {
		return stdout.String(), stderr.String(), nil
	}
	if at := <-stuck; at != nil && parent.Err() == nil {
		return "", "", noAnswer{fmt.Errorf("git %s: %w", verbOf(args), at)}
	}
	verb := verbOf(args)
	words := strings.TrimSpace(stderr.String())
	switch {
	case parent.Err() != nil:
		return "", "", noAnswer{fmt.Errorf("git %s: %w", verb, parent.Err())}
	case ctx.Err() != nil:
		return "", "", noAnswer{fmt.Errorf("git %s: no answer in time", verb)}
	case strings.Contains(words, "not a git repository"),
		strings.Contains(words, "can only be used inside a git repository"):
		return "", words, ErrNone
	}
	return stdout.String(), words, failed(ctx, verb, words, err)
}

// expire ends a call whose limit is over, at once or when more time has passed.
func (c call) expire(ctx context.Context, end func()) {
	if c.more != nil {
		select {
		case <-time.After(c.more(ctx) - c.limit):
		case <-ctx.Done():
			return
		}
	}
	end()
}

// noAnswer is the error of a git that was killed, didn't end in time or couldn't be started. It
// tells nothing about the repository.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() error { return e.error }

// killed is the error of a git that was ended by a signal from another process.
type killed struct{ error }

func (e killed) Unwrap() error { return e.error }

// WasKilled reports whether another process killed git, perhaps for lack of memory. The same call
// may succeed.
func WasKilled(err error) bool { return errors.As(err, new(killed)) }

// unanswered returns the error if it is a noAnswer, else nil.
func unanswered(err error) error {
	if errors.As(err, new(noAnswer)) {
		return err
	}
	return nil
}

// failed returns an error that names the git command, with the first line of its message.
func failed(ctx context.Context, verb, words string, err error) error {
	if ctx.Err() != nil {
		return noAnswer{fmt.Errorf("git %s: %w", verb, ctx.Err())}
	}
	if exitCode(err) < 0 {
		err = fmt.Errorf("git %s: %w", verb, err)
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = killed{err}
		}
		return noAnswer{err}
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(words), "\n"); first != "" {
		err = fmt.Errorf("%s: %w", first, err)
	}
	return fmt.Errorf("git %s: %w", verb, err)
}

// command returns a git that runs in dir, and starts no program that the repository names.
func command(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	program, err := paths.Program("git", "")
	if err != nil {
		return nil, ErrMissing
	}
	cmd := exec.CommandContext(ctx, program,
		slices.Concat([]string{"--no-pager"}, settings(overrides()...), args)...)
	cmd.Dir = dir
	cmd.Env = environ(os.Environ(), dir)
	cmd.ExtraFiles, _ = ctx.Value(inherited{}).([]*os.File)
	endGently(cmd, verbOf(args))
	// C-c and a terminal that goes away are for gl, which ends its git or lets it finish.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// Locking refs takes milliseconds, so git isn't interrupted before it has had a long time.
const (
	refGrace  = 20 * time.Second
	killGrace = 5 * time.Second // from SIGTERM to SIGKILL
)

// endGently determines how git ends once its context is over. A killed git leaves its locks behind.
// On SIGTERM it removes them, except for one that it has created and not recorded yet. So a git
// that changes refs is left to finish.
func endGently(cmd *exec.Cmd, verb string) {
	end := func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	switch {
	case changesRefs[verb]:
		cmd.Cancel = func() error {
			time.AfterFunc(refGrace, func() { _ = end() })
			return nil
		}
		cmd.WaitDelay = refGrace + killGrace
	// This includes commands that only read: on a loaded machine, reading the rest of their output
	// takes a while.
	default:
		cmd.Cancel, cmd.WaitDelay = end, killGrace
	}
}

// changesRefs are the subcommands that lock refs or packed-refs, and take little time.
var changesRefs = map[string]bool{
	"update-ref": true, "pack-refs": true, "branch": true, "tag": true, "symbolic-ref": true,
	"config": true,
}

// Inherit returns a context under which every git inherits the files: locks, which it then holds as
// long as it runs, even if its caller is killed.
func Inherit(ctx context.Context, files ...*os.File) context.Context {
	have, _ := ctx.Value(inherited{}).([]*os.File)
	return context.WithValue(ctx, inherited{}, slices.Concat(have, files))
}

// inherited is the key of Inherit in a context.
type inherited struct{}

// verbOf returns the first of git's arguments that isn't a global option.
func verbOf(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// environ returns the caller's environment without variables that redirect git (a hook that calls
// gl has GIT_DIR set) or configure it. It sets git's messages to English, and switches off optional
// locks, with which a status breaks an agent's commit, questions on the terminal, and fetching of
// missing objects, including git-lfs's, which starts what the repository names as its remote.
func environ(env []string, dir string) []string {
	out := make([]string, 0, len(env)+8)
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if slices.Contains(leading, key) || strings.HasPrefix(key, "GIT_CONFIG_KEY_") ||
			strings.HasPrefix(key, "GIT_CONFIG_VALUE_") {
			continue
		}
		out = append(out, kv)
	}
	if abs, err := filepath.Abs(dir); err == nil && dir != "" {
		out = append(out, "PWD="+abs)
	}
	return append(out, "GIT_NO_LAZY_FETCH=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// leading are the variables that redirect git or change how it reads its arguments: git's own list
// (rev-parse --local-env-vars) and some more.
var leading = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ATTR_SOURCE", "GIT_CEILING_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_DIR",
	"GIT_EXTERNAL_DIFF", "GIT_GLOB_PATHSPECS", "GIT_GRAFT_FILE", "GIT_ICASE_PATHSPECS",
	"GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_INDEX_VERSION", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_LITERAL_PATHSPECS", "GIT_NAMESPACE", "GIT_NOGLOB_PATHSPECS", "GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE",
	"GIT_SHALLOW_FILE", "GIT_TRACE", "GIT_WORK_TREE",
}
