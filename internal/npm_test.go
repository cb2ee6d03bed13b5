package internal

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// fakeGl stands for gl in the packages: it prints its arguments, standard input and name, exits as
// it is told, or waits for a signal.
const fakeGl = `#!/bin/sh
case $1 in
wait) trap 'echo heard; exit 7' TERM; echo ready; while :; do sleep 0.01; done ;;
die) kill -KILL $$ ;;
esac
for a; do printf '<%s>' "$a"; done
cat
exit 3
`

// The npm packages run gl as if the wrapper weren't there.
func TestNPMWrapper(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node isn't installed")
	}
	wrapper := filepath.Join(npmPackages(t, node), "gl.js")

	c := exec.Command(node, wrapper, "a b", "", "--flag=*", "$HOME")
	c.Stdin = strings.NewReader("input")
	out, _ := c.Output()
	if got := string(out); got != "<a b><><--flag=*><$HOME>input" || c.ProcessState.ExitCode() != 3 {
		t.Errorf("got %q, %v", got, c.ProcessState)
	}

	c = exec.Command(node, wrapper, "die")
	_ = c.Run()
	if s := c.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		t.Errorf("gl was killed, and the wrapper ended with %v", c.ProcessState)
	}

	c = exec.Command(node, wrapper, "wait")
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("ready\n"))
	if _, err := stdout.Read(line); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != 7 {
		t.Errorf("a signal didn't reach gl: %v", c.ProcessState)
	}

	platform := filepath.Join(filepath.Dir(filepath.Dir(wrapper)), "green-light-"+npmPlatform())
	if err := os.RemoveAll(platform); err != nil {
		t.Fatal(err)
	}
	out, err = exec.Command(node, wrapper).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "npm install green-light --include=optional") {
		t.Errorf("without the platform's package: %v\n%s", err, out)
	}
}

// npmPlatform is this platform in npm's words.
func npmPlatform() string {
	return runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
}

// npmPackages makes the packages of a release and lays them out as npm does; it returns the
// directory of the wrapper.
func npmPackages(t *testing.T, node string) string {
	t.Helper()
	dist, out := t.TempDir(), t.TempDir()
	write(t, dist, map[string]string{"gl": fakeGl, "gl-remote": fakeGl})
	for _, name := range []string{"gl", "gl-remote"} {
		if err := os.Chmod(filepath.Join(dist, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		tar := exec.Command("tar", "-czf", "greenlight_1.2.3_"+p+".tar.gz", "gl", "gl-remote")
		tar.Dir = dist
		if msg, err := tar.CombinedOutput(); err != nil {
			t.Fatal(err, string(msg))
		}
	}
	build := exec.Command(node, "../packaging/npm/build.js", dist, out, "green-light", "1.2.3")
	if msg, err := build.CombinedOutput(); err != nil {
		t.Fatal(err, string(msg))
	}
	modules := filepath.Join(out, "node_modules")
	if err := os.Mkdir(modules, 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"wrapper": "green-light",
		npmPlatform(): "green-light-" + npmPlatform()} {
		if err := os.Rename(filepath.Join(out, from), filepath.Join(modules, to)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(modules, "green-light")
}
