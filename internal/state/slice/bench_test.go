package slice

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// bareWrite is the minimum of a durable write: a temporary file, fsync, rename.
func bareWrite(dir, name string, data []byte) error {
	f, err := os.CreateTemp(dir, ".bare*.tmp")
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(dir, name))
}

// BenchmarkBareWrite is the baseline for the updates.
func BenchmarkBareWrite(b *testing.B) {
	root := many(b, 1)
	dir := filepath.Join(root, ".greenlight/slices")
	data := []byte(get(b, root, "slices/S-0.md"))
	for b.Loop() {
		if err := bareWrite(dir, "S-0.md", data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEdit measures one update, including STATE.md, by a store that has read the project
// before, and by a fresh one, as in gl state set.
func BenchmarkEdit(b *testing.B) {
	for _, n := range []int{50, 1000, 10000} {
		root := many(b, n)
		warm := Open(root)
		for name, store := range map[string]func() *Store{"warm": func() *Store { return warm }, "cold": func() *Store { return Open(root) }} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				i := 0
				for b.Loop() {
					i++
					if err := store().Edit(b.Context(), "S-7", func(f *File) error { return f.Set("tests", fmt.Sprint(i)) }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkContention measures updates by sixteen concurrent writers, each to its own slice, or
// all to the same one.
func BenchmarkContention(b *testing.B) {
	for _, n := range []int{50, 1000} {
		for _, one := range []bool{false, true} {
			name := "own slices"
			if one {
				name = "one slice"
			}
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "_"), n), func(b *testing.B) {
				root := many(b, n)
				var writers atomic.Int64
				b.SetParallelism(8)
				b.RunParallel(func(pb *testing.PB) {
					w := writers.Add(1)
					if one {
						w = 1
					}
					s, i := Open(root), 0
					for pb.Next() {
						i++
						if err := s.Edit(context.Background(), fmt.Sprintf("S-%d", w), func(f *File) error { return f.Set("tests", fmt.Sprint(i)) }); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}
