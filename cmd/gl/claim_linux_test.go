package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"greenlight/cmd/gl/scripts"
)

// openTerminal returns the two ends of a new terminal.
func openTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	var n, unlock int32
	for _, call := range []struct {
		request uintptr
		arg     *int32
	}{{syscall.TIOCSPTLCK, &unlock}, {syscall.TIOCGPTN, &n}} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), call.request,
			uintptr(unsafe.Pointer(call.arg))); e != 0 {
			t.Fatal(e)
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { tty.Close() })
	return master, tty
}

// On a terminal gl asks before it takes over a claim, and only yes counts as yes.
func TestClaimAsksOnATerminal(t *testing.T) {
	for _, test := range []struct {
		answer string
		code   int
	}{{"y\n", 0}, {"YES\n", 0}, {"n\n", 3}, {"\n", 3}} {
		t.Run(strings.TrimSpace(test.answer), func(t *testing.T) {
			root := newProject(t)
			first, err := gl(root, "state", "claim", "S-1").Output()
			if err != nil {
				t.Fatal(err)
			}
			master, tty := openTerminal(t)
			var stdout bytes.Buffer
			cmd := gl(root, "state", "claim", "S-1")
			cmd.Stdin, cmd.Stderr, cmd.Stdout = tty, tty, &stdout
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			asked := readUntil(t, master, "[y/N] ")
			if !strings.Contains(asked, strings.TrimSpace(string(first))) {
				t.Errorf("the question doesn't name the session %s: %q", first, asked)
			}
			if _, err := master.WriteString(test.answer); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			session, _ := readSlice(t, root).Get("session")
			if code := cmd.ProcessState.ExitCode(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if taken := session != strings.TrimSpace(string(first)); taken != (test.code == 0) {
				t.Errorf("answer %q: the session is %s, was %s", test.answer, session, first)
			}
		})
	}
}

// readUntil reads from the terminal until the text appears.
func readUntil(t *testing.T, master *os.File, text string) string {
	t.Helper()
	read := make(chan string, 1)
	go func() {
		var all strings.Builder
		buf := make([]byte, 1024)
		for !strings.Contains(all.String(), text) {
			n, err := master.Read(buf)
			all.Write(buf[:n])
			if err != nil {
				break
			}
		}
		read <- all.String()
	}()
	select {
	case s := <-read:
		if !strings.Contains(s, text) {
			t.Fatalf("the terminal shows %q, not %q", s, text)
		}
		return s
	case <-time.After(scripts.Patience):
		t.Fatalf("the terminal never showed %q", text)
	}
	return ""
}
