package lane_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/plan"
)

// A disk that fills up while work is merged, tested or delivered isn't taken for a fault of the
// work. gl reports it and, with space, continues where it was.
func TestDiskFull(t *testing.T) {
	testfiles.Slow(t)
	big := make([]byte, 1<<20)
	rand.Read(big)
	for _, c := range []struct {
		name string
		test string // what the tests do, in sh; BALLAST is a file of the same disk
		free int64  // is left before the worker begins; 0: all
	}{
		{name: "merge", free: 1},
		{name: "test", test: "dd if=/dev/zero of=$BALLAST bs=4096 2>/dev/null; sync; echo x >out.ignored && [ -s out.ignored ]"},
		{name: "almost", test: "dd if=/dev/zero of=$BALLAST bs=4096 2>/dev/null; truncate -s -100K $BALLAST; head -c 300000 /dev/zero >out.ignored"},
		{name: "deliver", test: "dd if=/dev/zero of=$BALLAST bs=4096 2>/dev/null; truncate -s -400K $BALLAST"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := t.TempDir()
			if syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=24m") != nil {
				t.Skip("needs the right to mount")
			}
			t.Cleanup(func() { syscall.Unmount(disk, 2) }) // MNT_DETACH
			s := newSiteAt(t, filepath.Join(disk, "p"), "", "")
			ballast := filepath.Join(disk, "ballast")
			a := s.queue("S-1", func(dir string) {
				list(t, "S-1")(dir)
				testfiles.Put(t, dir, "big", string(big))
				if c.test != "" {
					testfiles.Put(t, dir, "test.extra", "BALLAST="+ballast+"\n[ ! -e $BALLAST.off ] || exit 0\n"+c.test+"\n")
				}
				gitIn(t, dir, "add", "-A", ".")
				gitIn(t, dir, "commit", "-qm", "big")
				testfiles.Put(t, dir, "x.ignored", "") // so that the worktree stays
			})
			s.write("notes", "mine\n")
			if c.free > 0 {
				fill(ballast, c.free)
			}
			err := worker(t.Context(), s.root, s.env, s.told)
			now := s.get(a)
			said := now.Landing.Text() + s.status().Reason + strings.Join(s.said, "\n")
			if err != nil {
				said += err.Error()
			}
			t.Logf("%v; %s %s %s", err, now.Life.Phase, now.Judged.Outcome, said)
			if now.Life.Phase == plan.Settled && s.field("S-1", "status") != "complete" {
				t.Errorf("%s: %s", now.Judged.Outcome, now.Judged.Detail)
			}
			if !strings.Contains(said, "space") && !strings.Contains(said, "disk is full") && !strings.Contains(said, "unable to write") {
				t.Errorf("nothing is said of the disk: %s", said)
			}
			testfiles.Put(t, disk, "ballast.off", "")
			check(t, os.Remove(ballast))
			// A process that was forked while fill had the file open keeps its blocks until it
			// execs.
			testfiles.Until(t, "the disk has room again", func() bool {
				var fs syscall.Statfs_t
				check(t, syscall.Statfs(disk, &fs))
				return fs.Bavail*uint64(fs.Bsize) > 1<<20
			})
			s.work()
			s.landed(a)
			s.delivered()
			if s.read("notes") != "mine\n" || s.read("big") != string(big) {
				t.Error("a file of the checkout isn't as it should be")
			}
			if got := s.git("status", "--porcelain", "--", ":!.greenlight"); got != " M notes" {
				t.Errorf("git status:\n%s", got)
			}
			s.git("fsck", "--connectivity-only")
		})
	}
}

// fill leaves so many bytes of a disk.
func fill(path string, free int64) {
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	size := int64(0)
	for block := make([]byte, 4096); err == nil; size += 4096 {
		_, err = f.Write(block)
	}
	if free > 1 {
		f.Truncate(max(0, size-free))
	}
}
