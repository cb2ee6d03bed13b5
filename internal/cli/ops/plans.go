package ops

import (
	"os"
	"path/filepath"
	"slices"

	"greenlight/internal/base/durable"
	"greenlight/internal/state/issues"
)

// A FoundPlan is a list of work that a directory has already.
type FoundPlan struct {
	File   string `json:"file"`   // relative to the root
	Format string `json:"format"` // as gl import calls it
	Open   int    `json:"open"`   // issues that aren't closed
}

// FindPlans returns the lists of work in the usual places that gl import can read. It reads regular
// files of the directory itself alone, and runs nothing.
func FindPlans(root string) []FoundPlan {
	files := []string{".beads/issues.jsonl", "issues.json", "TODO.md", "TASKS.md", "tasks.md"}
	specs, _ := filepath.Glob(filepath.Join(root, "specs", "*", "tasks.md")) // spec-kit's
	for _, path := range specs[:min(len(specs), 20)] {
		if rel, err := filepath.Rel(root, path); err == nil {
			files = append(files, rel)
		}
	}
	var found []FoundPlan
	var seen []os.FileInfo
	for _, file := range files {
		path := filepath.Join(root, file)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > issues.MaxBytes ||
			slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
			continue // another spelling, where case doesn't matter
		}
		seen = append(seen, info)
		data, err := durable.ReadNamed(path, issues.MaxBytes)
		if err != nil {
			continue
		}
		if list, err := issues.Read(data, "GH-", false); err == nil && len(list.Open) > 0 {
			found = append(found, FoundPlan{File: file, Format: list.Format, Open: len(list.Open)})
		}
	}
	return found
}
