package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A push moves the remote's branch forward, and back only from where it is said to be. Hooks don't
// run, and what the remote refuses is said in its words. Nothing but the ways that git itself takes
// for safe leads anywhere.
func TestPush(t *testing.T) {
	t.Parallel()
	b := worktree(t, map[string]string{"f": "1"})
	ctx, common, first := t.Context(), b.w.Common, b.head()
	remote := filepath.Join(t.TempDir(), "up.git")
	b.in(b.main, "init", "-q", "--bare", remote)
	if name, err := RemoteOf(ctx, common, "refs/heads/main"); name != "" || err != nil {
		t.Errorf("the remote of none is %q, %v", name, err)
	}
	b.in(b.main, "remote", "add", "up", remote)
	if name, err := RemoteOf(ctx, common, "refs/heads/main"); name != "up" || err != nil {
		t.Errorf("the only remote isn't %q, %v", name, err)
	}
	hook := filepath.Join(common, "hooks", "pre-push")
	if err := os.MkdirAll(filepath.Dir(hook), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func() string { return b.in(remote, "rev-parse", "refs/heads/x") }
	const branch = "refs/heads/x"
	second := b.land(first, "two")
	b.in(b.main, "update-ref", branch, second)
	if err := Push(ctx, common, "up", branch, ""); err != nil || at() != second {
		t.Fatalf("%v", err)
	}
	b.in(b.main, "update-ref", branch, first)
	rejected := new(RejectedError)
	if err := Push(ctx, common, "up", branch, ""); !errors.As(err, &rejected) || !rejected.Behind ||
		at() != second {
		t.Errorf("backwards: %v", err)
	}
	if err := Push(ctx, common, "up", branch, first); !errors.As(err, &rejected) ||
		!rejected.Behind || at() != second {
		t.Errorf("with another lease: %v", err)
	}
	if err := Push(ctx, common, "up", branch, second); err != nil || at() != first {
		t.Errorf("with the lease: %v", err)
	}
	update := filepath.Join(remote, "hooks", "update")
	if err := os.MkdirAll(filepath.Dir(update), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(update,
		[]byte("#!/bin/sh\necho 'error: GH006: protected' >&2\necho more >&2\nexit 1\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	b.in(b.main, "update-ref", branch, second)
	if err := Push(ctx, common, "up", branch, ""); !errors.As(err, &rejected) || rejected.Behind ||
		rejected.Reason != "error: GH006: protected" {
		t.Errorf("refused: %v", err)
	}
	mark := filepath.Join(t.TempDir(), "ran")
	b.in(b.main, "remote", "set-url", "up", "ext::sh -c 'touch "+mark+"'")
	if err := Push(ctx, common, "up", branch, ""); err == nil ||
		!strings.Contains(err.Error(), "not allowed") {
		t.Errorf("ext: %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the URL was run")
	}
	b.in(b.main, "remote", "set-url", "up", "https://me:secret@example.test/x")
	b.in(b.main, "config", "core.sshCommand", "evil")
	list, err := PushSettings(ctx, b.main)
	if want := []Setting{{"core.sshcommand", "evil"},
		{"remote.up.url", "https://…@example.test/x"}}; err != nil || len(list) != 2 ||
		list[0] != want[0] || list[1] != want[1] {
		t.Errorf("settings %q, %v", list, err)
	}
}
