package network

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/cli"
	"greenlight/internal/core/remote"
	"greenlight/internal/run/hands"
	"greenlight/internal/run/hub"
	"greenlight/internal/run/roster"
)

// work joins, if that is still to be done, connects, and works.
func work(ctx context.Context, o cli.WorkOptions) error {
	name, err := nameOf(o.Name)
	if err != nil {
		return err
	}
	if o.Name == "" && o.Token == "" {
		name = sameWorker(o.State, name)
	}
	dir, err := membership(ctx, o, name)
	if err != nil {
		return err
	}
	joined, err := hub.ReadJoined(dir)
	if err != nil {
		return err
	}
	plugin, err := o.Plugin(filepath.Join(dir, "plugin"))
	if err != nil {
		return err
	}
	h, err := hub.Connect(joined)
	if err != nil {
		return err
	}
	defer h.Close()
	policy := remote.DefaultPolicy
	policy.Disk = o.Disk
	o.Print("worker " + name + " works for " + strings.Join(joined.Addresses, ", "))
	return hands.Work(ctx, hands.Options{
		Dir: dir, Self: o.GL, Release: o.Release, Environ: o.Environ, Plugin: plugin,
		Slots: o.Slots, Agents: o.Agents, Labels: o.Labels, Include: o.Include,
		Policy: policy, Hub: h, Print: o.Print, Stop: o.Stop,
	})
}

// nameOf returns the worker's name: as it was given, or made of the host's.
func nameOf(given string) (string, error) {
	if given != "" {
		return given, remote.CheckWorker(given)
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host), "-")
	if err := remote.CheckWorker(name); err != nil {
		return "", fmt.Errorf("the host's name %q can't be a worker's: use --name", host)
	}
	return name, nil
}

// membership returns the directory of the worker of that name, which has joined: HASH/NAME, by the
// hash of what pins its coordinator's certificate.
func membership(ctx context.Context, o cli.WorkOptions, name string) (string, error) {
	if o.Token == "" {
		return known(o.State, name)
	}
	t, err := roster.ParseToken(o.Token)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(t.Pin))
	dir := filepath.Join(o.State, hex.EncodeToString(sum[:8]), name)
	_, err = hub.ReadJoined(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err // the token was used by an earlier start
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, hub.Join(ctx, dir, t, name)
}

// sameWorker returns the worker's name where the host has another one since it joined, as laptops
// do in another network, and containers always.
func sameWorker(state, name string) string {
	dirs, err := filepath.Glob(filepath.Join(paths.EscapeGlob(state), "*", "*", "worker.key.json"))
	if err != nil || len(dirs) != 1 {
		return name
	}
	return filepath.Base(filepath.Dir(dirs[0]))
}

// known finds the only worker of that name that has joined.
func known(state, name string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(paths.EscapeGlob(state), "*", name))
	if err != nil {
		return "", err
	}
	var joined []string
	for _, dir := range dirs {
		if _, err := hub.ReadJoined(dir); err == nil {
			joined = append(joined, dir)
		}
	}
	switch len(joined) {
	case 0:
		return "", errors.New("this worker hasn't joined a project: get a join token with gl workers invite on the coordinator's machine, and give it with --token-file")
	case 1:
		return joined[0], nil
	}
	return "", fmt.Errorf("the worker %s has joined %d projects: say which by --token-file with a token of its coordinator, used or not",
		name, len(joined))
}
