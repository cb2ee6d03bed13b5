package hands

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"greenlight/internal/base/testfiles"
	"greenlight/internal/core/remote"
)

// A worker offers the agents whose programs answer, and says in a sentence what is missing of what
// it was asked for.
func TestLook(t *testing.T) {
	b := newBench(t)
	bin := t.TempDir()
	for name, text := range map[string]string{"claude": "echo 2.0", "codex": "echo broken; exit 1"} {
		testfiles.Check(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	include := testfiles.Make(t, map[string]string{".env": "x", "conf/key": "x"})
	o := &Options{Dir: b.place.files.dir, Self: b.place.self, Environ: os.Environ(), Include: include,
		Slots: 2}
	h, _, err := look(t.Context(), o)
	testfiles.Check(t, err)
	if !slices.Contains(h.Agents, "claude") || slices.Contains(h.Agents, "codex") || h.Slots != 2 {
		t.Errorf("%+v", h)
	}
	if d := cmp.Diff([]string{".env", "conf/key"}, h.Included); d != "" {
		t.Error(d)
	}
	o.Agents = []string{"claude", "codex", "no-such-agent", "rehearsal"}
	h, lacks, err := look(t.Context(), o)
	testfiles.Check(t, err)
	if d := cmp.Diff([]string{"claude", "rehearsal"}, h.Agents); d != "" {
		t.Error(d)
	}
	text := strings.Join(lacks, "\n")
	for _, want := range []string{"codex --version: exit status 1: broken", "no-such-agent is not on PATH"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// A repository is removed only while it has no lineage.
func TestDropRepository(t *testing.T) {
	b := newBench(t)
	j := b.job(b.base, "true")
	j.Command.Dir = "sub/project"
	b.begin(fence(1), j)
	wait[remote.Finished](b)
	if used(b.place.repo.top) == 0 || b.place.repo.drop() {
		t.Error("it has a lineage")
	}
	b.remove(fence(1), j, true)
	if !b.place.repo.drop() || used(b.place.repo.top) != 0 {
		t.Error("it has none")
	}
	b.begin(fence(2), j) // which makes it again
	wait[remote.Finished](b)
}
