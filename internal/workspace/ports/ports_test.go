package ports

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func silent(int) bool { return false }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func take3(t *testing.T, dir string, prefer int) *Block {
	t.Helper()
	b, err := allocate(dir, prefer, []int{100, 110, 120}, silent)
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b
}

func TestAllocate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gl", "ports")
	a := take3(t, dir, 0)
	b := take3(t, dir, 110)
	c := take3(t, dir, 110) // taken: another one
	if a.First != 100 || b.First != 110 || c.First != 120 {
		t.Errorf("%d, %d, %d", a.First, b.First, c.First)
	}
	if _, err := allocate(dir, 120, []int{100, 110, 120}, silent); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	must(t, b.Close())
	if d := take3(t, dir, 7); d.First != 110 { // 7 is no block
		t.Errorf("%d", d.First)
	}
	info, err := os.Stat(filepath.Join(dir, "100"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// Ports with a listener are avoided, except in the worktree's own block: its services may be
// running there.
func TestAllocateAvoidsListeners(t *testing.T) {
	dir := t.TempDir()
	at := func(ports ...int) func(int) bool { return func(p int) bool { return slices.Contains(ports, p) } }
	b, err := allocate(dir, 0, []int{100, 110, 120}, at(109, 110))
	must(t, err)
	if b.First != 120 || b.Busy != nil {
		t.Errorf("%+v", b)
	}
	own, err := allocate(dir, 100, []int{100, 110, 120}, at(101, 109, 110))
	must(t, err)
	if d := cmp.Diff([]int{101, 109}, own.Busy); own.First != 100 || d != "" {
		t.Error(own.First, d)
	}
	b.Close()
	own.Close()
	// Blocks that were tried and not taken are free again.
	free, err := allocate(dir, 0, []int{110}, silent)
	must(t, err)
	free.Close()
}

// A process that inherits the file holds the block until it ends, whichever process took it.
func TestABlockIsInherited(t *testing.T) {
	dir := t.TempDir()
	b := take3(t, dir, 100)
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{b.File}
	in, err := child.StdinPipe()
	must(t, err)
	must(t, child.Start())
	must(t, b.Close())
	if other := take3(t, dir, 100); other.First == 100 {
		t.Error("the child's block was given away")
	}
	must(t, in.Close())
	must(t, child.Wait())
	if again := take3(t, dir, 100); again.First != 100 {
		t.Errorf("%d: the child is gone", again.First)
	}
}

// Among any number of simultaneous requests, no block is given twice.
func TestAllocateAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	all := blocks(100, 300)
	taken := make(chan *Block, 2*len(all))
	var group sync.WaitGroup
	for i := range cap(taken) {
		group.Add(1)
		go func() {
			defer group.Done()
			if b, err := allocate(dir, all[i%3], all, silent); err == nil {
				taken <- b
			}
		}()
	}
	group.Wait()
	close(taken)
	var list []int
	for b := range taken {
		list = append(list, b.First)
		b.Close()
	}
	if slices.Sort(list); !slices.Equal(list, all) {
		t.Errorf("%v", list)
	}
}

func TestListening(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err) // no IPv6 here
			continue
		}
		port := l.Addr().(*net.TCPAddr).Port
		if !listening(port) {
			t.Errorf("%s: nothing listens on %d", at, port)
		}
		must(t, l.Close())
		if listening(port) {
			t.Errorf("%s: something listens on %d", at, port)
		}
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string][2]int{
		"32768\t60999\n": {20000, 30000}, "49152 65535": {20000, 30000}, "": {20000, 30000},
		"x y": {20000, 30000}, "1024 65535": {20000, 30000},
		"25000 65535": {15000, 25000}, "15000 64000": {10000, 15000}, "30000 60000": {20000, 30000},
	} {
		if low, high := limits(text); low != want[0] || high != want[1] {
			t.Errorf("%q: %d to %d", text, low, high)
		}
	}
	// 27015 to 27018 belong to others
	if d := cmp.Diff([]int{27000, 27020, 27030}, blocks(26995, 27049)); d != "" {
		t.Error(d)
	}
}

func TestDir(t *testing.T) {
	for _, tt := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/gl/ports"}, {"", "/h", "/h/.local/state/gl/ports"},
		{"rel", "/h", "/h/.local/state/gl/ports"}, {"", "", ""}, {"", "rel", ""},
	} {
		got, err := Dir(func(key string) string { return map[string]string{"XDG_STATE_HOME": tt.state, "HOME": tt.home}[key] })
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

func BenchmarkAllocate(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		block, err := Allocate(dir, 0)
		if err != nil {
			b.Fatal(err)
		}
		block.Close()
	}
}
