package gsd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkPosition measures the in-process cost of a prompt: find the project, read STATE.md,
// extract the position, render the line.
func BenchmarkPosition(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 0}, {"100kB", 100_000}, {"3MB", 3_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			dir := b.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".planning"), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, ".planning", "STATE.md"), longState(size.bytes), 0o644); err != nil {
				b.Fatal(err)
			}
			getenv := func(string) string { return "" }
			for b.Loop() {
				if p, ok := ReadPosition(dir, getenv); !ok || !strings.Contains(p.String(), "Phase 2 executing") {
					b.Fatal("no position")
				}
			}
		})
	}
}

// longState returns the usual file, extended with decisions to that many bytes.
func longState(bytes int) []byte {
	var s strings.Builder
	s.WriteString(strings.Replace(usual, "status: planning", "status: executing\nactive_phase: \"2\"", 1))
	s.WriteString("\n## Decisions\n\n")
	for i := 0; s.Len() < bytes; i++ {
		fmt.Fprintf(&s, "- [Phase %d]: decision %d, for a reason: it was measured\n", i%9, i)
	}
	return []byte(s.String())
}
