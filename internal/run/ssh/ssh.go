// Package ssh starts workers on other machines: it copies gl there and runs it. No other package
// runs ssh. Logins, hosts' names and keys are those of the person's own configuration of ssh.
package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"greenlight/internal/base/paths"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/shellwords"
)

// A Host is a machine by the name that ssh knows.
type Host string

// Check returns an error for what ssh would take for an option, or for several words.
func (h Host) Check() error {
	if h == "" || h[0] == '-' || strings.ContainsFunc(string(h), func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%q can't be a host's name", string(h))
	}
	return nil
}

// run runs a script of the host's shell, and returns what it prints. ssh gives the shell one
// string, so everything in it is fixed or quoted.
func (h Host) run(ctx context.Context, in io.Reader, script string) (string, error) {
	if err := h.Check(); err != nil {
		return "", err
	}
	program, err := paths.Program("ssh", "")
	if err != nil {
		return "", errors.New("ssh is not on PATH")
	}
	cmd := exec.CommandContext(ctx, program, "-T", "--", string(h), script)
	cmd.Stdin = in
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("ssh %s: %s: %w", h, sanitize.Excerpt(errs.String(), 300), err)
	}
	return string(out), nil
}

// bin is where gl is on a host, in the home directory.
const bin = ".local/share/greenlight/bin"

// Install copies programs to the host, if it is of this machine's system. Those that run there
// continue with the old files.
func (h Host) Install(ctx context.Context, programs ...string) error {
	system, err := h.run(ctx, nil, "uname -sm")
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(system); !sameSystem(got) {
		return fmt.Errorf("%s is %s, and this gl is for %s/%s: install gl there, and use gl workers invite", h,
			sanitize.Excerpt(got, 60), runtime.GOOS, runtime.GOARCH)
	}
	for _, p := range programs {
		if err := h.copy(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func sameSystem(uname string) bool {
	names := map[string]string{"Linux": "linux", "Darwin": "darwin", "x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
	system, machine, _ := strings.Cut(uname, " ")
	return names[system] == runtime.GOOS && names[machine] == runtime.GOARCH
}

func (h Host) copy(ctx context.Context, program string) error {
	f, err := os.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	to := shellwords.Quote(bin + "/" + filepath.Base(program))
	_, err = h.run(ctx, f, "mkdir -p "+bin+" && cat > "+to+".new && chmod 755 "+to+".new && mv "+to+".new "+to)
	return err
}

// startWorker starts gl worker so that it outlives the connection, and waits until it says what it
// works for, or has ended. The token comes by standard input.
const startWorker = `umask 077
IFS= read -r GL_WORKER_TOKEN || exit 1
export GL_WORKER_TOKEN
PATH="$HOME/.local/bin:$PATH"
log=.local/share/greenlight/worker.log
nohup %s >"$log" 2>&1 </dev/null &
worker=$!
i=0
while [ $i -lt 300 ] && ! grep -q '^worker ' "$log"; do
	kill -0 $worker 2>/dev/null || { cat "$log"; exit 3; }
	sleep 0.2
	i=$((i+1))
done
cat "$log"
`

// Work starts a worker on the host with a join token and gl worker's arguments. It returns what the
// worker says.
func (h Host) Work(ctx context.Context, token string, args []string) (said string, err error) {
	argv := append([]string{bin + "/gl", "worker"}, args...)
	for i := range argv {
		argv[i] = shellwords.Quote(argv[i])
	}
	said, err = h.run(ctx, strings.NewReader(token+"\n"), fmt.Sprintf(startWorker, strings.Join(argv, " ")))
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 3 {
		return said, fmt.Errorf("the worker on %s ended: %s", h, sanitize.Excerpt(said, 600))
	}
	return said, err
}
