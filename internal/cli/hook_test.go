package cli

import (
	"bytes"
	"context"
	"testing"

	"greenlight/internal/cli/hook"
)

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("a fault of gl") }

// Go exits 2 after a panic, and Claude Code takes that for a refusal.
func TestHookSurvivesPanics(t *testing.T) {
	for _, name := range hook.Names() {
		var out, errs bytes.Buffer
		if code := Main(context.Background(), []string{"hook", name}, panickingReader{}, &out,
			&errs, nil); code != 0 || out.Len()+errs.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", name, code, &out, &errs)
		}
	}
}
