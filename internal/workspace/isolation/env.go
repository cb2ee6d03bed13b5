// Package isolation builds the environment of an agent that works in its own worktree: it
// separates what parallel agents must not share, and keeps git from cleaning up under them. It
// starts nothing and reads nothing but its input; only MakeTemp creates a directory.
package isolation

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/environ"
)

// A Worktree is what the environment depends on.
type Worktree struct {
	Root    string // the project's root
	Project string // the project's name for people
	System  string // the system of the slice; "" for the project's only one
	Slice   string // its id
	// number of the lineage: its services and their data belong to one line of work
	N        int
	Ports    int      // the first of ten; 0 for none
	Confined bool     // in a sandbox, where git can't write what all worktrees share
	Temp     string   // directory for temporary files; "" for the shared one
	Known    Identity // the committer from git's configuration, as far as set
	Fallback Identity // the committer if git has none
}

// An Identity is a committer.
type Identity struct{ Name, Email string }

// Env returns the environment for the agent and for setup, based on that of an agent without a
// worktree.
func (w Worktree) Env(env []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return leads(key)
	})
	set := func(key, value string) {
		out = slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
		out = append(out, key+"="+value)
	}
	set("COMPOSE_PROJECT_NAME", w.Compose())
	if w.Ports > 0 {
		set("GL_PORT_BASE", strconv.Itoa(w.Ports))
	}
	if w.Temp != "" {
		set("TMPDIR", w.Temp)
		for _, key := range []string{"TMP", "TEMP"} { // some programs prefer these
			if _, given := environ.Environ(env).Lookup(key); given {
				set(key, w.Temp)
			}
		}
	}
	settings := agentConfig()
	if w.Confined {
		settings = append(settings, [2]string{"rerere.enabled", "false"})
	}
	return withConfig(w.withIdentity(out), settings)
}

// leads reports whether the variable would lead git to another repository: a gl called from a
// git hook inherits them all.
func leads(key string) bool {
	switch key {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR",
		"GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CEILING_DIRECTORIES",
		"GIT_DISCOVERY_ACROSS_FILESYSTEM":
		return true
	}
	return false
}

// withIdentity sets the committer where nothing else does: without a name, git commit fails.
func (w Worktree) withIdentity(env []string) []string {
	e := environ.Environ(env)
	for _, v := range []struct {
		key, known, fallback string
		others               []string // other variables from which git takes it
	}{
		{"NAME", w.Known.Name, w.Fallback.Name, nil},
		{"EMAIL", w.Known.Email, w.Fallback.Email, []string{"EMAIL"}},
	} {
		if v.known != "" || v.fallback == "" ||
			slices.ContainsFunc(v.others, func(key string) bool { return e.Get(key) != "" }) {
			continue
		}
		for _, who := range []string{"GIT_AUTHOR_", "GIT_COMMITTER_"} {
			if e.Get(who+v.key) == "" {
				env = append(env, who+v.key+"="+v.fallback)
			}
		}
	}
	return env
}

// agentConfig returns git's configuration for agents. What they discard (an amended commit, a
// dropped stash) is on no branch until gl has saved it, and a git gc, which git starts by
// itself, would remove it.
func agentConfig() [][2]string {
	return [][2]string{
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"gc.reflogExpire", "never"},
		{"gc.reflogExpireUnreachable", "never"},
		{"gc.pruneExpire", "never"},
		{"gc.worktreePruneExpire", "never"},
	}
}

// withConfig adds settings to those that the environment already passes to git.
func withConfig(env []string, settings [][2]string) []string {
	const count = "GIT_CONFIG_COUNT"
	n, err := strconv.Atoi(environ.Environ(env).Get(count))
	if err != nil || n < 0 {
		n = 0
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return key == count || beyond(key, n)
	})
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n+i, s[0]),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n+i, s[1]))
	}
	return append(env, fmt.Sprintf("%s=%d", count, n+len(settings)))
}

// beyond reports whether a variable is a git setting that isn't active yet.
func beyond(key string, n int) bool {
	for _, prefix := range []string{"GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"} {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			i, err := strconv.Atoi(rest)
			return err == nil && i >= n
		}
	}
	return false
}

// maxCompose keeps the names of containers, which are longer, below the 63 characters of a host
// name.
const maxCompose = 40

// Compose returns the name under which docker compose runs the worktree's services:
// PROJECT-SLICE-HASH, in the characters it allows. The hash distinguishes what would look the
// same: a-b of c and b-c of a, S.1 and S-1, two projects called shop.
func (w Worktree) Compose() string {
	name := strings.Trim(plain(w.Project), "-_") + "-" + strings.Trim(plain(w.Slice), "-_")
	name = strings.Trim(name, "-_")
	if len(name) > maxCompose {
		name = strings.Trim(name[:maxCompose], "-_")
	}
	if name == "" {
		name = "gl"
	}
	return name + "-" + w.key()
}

// key returns eight characters that identify this lineage.
func (w Worktree) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", w.Root, w.System, w.Slice, w.N))
	return hex.EncodeToString(sum[:4])
}

// plain keeps letters and digits, in lower case, and replaces every other run of characters by
// a dash.
func plain(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return b.String()
}
