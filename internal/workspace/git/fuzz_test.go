package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// What a worker pushes: git gets one command at most, about the ref of its job.
func FuzzPassCommands(f *testing.F) {
	const ref = "refs/gl/jobs/1"
	packet := func(line string) string { return fmt.Sprintf("%04x%s", len(line)+4, line) }
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	for _, s := range []string{
		packet(zero+" "+one+" "+ref+"\x00 report-status") + "0000PACK",
		packet("shallow "+one) + packet(zero+" "+one+" "+ref+"\n") + "0000",
		packet(zero+" "+one+" "+ref) + packet(zero+" "+one+" refs/heads/main") + "0000",
		packet(one+" "+zero+" "+ref) + "0000",
		packet("push-cert\x00 x") + "0000", "0004", "ffff", "+005x", "0000",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var to bytes.Buffer
		err := passCommands(bytes.NewReader(data), &to, ref)
		if !bytes.HasPrefix(data, to.Bytes()) {
			t.Fatalf("%q became %q", data, to.Bytes())
		}
		commands := 0
		for rest := to.Bytes(); len(rest) > 0; {
			if string(rest[:4]) == "0000" {
				if err != nil || len(rest) > 4 {
					t.Fatalf("%q goes on after its end: %v", data, err)
				}
				break
			}
			var n int
			if _, err := fmt.Sscanf(string(rest[:4]), "%04x", &n); err != nil {
				t.Fatal(err)
			}
			if line := string(rest[4:n]); !strings.HasPrefix(line, "shallow ") {
				commands++
				if head, _, _ := strings.Cut(line, "\x00"); !strings.HasSuffix(strings.TrimSuffix(head, "\n"), " "+ref) {
					t.Fatalf("git is told %q", line)
				}
			}
			rest = rest[n:]
		}
		if commands > 1 {
			t.Fatalf("git is told %q", to.Bytes())
		}
	})
}

// The index of a worktree, which its agent can write.
func FuzzIndexFile(f *testing.F) {
	entry := func(path string, flags byte) string {
		e := strings.Repeat("\x00", modeAt) + "\x00\x00\x81\xa4" + strings.Repeat("\x00", statBytes-modeAt-4) +
			strings.Repeat("\xab", 20) + string([]byte{flags, byte(len(path))}) + path
		return e + strings.Repeat("\x00", 8-len(e)%8+4)
	}
	head, sum := "DIRC\x00\x00\x00\x02\x00\x00\x00", strings.Repeat("\x00", 20)
	f.Add([]byte(head+"\x01"+entry("a", 0)+sum), false)
	f.Add([]byte(head+"\x02"+entry("a/b", 0x10)+entry("a/b", 0x20)+"TREE\x00\x00\x00\x00"+sum), false)
	f.Add([]byte(head+"\x01"+entry(".git/config", 0)+sum), false)
	f.Add([]byte(head+"\x00link\x00\x00\x00\x04abcd"+sum), true)
	file := filepath.Join(f.TempDir(), "index")
	f.Fuzz(func(t *testing.T, data []byte, long bool) {
		testfiles.Check(t, os.WriteFile(file, data, 0o600))
		x, known := readIndexFile(file, map[bool]int{false: 40, true: 64}[long])
		if !known {
			return
		}
		for _, e := range x.entries {
			if !filepath.IsLocal(e.path) || hasDotGit(e.path) || !isID(e.id) || strings.Contains(e.path, "\x00") {
				t.Fatalf("%+v of %q", e, data)
			}
		}
	})
}

// packed-refs and a ref's file, which an agent can write where git's directory is in its reach.
func FuzzRefFiles(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("# pack-refs with: peeled fully-peeled sorted\n"+id+" refs/heads/main\n^"+id+"\n"), []byte("ref: refs/heads/main\n"))
	f.Add([]byte(id+" refs/heads/x/y\n"+id+" refs/heads/x"), []byte(id+"\n"))
	f.Add([]byte("refs/heads/main\n"), []byte("ref: \nref:"))
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "refs", "heads"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, packed, ref []byte) {
		testfiles.Check(t, os.WriteFile(filepath.Join(dir, "packed-refs"), packed, 0o600))
		testfiles.Check(t, os.WriteFile(filepath.Join(dir, "refs", "heads", "own"), ref, 0o600))
		for _, name := range []string{"refs/heads/main", "refs/heads/own", "refs/heads/x/y"} {
			id, target, known := readRef(dir, name)
			if known && (id != "" && !isID(id) || id != "" && target != "") {
				t.Fatalf("%s is %q %q", name, id, target)
			}
			if id, known := readCommit(dir, name); known && id != "" && !isID(id) {
				t.Fatalf("%s is %q", name, id)
			}
		}
		refs, _ := readRefs(dir, "refs/heads")
		for _, r := range refs {
			if !isID(r.Commit) && r.Target == "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}
