package durable

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func deadPID(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func TestSweep(t *testing.T) {
	dead, now := deadPID(t), time.Now()
	const fresh, old = time.Minute, 61 * time.Minute
	tests := []struct {
		why   string
		name  string
		age   time.Duration
		swept bool
	}{
		{"ours, writer dead", tempName("S-01.md", thisHost(), dead, 1), fresh, true},
		{"ours, writer dead, written in the future",
			tempName("a.b.c", thisHost(), dead, 2), -old, true},
		{"ours, writer alive", tempName("S-01.md", thisHost(), os.Getpid(), 3), fresh, false},
		{"ours, writer alive, an hour old",
			tempName("S-01.md", thisHost(), os.Getpid(), 4), old, true},
		{"writer on another host", tempName("S-01.md", thisHost()+"x", dead, 5), fresh, false},
		{"writer on another host, old", tempName("S-01.md", thisHost()+"x", dead, 6), old, true},
		{"another program's, fresh", "S-01.tmp", fresh, false},
		{"another program's, old", "S-02.md.tmp", old, true},
		{"no temp", "S-01.md", old, false},
		{"no temp either", "tmp", old, false},
		{"nearly ours", ".S-01.md." + thisHost() + ".x.0000000000000007.tmp", fresh, false},
	}
	dir := t.TempDir()
	age := func(path string, by time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, time.Time{}, now.Add(-by)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range tests {
		path := filepath.Join(dir, tt.name)
		seed(t, path, "x")
		age(path, tt.age)
	}
	sub, link := filepath.Join(dir, "dir.tmp"), filepath.Join(dir, "link.tmp")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	age(sub, old)
	if err := os.Symlink("S-01.md", link); err != nil { // its target is old
		t.Fatal(err)
	}
	if err := Sweep(dir, now); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		_, err := os.Lstat(filepath.Join(dir, tt.name))
		if os.IsNotExist(err) != tt.swept {
			t.Errorf("%s: %s: swept %v, want %v", tt.why, tt.name, os.IsNotExist(err), tt.swept)
		}
	}
	for _, path := range []string{sub, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("swept what is no file: %v", err)
		}
	}
}

// A writer holds the kernel's lock on its temporary file. In another PID namespace its pid
// means nothing, and after a change of the clock the file may look old: the lock shows that the
// writer lives.
func TestSweepSparesAWriter(t *testing.T) {
	dir, dead := t.TempDir(), deadPID(t)
	f, err := createTemp(filepath.Join(dir, "S-01.md"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(dir, tempName("S-01.md", thisHost(), dead, 1))
	if err := os.Rename(f.Name(), elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, now := range []time.Time{time.Now(), time.Now().Add(24 * time.Hour)} {
		if err := Sweep(dir, now); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(elsewhere); err != nil {
			t.Fatalf("swept while it is written: %v", err)
		}
	}
	f.Close()
	if err := Sweep(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("not swept: %v", err)
	}
}

func TestSweepOfNoDirectory(t *testing.T) {
	if err := Sweep(filepath.Join(t.TempDir(), "none"), time.Now()); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "f")
	seed(t, path, "x")
	if err := Sweep(path, time.Now()); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("sweeping a file: error %v", err)
	}
}

func TestTempNameReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.StringN(0, 255, 255).Draw(t, "base")
		host := plainHost(rapid.String().Draw(t, "host"))
		pid := rapid.IntRange(1, 1<<31-1).Draw(t, "pid")
		name := tempName(base, host, pid, rapid.Uint64().Draw(t, "random"))
		if len(name) > 255 {
			t.Fatalf("%d bytes", len(name))
		}
		if utf8.ValidString(base) && !utf8.ValidString(name) {
			t.Fatalf("%q is not UTF-8", name)
		}
		if h, p, ok := parseTemp(name); !ok || h != host || p != pid {
			t.Fatalf("%q reads back as %q %d %v", name, h, p, ok)
		}
	})
}

func TestPlainHost(t *testing.T) {
	for name, want := range map[string]string{
		"":                       "unknown",
		"build-7":                "build-7",
		"mac.local":              "mac_local",
		"../x":                   "___x",
		"é":                      "__",
		strings.Repeat("a", 300): strings.Repeat("a", 64),
	} {
		if got := plainHost(name); got != want {
			t.Errorf("plainHost(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzParseTemp(f *testing.F) {
	for _, s := range []string{"", ".tmp", ".a.h.1.0000000000000001.tmp", ".a.h.0.0000000000000001.tmp",
		".a.h.+1.0000000000000001.tmp", ".a.h.1.000000000000000G.tmp", "a.h.1.0000000000000001.tmp",
		".a.é.1.0000000000000001.tmp", "...h.1.ffffffffffffffff.tmp", ".a.h.4294967296.ffffffffffffffff.tmp"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		host, pid, ok := parseTemp(name)
		if !ok {
			return
		}
		if pid <= 0 || host == "" || !strings.HasPrefix(name, ".") ||
			!strings.HasSuffix(name, tempSuffix) {
			t.Errorf("%q is taken for a temp of %q, pid %d", name, host, pid)
		}
	})
}
