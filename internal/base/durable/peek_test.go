package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhoHoldsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if who, err := Holder(path); who != "" || err != nil {
		t.Errorf("no file: %q, %v", who, err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("looking made the file")
	}
	lock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking consumes nothing
		if who, err := Holder(path); !strings.HasPrefix(who,
			fmt.Sprintf("pid %d (", os.Getpid())) || err != nil {
			t.Errorf("held: %q, %v", who, err)
		}
	}
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	if who, err := Holder(path); who != "" || err != nil {
		t.Errorf("given back: %q, %v", who, err)
	}
	if lock, err = TryLock(path); err != nil {
		t.Errorf("after looking: %v", err)
	} else if err := lock.Unlock(); err != nil {
		t.Error(err)
	}
}
