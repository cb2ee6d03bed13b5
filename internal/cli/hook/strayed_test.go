package hook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// A checkoutProject is a project in a git repository that a person works in.
type checkoutProject struct {
	*testing.T
	root string
}

func newCheckout(t *testing.T) *checkoutProject {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	root := testfiles.Make(t, map[string]string{
		".greenlight/slices/S-1.md": "---\nid: S-1\nstatus: pending\n---\n# S-1\n",
		".greenlight/CONTRACTS.md":  "# Contracts\n",
		".gitignore":                "/.greenlight/runs/\n/.greenlight/.lock\n",
		"src/a.go":                  "package src\n", "a_test.go": "package shop\n", "go.mod": "module shop\n", "mine.go": "package shop\n",
	})
	p := &checkoutProject{t, root}
	p.git("init", "-q", "-b", "main")
	p.git("add", "-A")
	p.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "start")
	p.write("mine.go", "package shop // not committed\n")
	return p
}

func (p *checkoutProject) git(args ...string) {
	p.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.root
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (p *checkoutProject) write(path, text string) {
	p.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(p.root, path)), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.root, path), []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

// at calls a sub-agent's hook some seconds after noon.
func (p *checkoutProject) at(seconds int, hook, agent, id string, more ...any) Answer {
	p.Helper()
	doc := object{"cwd": p.root, "session_id": "me", "agent_type": "gl:" + agent, "agent_id": id}
	for i := 0; i < len(more); i += 2 {
		doc[more[i].(string)] = more[i+1]
	}
	return runAt(p.T, noon.Add(time.Duration(seconds)*time.Second), hook, doc)
}

// reason returns the message to an agent when it ends, "" for none.
func reason(a Answer) string {
	if a.Block == nil {
		return ""
	}
	return a.Block.Reason
}

// In a checkout, an agent's changes by shell are compared with its row when it ends: tests and
// contracts for the implementer, everything for the verifier. Earlier changes and those that gl
// wrote don't count as its own.
func TestStrayedInACheckout(t *testing.T) {
	p := newCheckout(t)
	p.at(0, SubagentStart, "gl-implementer", "i1")
	p.write("src/a.go", "package src // better\n")
	p.write("testdata/new.golden", "written by a test\n")
	p.write(".greenlight/slices/S-1.md", "---\nid: S-1\nstatus: pending\ntests: 1\n---\n# S-1\n")
	p.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "own work", "--", "src/a.go")
	if got := reason(p.at(9, SubagentStop, "gl-implementer", "i1")); got != "" {
		t.Errorf("an honest implementer is told %q", got)
	}

	p.at(10, SubagentStart, "gl-implementer", "i2")
	p.write("a_test.go", "package shop // weaker\n")
	p.write("b_test.go", "package shop\n")
	p.write(".greenlight/CONTRACTS.md", "# None\n")
	p.write("mine.go", "package shop // changed further\n") // code, which it may change
	p.git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "hidden in a commit", "--", "a_test.go")
	got := reason(p.at(19, SubagentStop, "gl-implementer", "i2"))
	if !strings.Contains(got, "changed while it worked: .greenlight/CONTRACTS.md, a_test.go, b_test.go. ") || !strings.Contains(got, "another session") {
		t.Errorf("the implementer is told %q", got)
	}
	if again := reason(p.at(20, SubagentStop, "gl-implementer", "i2", "stop_hook_active",
		true)); again != "" {
		t.Errorf("told again: %q", again)
	}

	p.at(30, SubagentStart, "gl-verifier", "v1")
	p.write("go.mod", "module shop // v\n")
	if got := reason(p.at(39, SubagentStop, "gl-verifier", "v1")); !strings.Contains(got, "changed while it worked: go.mod. ") {
		t.Errorf("the verifier is told %q", got)
	}
	left, _ := os.ReadDir(filepath.Join(p.root, ".greenlight/runs/agents"))
	if len(left) > 0 {
		t.Errorf("%d files are left in runs/agents", len(left))
	}
}

// Agents that work at the same time aren't blamed for changes that another of them may make,
// even if that one has ended; a change that none of them may make is reported with the others'
// names.
func TestStrayedSideBySide(t *testing.T) {
	p := newCheckout(t)
	p.at(0, SubagentStart, "gl-verifier", "v1")
	p.at(1, SubagentStart, "gl-implementer", "i1")
	p.write("src/a.go", "package src // better\n")
	if got := reason(p.at(2, SubagentStop, "gl-implementer", "i1")); got != "" {
		t.Errorf("the implementer is told %q", got)
	}
	p.write("c_test.go", "package shop\n")
	got := reason(p.at(3, SubagentStop, "gl-verifier", "v1"))
	if !strings.Contains(got, "changed while it worked: c_test.go. gl-implementer worked here at the same time.") {
		t.Errorf("the verifier is told %q", got)
	}

	p.at(10, SubagentStart, "gl-verifier", "v2")
	p.at(11, SubagentStart, "general-purpose", "g1") // which may change anything
	p.write("src/a.go", "package src // worse\n")
	p.write("c_test.go", "package other\n")
	if got := reason(p.at(12, SubagentStop, "gl-verifier", "v2")); got != "" {
		t.Errorf("told of what another may have done: %q", got)
	}

	// An agent that was killed excuses the others only for a short time.
	later := int(forgotten/time.Second) + 60
	p.at(later, SubagentStart, "gl-verifier", "v3")
	p.write("src/a.go", "package src // worst\n")
	if got := reason(p.at(later+1, SubagentStop, "gl-verifier", "v3")); !strings.Contains(got,
		"src/a.go") {
		t.Errorf("after a while: %q", got)
	}
}

// While another session holds a slice, the author of a change can't be known.
func TestStrayedInCompany(t *testing.T) {
	p := newCheckout(t)
	p.write(".greenlight/slices/S-2.md", "---\nid: S-2\nstatus: tests\nsession: somebody\n---\n# S-2\n")
	p.at(0, SubagentStart, "gl-verifier", "v1")
	p.write("src/a.go", "package src // theirs\n")
	if got := reason(p.at(1, SubagentStop, "gl-verifier", "v1")); got != "" {
		t.Errorf("told of what another session may have done: %q", got)
	}
}
