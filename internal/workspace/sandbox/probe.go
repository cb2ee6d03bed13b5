package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/paths"
)

// Look is the Probe of this machine.
func Look(path string) (string, Kind) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", None
	}
	switch info, err := os.Stat(real); {
	case err != nil:
		return "", None
	case info.IsDir():
		return real, Dir
	}
	return real, File
}

// Prepare creates the directories that the sandbox needs.
func (p *Plan) Prepare() error {
	for _, dir := range p.Make {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return nil
}

// Unavailable explains why no sandbox is possible here, and what to do about it.
type Unavailable struct{ Reason, Help string }

func (e *Unavailable) Error() string { return e.Reason + ": " + e.Help }

// trialLimit is generous: a trial takes a few milliseconds.
const trialLimit = 30 * time.Second

// Find returns the path of bubblewrap. The error is an *Unavailable.
func Find() (string, error) {
	path, err := paths.Program(Program, "/")
	if err == nil {
		return path, nil
	}
	if runtime.GOOS != "linux" {
		return "", &Unavailable{"the sandbox needs bubblewrap, which needs Linux",
			"use Linux, there or in a virtual machine"}
	}
	return "", &Unavailable{"bwrap, the sandbox's program, is not on PATH",
		"install it (apt install bubblewrap)"}
}

// Check tries bubblewrap out. The error is an *Unavailable.
func Check(ctx context.Context) error {
	path, err := Find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	plan := (&builder{}).args("/")
	out, err := exec.CommandContext(ctx, path, append(plan, "--", "true")...).CombinedOutput()
	if err == nil {
		return nil
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	return &Unavailable{"bwrap doesn't work here: " + said, restriction(os.ReadFile)}
}

// restriction returns which of the system's settings may prevent bubblewrap from working.
func restriction(read func(string) ([]byte, error)) string {
	is := func(name, value string) bool {
		data, err := read("/proc/sys/" + name)
		return err == nil && strings.TrimSpace(string(data)) == value
	}
	switch {
	case is("kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "AppArmor keeps programs from making user namespaces (Ubuntu 24.04 does): " +
			"give bwrap a profile that allows userns (apt install apparmor-profiles)"
	case is("kernel/unprivileged_userns_clone", "0"):
		return "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1"
	case is("user/max_user_namespaces", "0"):
		return "user namespaces are switched off: sysctl user.max_user_namespaces=10000"
	}
	return "in a container, let it make user namespaces (docker run --security-opt seccomp=unconfined)"
}

// MakeCaches creates the directory for the caches of the project at root, and returns its real
// path.
func MakeCaches(env environ.Environ, root string) (string, error) {
	dir := CacheDir(env, root)
	if !filepath.IsAbs(dir) {
		return "", ErrHome
	}
	if err := os.MkdirAll(filepath.Join(dir, "copies"), 0o700); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// MakePlaces creates those of a directory's files and, with a trailing slash, directories that
// are missing. They are empty. An existing path can be made read-only in a sandbox, while a
// missing one could be created there.
func MakePlaces(dir string, names []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if paths.Exists(path) {
			continue
		}
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".json") {
			_, err = f.WriteString("{}\n")
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// CopyFile copies a person's file for a Copy, and reports whether it exists.
func CopyFile(from, to string) (bool, error) {
	data, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		return false, fmt.Errorf("copy %s for the sandbox: %w", from, err)
	}
	return true, nil
}
