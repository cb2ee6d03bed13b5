// Package sandbox builds command lines for bubblewrap: a program sees the whole file system
// read-only, without the secrets in HOME and the sockets of services, and can write only what
// it is given. A Spec defines that, Plan is pure except for its queries to a Probe, and Prepare
// creates what must exist before the program starts.
package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"greenlight/internal/base/environ"
	"greenlight/internal/base/paths"
)

// Program is bubblewrap's program.
const Program = "bwrap"

// A Spec defines what a program is given. Paths are absolute. Missing ones are omitted unless
// noted.
type Spec struct {
	Env    environ.Environ // of the program; includes HOME
	Dir    string          // working directory
	Read   []string        // must be readable even in a directory that is replaced, like /tmp
	Write  []string
	Fixed  []string // read-only although a parent is in Write
	Empty  []string // empty directories into which nothing can be put; Prepare creates them
	Copies []Copy
	Caches string // directory for caches that replace those in HOME
}

// A Copy replaces a file by a copy that may be changed.
type Copy struct{ Path, Source string }

// A Kind is what exists at a path, after following symbolic links.
type Kind int

// The kinds of files.
const (
	None Kind = iota
	Dir
	File // anything else
)

// A Probe returns the real path and the kind of what exists at path.
type Probe func(path string) (real string, kind Kind)

// A Plan is a sandbox ready to be created.
type Plan struct {
	Args []string // bubblewrap's arguments before the program
	Env  []string // of the program
	Make []string // directories that must exist before
}

// access is what a mount allows, weaker first: of two at one place, the later value wins.
type access int

const (
	hidden   access = iota // an empty directory, or an empty file
	replaced               // an empty directory that accepts files
	private                // another directory
	readable
	writable
)

type mount struct {
	path   string
	access access
	kind   Kind
	source string // for private
}

// ErrHome is returned if the location of the secrets is unknown.
var ErrHome = errors.New("HOME isn't an absolute path, so its secrets can't be hidden")

// emptied are directories that appear empty to the program. The sockets in them belong to
// services that act for the user outside the sandbox (tmux, ssh-agent, docker, systemd --user),
// and they contain other programs' files.
var emptied = []struct {
	path   string
	access access
}{
	{"/tmp", replaced}, {"/var/tmp", replaced}, {"/run", hidden}, {"/var/run", hidden},
}

// inRun is the part of /run that is needed: host name resolution, and systems that store their
// programs there.
var inRun = []string{
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman", "/run/nscd",
	"/run/current-system", "/run/booted-system", "/run/opengl-driver",
}

// sockets are variables that name a socket, or a directory of sockets.
var sockets = []string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "TMUX",
	"TMUX_PANE", "TMUX_TMPDIR", "GPG_AGENT_INFO", "WAYLAND_DISPLAY", "XAUTHORITY"}

// New plans the sandbox.
func New(s Spec, probe Probe) (*Plan, error) {
	home := s.Env.Get("HOME")
	if !filepath.IsAbs(home) {
		return nil, ErrHome
	}
	b := &builder{probe: probe, mounts: map[string]mount{}}
	for _, e := range emptied {
		b.add(e.path, e.access)
	}
	for _, path := range inRun {
		b.add(path, readable)
	}
	realHome, _ := probe(home)
	dir, kind := probe(s.Dir)
	if kind != Dir {
		return nil, fmt.Errorf("%s isn't a directory", s.Dir)
	}
	env := slices.Clone([]string(s.Env))
	for _, name := range sockets {
		value := s.Env.Get(name)
		if name == "TMUX_TMPDIR" && value != "" {
			value = filepath.Join(value, "tmux-"+strconv.Itoa(os.Geteuid()))
		}
		b.hideSocket(value, realHome, dir)
		env = unset(env, name)
	}
	for _, path := range secretPaths(home, s.Env) {
		b.add(path, hidden)
	}
	env = b.addCaches(home, s, env)
	for _, path := range s.Write {
		b.add(path, writable)
	}
	for _, path := range s.Fixed {
		b.fix(path)
	}
	for _, path := range s.Empty {
		b.make = append(b.make, path)
		if real, kind := probe(filepath.Dir(path)); kind == Dir {
			b.mounts[filepath.Join(real, filepath.Base(path))] = mount{path: filepath.Join(real,
				filepath.Base(path)), access: hidden, kind: Dir}
		}
	}
	for _, c := range s.Copies {
		if real, kind := probe(c.Path); kind == File {
			b.put(mount{path: real, access: private, kind: File, source: c.Source})
		}
	}
	reads := append(slices.Clone(s.Read), home, s.Dir)
	for _, dir := range filepath.SplitList(s.Env.Get("PATH")) {
		if filepath.IsAbs(dir) {
			reads = append(reads, dir)
		}
	}
	b.uncover(reads)
	return &Plan{Args: b.args(dir), Env: env, Make: b.make}, nil
}

// A builder collects mounts.
type builder struct {
	probe  Probe
	mounts map[string]mount
	make   []string
}

func (b *builder) add(path string, a access) {
	if real, kind := b.probe(path); kind != None {
		b.put(mount{path: real, access: a, kind: kind})
	}
}

// put keeps the stronger of two mounts at one place.
func (b *builder) put(m mount) {
	if m.path == "/" { // already mounted, read-only
		return
	}
	if old, ok := b.mounts[m.path]; !ok || old.access <= m.access {
		b.mounts[m.path] = m
	}
}

// fix makes a path below a writable directory read-only. A missing path can't be mounted.
func (b *builder) fix(path string) {
	if real, kind := b.probe(path); kind != None {
		b.mounts[real] = mount{path: real, access: readable, kind: kind}
	}
}

// hideSocket hides what a variable names, unless it isn't a path, or contains what the program
// needs.
func (b *builder) hideSocket(value string, needed ...string) {
	path, _, _ := strings.Cut(value, ",") // TMUX has more after the path
	if !filepath.IsAbs(path) {
		return
	}
	real, kind := b.probe(path)
	holds := func(name string) bool { _, below := paths.Below(real, name); return below }
	if kind == None || slices.ContainsFunc(needed, holds) {
		return
	}
	if over, ok := b.over(real); !ok || over.access >= private {
		b.put(mount{path: real, access: hidden, kind: kind})
	}
}

// addCaches mounts the sandbox's own caches over those in HOME. A cache missing from HOME can't
// be created there, so a variable redirects programs to a place in the first one, which always
// exists. It returns the environment.
func (b *builder) addCaches(home string, s Spec, env []string) []string {
	if s.Caches == "" {
		return env
	}
	common := ""
	for _, c := range caches {
		path := s.Env.Get(c.variable)
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, c.path)
		}
		name := strings.ReplaceAll(strings.TrimPrefix(c.path, "."), "/", "-")
		real, kind := b.probe(path)
		switch {
		case kind == Dir:
			source := filepath.Join(s.Caches, name)
			b.make = append(b.make, source)
			b.put(mount{path: real, access: private, kind: Dir, source: source})
			if common == "" {
				common = real
			}
		case c.variable != "" && common != "":
			env = append(unset(env, c.variable), c.variable+"="+filepath.Join(common, name))
		}
	}
	return env
}

// over returns the innermost mount at or above a path.
func (b *builder) over(path string) (mount, bool) {
	for dir := path; ; dir = filepath.Dir(dir) {
		if m, ok := b.mounts[dir]; ok {
			return m, true
		}
		if dir == filepath.Dir(dir) {
			return mount{}, false
		}
	}
}

// uncover makes paths readable that the mounts above them would hide.
func (b *builder) uncover(list []string) {
	type place struct {
		path string
		kind Kind
	}
	var places []place
	for _, path := range list {
		if real, kind := b.probe(path); kind != None {
			places = append(places, place{real, kind})
		}
	}
	slices.SortFunc(places, func(x, y place) int { return strings.Compare(x.path, y.path) })
	for _, p := range places {
		if m, ok := b.over(p.path); ok && m.access <= private && m.path != p.path {
			b.put(mount{path: p.path, access: readable, kind: p.kind})
		}
	}
}

// args returns bubblewrap's arguments. Outer mounts come first, so that the innermost wins.
//
// There is no PID namespace: gl identifies an agent by its pid, and gl inside asks for pids
// outside. The sandbox also doesn't die with gl: if an agent's wrapper was killed, the next gl
// ends the agent and settles its attempt. The user namespace prevents tracing processes
// outside, and reading their memory and environment.
func (b *builder) args(dir string) []string {
	args := []string{"--unshare-user", "--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/",
		"--dev", "/dev", "--proc", "/proc"}
	// Root owns the kernel's settings, even without capabilities: core_pattern names a program
	// that the kernel runs.
	for _, dir := range []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus",
		"/proc/fs"} {
		args = append(args, "--ro-bind-try", dir, dir)
	}
	var last []string
	var all []mount
	for _, m := range b.mounts {
		all = append(all, m)
	}
	slices.SortFunc(all, func(x, y mount) int { return cmp.Compare(x.path, y.path) })
	for _, m := range all {
		switch {
		case m.access == hidden && b.isHidden(filepath.Dir(m.path)):
		case m.access == hidden && m.kind == Dir:
			args = append(args, "--tmpfs", m.path)
			last = append(last, "--remount-ro", m.path)
		case m.access == hidden:
			args = append(args, "--dev-bind", "/dev/null", m.path)
		case m.access == replaced:
			args = append(args, "--tmpfs", m.path)
		case m.access == private:
			args = append(args, "--bind", m.source, m.path)
		case m.access == readable:
			args = append(args, "--ro-bind-try", m.path, m.path)
		case m.access == writable:
			args = append(args, "--bind-try", m.path, m.path)
		}
	}
	return append(append(args, last...), "--chdir", dir)
}

// isHidden reports whether a path is hidden anyway.
func (b *builder) isHidden(path string) bool {
	m, ok := b.over(path)
	return ok && m.access == hidden
}

// Command returns the command line that runs a program in the sandbox, after the path of
// bubblewrap; argv[0] is a path.
func (p *Plan) Command(argv []string) []string {
	return slices.Concat([]string{Program}, p.Args, []string{"--"}, argv)
}

func unset(env []string, name string) []string {
	return slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// CacheDir returns the directory for the caches of the project at root.
func CacheDir(env environ.Environ, root string) string {
	base := env.Get("XDG_CACHE_HOME")
	if !filepath.IsAbs(base) {
		base = filepath.Join(env.Get("HOME"), ".cache")
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(base, "greenlight", "sandbox", hex.EncodeToString(sum[:8]))
}
