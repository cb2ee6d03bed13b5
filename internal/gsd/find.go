package gsd

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"greenlight/internal/durable"
	"greenlight/internal/paths"
)

// A Place is where a project keeps its GSD state.
type Place struct {
	Root     string // the directory that holds .planning
	Planning string // .planning, or the workstream's directory in it
	// NoWorkstream: the project is divided into workstreams and none is chosen; Planning is .planning then.
	NoWorkstream bool
}

// The files of GSD.
func (p Place) State() string   { return filepath.Join(p.Planning, "STATE.md") }
func (p Place) Roadmap() string { return filepath.Join(p.Planning, "ROADMAP.md") }
func (p Place) Phases() string  { return filepath.Join(p.Planning, "phases") }

// maxUp is how many directories are looked at for .planning, the first one included.
const maxUp = 10

// Find looks for the GSD state that dir belongs to: the nearest directory upwards, not beyond HOME, with a
// .planning/STATE.md, or with workstreams, of which GSD_WORKSTREAM names the one, else the pointer that GSD stored. It
// writes nothing; a pointer to nothing is as good as none.
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
	if project := getenv("GSD_PROJECT"); project != "" && validName(project) {
		planning = filepath.Join(planning, project)
	}
	if !validName(name) {
		return Place{Root: root, Planning: planning, NoWorkstream: true}
	}
	return Place{Root: root, Planning: filepath.Join(planning, "workstreams", name)}
}

// storedWorkstream is the workstream that was chosen for this session of a terminal or an agent, else the project's.
func storedWorkstream(planning string, getenv func(string) string) string {
	pointers := []string{filepath.Join(planning, "active-workstream")}
	if p := sessionPointer(planning, getenv); p != "" {
		pointers = []string{p, pointers[0]}
	}
	for _, p := range pointers {
		data, _ := readStart(p)
		if name := trim(string(data)); validName(name) && paths.IsDir(filepath.Join(planning, "workstreams", name)) {
			return name
		}
	}
	return ""
}

// sessionKeys are the variables that GSD tells sessions apart by, in its order.
var sessionKeys = [...]string{"GSD_SESSION_KEY", "CODEX_THREAD_ID", "CLAUDE_SESSION_ID", "CLAUDE_CODE_SSE_PORT", "OPENCODE_SESSION_ID",
	"GEMINI_SESSION_ID", "CURSOR_SESSION_ID", "WINDSURF_SESSION_ID", "TERM_SESSION_ID", "WT_SESSION", "TMUX_PANE", "ZELLIJ_SESSION_NAME"}

// sessionPointer is the file in which GSD keeps the workstream of one session: under the temporary directory, by a hash
// of the project's path. "" where no variable tells the session.
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
		return filepath.Join(os.TempDir(), "gsd-workstream-sessions", hex.EncodeToString(sum[:])[:16], name)
	}
	return ""
}

// sessionToken is a session's name as a file name: runs of other characters become one _.
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

// validName says whether a name of a project or a workstream can be a directory's without leading out of its parent.
func validName(name string) bool {
	for i := range len(name) {
		if !isKeyByte(name[i]) && name[i] != '.' || i == 0 && strings.IndexByte("._-", name[0]) >= 0 {
			return false
		}
	}
	return name != "" && !strings.Contains(name, "..")
}

// maxRead is how much of a file the status line reads, in bytes: a STATE.md that a broken writer blew up to megabytes
// must not cost a prompt more.
const maxRead = 256 << 10

// ReadPosition is the position of the project that dir belongs to; false where there is none, or no STATE.md that can be
// read. It reads no more than 256 kB and writes nothing.
func ReadPosition(dir string, getenv func(string) string) (Position, bool) {
	place, ok := Find(dir, getenv)
	if !ok {
		return Position{}, false
	}
	return place.Position()
}

// Position is what STATE.md says of where the project stands; false where it can't be read.
func (p Place) Position() (Position, bool) {
	if p.NoWorkstream {
		return Position{NoWorkstream: true}, true
	}
	data, err := readStart(p.State())
	if err != nil {
		return Position{}, false
	}
	return PositionOf(Parse(data)), true
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

// choose is how one of the project's workstreams is chosen.
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

// hasDirs says whether a directory has directories in it.
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
