package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeSSH puts a program on PATH that runs the script in a directory of its own, as the host, and
// keeps its arguments.
func fakeSSH(t *testing.T) (home string) {
	t.Helper()
	home, path := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >>" + path + "/argv\nexport HOME=" + home + "\ncd \"$HOME\"\nshift 3\nexec sh -c \"$1\"\n"
	if err := os.WriteFile(filepath.Join(path, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", path+":"+os.Getenv("PATH"))
	t.Cleanup(func() {
		argv, _ := os.ReadFile(filepath.Join(path, "argv"))
		if strings.Contains(string(argv), "secret") {
			t.Error("the token is in the arguments of ssh")
		}
	})
	return home
}

// program writes a gl that does what the script says.
func program(t *testing.T, script string) string {
	t.Helper()
	gl := filepath.Join(t.TempDir(), "gl")
	if err := os.WriteFile(gl, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return gl
}

func TestWorkerIsStarted(t *testing.T) {
	home := fakeSSH(t)
	gl := program(t, `echo "worker $GL_WORKER_TOKEN $*"; exec sleep 5 # it goes on`)
	if err := Host("box").Install(t.Context(), gl); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(home, bin, "gl"))
	if err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Fatalf("%v %v", info, err)
	}
	said, err := Host("box").Work(t.Context(), "secret", []string{"--label", "a b; touch evil"})
	if err != nil || said != "worker secret worker --label a b; touch evil\n" {
		t.Errorf("said %q: %v", said, err)
	}
	if _, err := os.Stat(filepath.Join(home, "evil")); err == nil {
		t.Error("an argument was run")
	}
}

func TestWorkerThatEnds(t *testing.T) {
	fakeSSH(t)
	if err := Host("box").Install(t.Context(), program(t, "echo 'gl: no git here'; exit 1")); err != nil {
		t.Fatal(err)
	}
	if _, err := Host("box").Work(t.Context(), "secret", nil); err == nil || !strings.Contains(err.Error(), "no git here") {
		t.Errorf("%v", err)
	}
}

func TestHosts(t *testing.T) {
	for _, bad := range []Host{"", "-oProxyCommand=x", "a b", "a\nb"} {
		if err := bad.Install(t.Context()); err == nil {
			t.Errorf("%q is a host", bad)
		}
	}
	if sameSystem("Plan9 mips") {
		t.Error("another system is the same")
	}
}
