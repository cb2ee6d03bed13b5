package proc

import (
	"testing"

	"greenlight/internal/base/testfiles"
)

const meminfo = "MemTotal:        8000 kB\nMemFree:         1000 kB\nMemAvailable:    6000 kB\n"

// What is available is limited by the machine and by each control group on the way up, whose caches
// count as available.
func TestMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files            map[string]string
		available, total uint64
	}{
		"the machine": {map[string]string{"proc/self/cgroup": "0::/\n"}, 6000 << 10, 8000 << 10},
		"no limit": {map[string]string{"proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "max\n"}, 6000 << 10, 8000 << 10},
		"a container": {map[string]string{"proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "4096000\n", "sys/fs/cgroup/memory.current": "3072000\n",
			"sys/fs/cgroup/memory.stat": "anon 1024\ninactive_file 1024000\n"}, 2048000, 4096000},
		"a group above": {map[string]string{"proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max":     "max\n",
			"sys/fs/cgroup/a/memory.max":       "2048000\n",
			"sys/fs/cgroup/a/memory.current":   "4096000\n",
			"sys/fs/cgroup/a/b/memory.current": "1024\n"}, 0, 2048000},
		"version 1": {map[string]string{"proc/self/cgroup": "3:cpu:/x\n4:memory:/d/1\n",
			"sys/fs/cgroup/memory/d/1/memory.limit_in_bytes": "2048000",
			"sys/fs/cgroup/memory/d/1/memory.usage_in_bytes": "1024000",
			"sys/fs/cgroup/memory/d/1/memory.stat":           "total_inactive_file 24000\n"}, 1048000, 2048000},
	} {
		dir := t.TempDir()
		testfiles.Put(t, dir, "proc/meminfo", meminfo)
		for file, text := range c.files {
			testfiles.Put(t, dir, file, text)
		}
		available, total, known := memoryIn(dir)
		if available != c.available || total != c.total || !known {
			t.Errorf("%s: %d of %d, %v", name, available, total, known)
		}
	}
	if _, _, known := memoryIn(t.TempDir()); known {
		t.Error("known without /proc")
	}
}
