package watch

import (
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"

	"greenlight/internal/run/attempt"
)

func TestUrgency(t *testing.T) {
	runs := attempt.OpenStore(filepath.Join("p", ".greenlight", "runs"))
	for _, tt := range []struct {
		file string
		op   fsnotify.Op
		want when
	}{
		{"runs/live/S-1.1.json", fsnotify.Remove, now}, // an attempt is over
		{"runs/live/S-1.1.json", fsnotify.Create, later},
		{"runs/live/.S-1.1.json.host.1.0000000000000000.tmp", fsnotify.Create, never},
		{"runs/hold.json", fsnotify.Create, now},
		{"runs/stop.json", fsnotify.Create, now},
		{"runs/view", fsnotify.Write, never},
		{"runs/drain.lock", fsnotify.Write, never},
		{"slices/S-1.md", fsnotify.Create, later},
		{"slices/S-1.md", fsnotify.Write, later},
		{"slices/S-1.md", fsnotify.Chmod, never},
		{"GRAPH.json", fsnotify.Write, later},
		{"STATE.md", fsnotify.Create, never},
		{".lock", fsnotify.Write, never},
	} {
		e := fsnotify.Event{Name: filepath.Join("p", ".greenlight", tt.file), Op: tt.op}
		if got := urgency(runs, e); got != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.op, tt.file, got, tt.want)
		}
	}
}

// A watched directory is known by its clean name, however it was written: otherwise each round
// would find it missing, and read everything again.
func TestRenewNothing(t *testing.T) {
	root := t.TempDir()
	runs := attempt.OpenStore(filepath.Join(root, "runs"))
	if err := runs.Files.Prepare(); err != nil {
		t.Fatal(err)
	}
	w := New(runs, []string{root + "/", filepath.Join(root, "runs") + "/../runs"}, func(string, ...any) {})
	defer w.Close()
	if w.Blind {
		t.Skip("there are no file events here")
	}
	if w.Renew(runs) {
		t.Error("something is watched anew that was never lost")
	}
}
