//go:build browser

package browsertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"greenlight/internal/base/testfiles"
)

// terminal starts a command in a tmux of the test's own, and returns what shows its screen.
func (w *world) terminal(command string) (screen func() string) {
	w.Helper()
	if _, code := w.call("tmux", "-V"); code != 0 {
		w.Skip("tmux is not installed")
	}
	tmux := func(args ...string) string {
		w.Helper()
		return w.must("tmux", append([]string{"-S", filepath.Join(w.dir, "tmux"), "-f", "/dev/null"}, args...)...)
	}
	tmux("new-session", "-d", "-s", "t", "-x", "160", "-y", "50", "-e", "HISTFILE=")
	w.Cleanup(func() { // once nothing writes into the test's directory
		tmux("send-keys", "-t", "t", "C-c")
		testfiles.Until(w, "the command has ended", func() bool {
			return strings.TrimSpace(tmux("display-message", "-p", "-t", "t", "#{pane_current_command}")) != "gl"
		})
		tmux("kill-server")
	})
	tmux("send-keys", "-t", "t", command, "Enter")
	return func() string { return strings.ReplaceAll(tmux("capture-pane", "-p", "-J", "-t", "t"), "\n", " ") }
}

// gl web opens the browser with a file that only this person can read, and that is gone afterwards:
// no command line has the token.
func TestOpensTheBrowser(t *testing.T) {
	w := newQuestions(t)
	testfiles.Put(t, w.dir, "opener", "#!/bin/sh\nstat -c %a \"$1\" >$WORK/mode\nps -ww -o args= -p $PPID,$$ >$WORK/args\n"+
		"echo \"$1\" >$WORK/file\ncp \"$1\" $WORK/login.html\n")
	testfiles.Check(t, os.Chmod(filepath.Join(w.dir, "opener"), 0o755))
	w.terminal("BROWSER=$WORK/opener " + gl + " web")
	file := filepath.Join(w.dir, "login.html")
	var token []string
	testfiles.Until(t, "gl web opens the browser", func() bool {
		data, _ := os.ReadFile(file)
		token = regexp.MustCompile(`name="token" value="([^"]+)"[\s\S]*</html>`).FindStringSubmatch(string(data))
		return token != nil
	})
	if mode := testfiles.Get(t, w.dir, "mode"); mode != "600\n" {
		t.Errorf("mode %s", mode)
	}
	if args := testfiles.Get(t, w.dir, "args"); strings.Contains(args, token[1]) || !strings.Contains(args, "gl web") {
		t.Errorf("command lines: %s", args)
	}
	p := newPage(t)
	p.open("file://" + file)
	p.see("S-1 (Name of S-1) asks")
	opened := strings.TrimSpace(testfiles.Get(t, w.dir, "file"))
	testfiles.Until(t, "the file is gone", func() bool {
		_, err := os.Stat(opened)
		return os.IsNotExist(err)
	})
	other := newPage(t)
	other.open("file://" + file)
	other.see("This login link was used, or has expired.")
	p.fine()
}

// A notification links to the page of its slice, where the browser knows its session.
func TestNotificationLinks(t *testing.T) {
	w := newWorld(t, night, "S-1")
	w.serve()
	p := newPage(t).login(w.link())
	w.gl("settings", "set", "notify.command", `["sh","-c","cat >>$WORK/told"]`)
	w.gl("settings", "set", "web.url", w.web.at)
	w.gl("trust", "--yes")
	w.call("gl", "slice", "--watch", "--runner", "process")
	var link string
	for line := range strings.Lines(testfiles.Get(t, w.dir, "told")) {
		var m struct{ Kind, Link string }
		testfiles.Check(t, json.Unmarshal([]byte(line), &m))
		if m.Kind == "needs_you" {
			link = m.Link
		}
	}
	if link != w.web.at+"/open/slice/S-1" {
		t.Fatalf("link %q", link)
	}
	p.open(link)
	p.see("Your answer")
	p.see("S-1 asks: which currency")
	stranger := newPage(t)
	stranger.open(link)
	stranger.see("This browser isn't logged in.")
	p.fine()
}
