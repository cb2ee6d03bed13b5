package git

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

func TestBlobs(t *testing.T) {
	t.Parallel()
	b := worktree(t, nil)
	texts := []string{"a\n", "", "no end", strings.Repeat("long\n", 100), "\x00\n\n"}
	var ids []string
	for i, text := range texts {
		testfiles.Write(t, b.w.Path, map[string]string{fmt.Sprint("f", i): text})
		ids = append(ids, b.in(b.w.Path, "hash-object", "-w", fmt.Sprint("f", i)))
	}
	var got []string
	read := func(id string, text []byte) error {
		got = append(got, id+string(text))
		return nil
	}
	b.ok(Blobs(t.Context(), b.main+"/.git", ids, 100, read))
	want := []string{ids[0] + texts[0], ids[1], ids[2] + texts[2], ids[4] + texts[4]}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, not %q", got, want)
	}
	stop := errors.New("stop")
	if err := Blobs(t.Context(), b.main+"/.git", ids, 100,
		func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	for _, bad := range []string{strings.Repeat("0", 40), b.in(b.w.Path, "rev-parse", "HEAD")} {
		if err := Blobs(t.Context(), b.main+"/.git", []string{ids[0], bad}, 100, read); err == nil {
			t.Error("no error for", bad)
		}
	}
	b.ok(Blobs(t.Context(), b.main+"/.git", nil, 100, read))
}
