package gsd

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/paths"
)

// A Place is the location of a project's GSD state.
type Place struct {
	Root     string // the directory that contains .planning
	Planning string // .planning, or the workstream's directory in it
	// NoWorkstream reports that the project has workstreams and none is selected; Planning is
	// .planning then.
	NoWorkstream bool
}

// State, Roadmap and Phases return the paths of GSD's files.
func (p Place) State() string   { return filepath.Join(p.Planning, "STATE.md") }
func (p Place) Roadmap() string { return filepath.Join(p.Planning, "ROADMAP.md") }
func (p Place) Phases() string  { return filepath.Join(p.Planning, "phases") }

// maxUp is the number of directories searched for .planning, including the first.
const maxUp = 10

// Find locates the GSD state for dir: the nearest directory upward, up to HOME, with a
// .planning/STATE.md or with workstreams. Of those, GSD_WORKSTREAM selects one, or else the
// pointer that GSD stored. Find writes nothing and ignores a dangling pointer.
func Find(dir string, getenv func(string) string) (Place, bool) {
	home := getenv("HOME")
	for range maxUp {
		planning := filepath.Join(dir, ".planning")
		if paths.IsFile(filepath.Join(planning, "STATE.md")) {
			return Place{Root: dir, Planning: planning}, true
		}
		if hasDirs(filepath.Join(planning, "workstreams")) {
			return workstream(dir, planning, getenv), true
		}
		parent := filepath.Dir(dir)
		if parent == dir || dir == home {
			break
		}
		dir = parent
	}
	return Place{}, false
}

func workstream(root, planning string, getenv func(string) string) Place {
	name := getenv(workstreamKey)
	if name == "" {
		name = storedWorkstream(planning, getenv)
	}
	if project := getenv(projectKey); project != "" && validName(project) {
		planning = filepath.Join(planning, project)
	}
	if !validName(name) {
		return Place{Root: root, Planning: planning, NoWorkstream: true}
	}
	return Place{Root: root, Planning: filepath.Join(planning, "workstreams", name)}
}

// storedWorkstream returns the workstream selected for this session of a terminal or an agent,
// or else the project's.
func storedWorkstream(planning string, getenv func(string) string) string {
	pointers := []string{filepath.Join(planning, "active-workstream")}
	if p := sessionPointer(planning, getenv); p != "" {
		pointers = []string{p, pointers[0]}
	}
	for _, p := range pointers {
		data, _ := readStart(p)
		name := trim(string(data))
		if validName(name) && paths.IsDir(filepath.Join(planning, "workstreams", name)) {
			return name
		}
	}
	return ""
}

// sessionKeys are the variables by which GSD distinguishes sessions, in its order.
var sessionKeys = [...]string{"GSD_SESSION_KEY", "CODEX_THREAD_ID", "CLAUDE_SESSION_ID",
	"CLAUDE_CODE_SSE_PORT", "OPENCODE_SESSION_ID", "GEMINI_SESSION_ID", "CURSOR_SESSION_ID",
	"WINDSURF_SESSION_ID", "TERM_SESSION_ID", "WT_SESSION", "TMUX_PANE", "ZELLIJ_SESSION_NAME"}

// sessionPointer returns the file in which GSD stores a session's workstream: in the temporary
// directory, named by a hash of the project's path. It returns "" if no variable identifies the
// session.
func sessionPointer(planning string, getenv func(string) string) string {
	for _, key := range sessionKeys {
		token := sessionToken(getenv(key))
		if token == "" {
			continue
		}
		if real, err := filepath.EvalSymlinks(planning); err == nil {
			planning = real
		}
		sum := sha1.Sum([]byte(planning))
		name := strings.ReplaceAll(strings.ToLower(key), "_", "-") + "-" + token
		return filepath.Join(os.TempDir(), "gsd-workstream-sessions",
			hex.EncodeToString(sum[:])[:16], name)
	}
	return ""
}

// sessionToken converts a session's name to a file name: each run of other characters becomes
// one _.
func sessionToken(s string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(s) {
		switch {
		case r < 0x80 && (isKeyByte(byte(r)) || r == '.'):
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	token := strings.Trim(b.String(), "_")
	return token[:min(len(token), 160)]
}

// validName reports whether a project's or workstream's name is safe as a directory name, so
// that it can't escape its parent.
func validName(name string) bool {
	for i := range len(name) {
		if !isKeyByte(name[i]) && name[i] != '.' ||
			i == 0 && strings.IndexByte("._-", name[0]) >= 0 {
			return false
		}
	}
	return name != "" && !strings.Contains(name, "..")
}

// maxRead is how many bytes of a file the status line reads: a STATE.md that a broken writer
// inflated to megabytes must not slow down the prompt.
const maxRead = 256 << 10

// ReadPosition returns the position of the project that contains dir; false if there is no
// project or no readable STATE.md. It reads at most 256 kB and writes nothing.
func ReadPosition(dir string, getenv func(string) string) (Position, bool) {
	place, ok := Find(dir, getenv)
	if !ok {
		return Position{}, false
	}
	return place.Position()
}

// Position returns the project's position according to STATE.md; false if the file can't be
// read.
func (p Place) Position() (Position, bool) {
	if p.NoWorkstream {
		return Position{NoWorkstream: true}, true
	}
	data, err := readStart(p.State())
	if err != nil {
		return Position{}, false
	}
	return positionOf(Parse(data)), true
}

// readStart reads the first maxRead bytes of a file.
func readStart(path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(io.LimitReader(f, maxRead))
	return b.Bytes(), err
}

// choose returns instructions for selecting one of the project's workstreams.
func (p Place) choose() string {
	list, _ := durable.ReadDir(filepath.Join(p.Planning, "workstreams"))
	var names []string
	for _, d := range list {
		if d.IsDir() && validName(d.Name()) {
			names = append(names, d.Name())
		}
	}
	return "set GSD_WORKSTREAM to " + strings.Join(names, " or ")
}

// hasDirs reports whether a directory contains directories.
func hasDirs(path string) bool {
	list, err := durable.ReadDir(path)
	if err != nil {
		return false
	}
	for _, d := range list {
		if d.IsDir() {
			return true
		}
	}
	return false
}
