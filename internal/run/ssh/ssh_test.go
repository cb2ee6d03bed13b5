package ssh

import (
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// realSSH starts the sshd of this machine, with keys and a home directory of its own, and puts an
// ssh on PATH that connects to it by any name. It skips the test without sshd.
func realSSH(t *testing.T) (home string) {
	t.Helper()
	if os.Getenv("GREENLIGHT_LONG") == "" {
		t.Skip("GREENLIGHT_LONG isn't set")
	}
	sshd, err := exec.LookPath(cmp.Or(os.Getenv("GREENLIGHT_SSHD"), "/usr/sbin/sshd"))
	if err != nil {
		t.Skip("no sshd")
	}
	client, err := exec.LookPath("ssh")
	if err != nil {
		t.Skip("no ssh")
	}
	home, dir := t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, key := range []string{"host", "person"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	// what a session runs begins in the test's home instead of the person's
	session := write("session", "#!/bin/sh\nexport HOME="+home+"\ncd \"$HOME\"\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"\n", 0o755)
	config := write("sshd_config", "Port "+port+"\nListenAddress 127.0.0.1\nHostKey "+dir+"/host\n"+
		"AuthorizedKeysFile "+dir+"/person.pub\nPidFile none\nStrictModes no\nPasswordAuthentication no\n"+
		"ForceCommand "+session+"\n", 0o600)
	if out, err := exec.Command(sshd, "-t", "-f", config).CombinedOutput(); err != nil {
		t.Skipf("this sshd isn't set up: %s", out)
	}
	server := exec.Command(sshd, "-D", "-e", "-f", config)
	said := &strings.Builder{}
	server.Stderr = said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", said)
		}
	})
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	write("bin/ssh", "#!/bin/sh\nexec "+client+" -F none -p "+port+" -i "+dir+"/person -o BatchMode=yes -o HostName=127.0.0.1 "+
		"-o StrictHostKeyChecking=no -o UserKnownHostsFile="+dir+"/known -o LogLevel=ERROR -o ConnectionAttempts=20 \"$@\"\n", 0o755)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return home
}

// By the ssh of this machine, a worker is copied, started, and goes on when the connection is gone.
func TestRealHost(t *testing.T) {
	home := realSSH(t)
	gl := program(t, `echo $$ >pid; echo "worker $GL_WORKER_TOKEN $*"; exec sleep 60`)
	if err := Host("box").Install(t.Context(), gl); err != nil {
		t.Fatal(err)
	}
	said, err := Host("box").Work(t.Context(), "secret", []string{"--label", "a b; touch evil"})
	if err != nil || said != "worker secret worker --label a b; touch evil\n" {
		t.Fatalf("said %q: %v", said, err)
	}
	text, err := os.ReadFile(filepath.Join(home, "pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the worker %q ended with the connection: %v", text, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if err := Host("box").Install(t.Context(), program(t, "echo 'gl: no git here'; exit 1")); err != nil {
		t.Fatal(err) // over the old one
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
