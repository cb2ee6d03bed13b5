//go:build browser

package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"greenlight/internal/base/testfiles"
)

// patience is how long something may take on a busy machine.
const patience = 2 * time.Minute

// gl is the program under test.
var gl string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	gl = filepath.Join(dir, "gl")
	if out, err := exec.Command("go", "build", "-o", gl, "greenlight/cmd/gl").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build gl: %v\n%s", err, out)
		return 1
	}
	defer endBrowser()
	return m.Run()
}

// A world is a project in a git repository, and a home.
type world struct {
	*testing.T
	dir, root string
	env       []string
	web       *server
}

// newWorld creates a project with slices, built by the commands of build.
func newWorld(t *testing.T, build string, slices ...string) *world {
	t.Helper()
	if _, err := findChromium(); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testfiles.Check(t, err)
	w := &world{T: t, dir: dir, root: filepath.Join(dir, "shop")}
	home := filepath.Join(dir, "home")
	testfiles.Put(t, home, ".gitconfig", "[user]\n\tname = Tester\n\temail = tester@example.com\n")
	w.env = []string{"PATH=" + filepath.Dir(gl) + ":" + os.Getenv("PATH"), "HOME=" + home,
		"WORK=" + dir, "LANG=C.UTF-8", "TERM=xterm-256color"}
	testfiles.Put(t, w.root, "shared", "green\n")
	testfiles.Put(t, w.root, "test", testCommand)
	testfiles.Put(t, dir, "build", "set -e\nid=$GL_SLICE n=$GL_ATTEMPT\n"+build)
	w.gl("init", "--no-agent", "--graph", w.graph(slices))
	w.must("git", "init", "-q", "-b", "main")
	agent, err := json.Marshal([]string{"sh", filepath.Join(dir, "build")})
	testfiles.Check(t, err)
	w.gl("settings", "set", "parallel.agents.build.command", string(agent))
	w.gl("settings", "set", "parallel.agent", "build")
	w.gl("settings", "set", "test.command", "sh ./test")
	w.gl("settings", "set", "git.commit_state", "false")
	w.gl("trust", "--yes")
	w.must("git", "add", "-A")
	w.must("git", "commit", "-q", "-m", "start")
	return w
}

// testCommand is red where there is a file red, and no file mended.
const testCommand = `if [ -f red ] && [ ! -f mended ]; then
	echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'
	exit 1
fi
echo 'test result: ok. 2 passed; 0 failed; 0 ignored'
`

// built ends the build of a slice well.
const built = `
echo "$id $n" > "built-$id"
git add -A
git commit -qm "build $id"
gl state set "$id" status=complete step=complete
`

// graph writes the graph of slices: "S-2:S-1" depends on S-1.
func (w *world) graph(slices []string) string {
	type entry struct {
		ID   string   `json:"id"`
		Name string   `json:"name"`
		Deps []string `json:"depends_on"`
	}
	var all []entry
	for _, s := range slices {
		id, dep, _ := strings.Cut(s, ":")
		all = append(all, entry{id, "Name of " + id, strings.Fields(dep)})
	}
	data, err := json.Marshal(map[string]any{"slices": all})
	testfiles.Check(w, err)
	testfiles.Put(w, w.dir, "graph.json", string(data))
	return filepath.Join(w.dir, "graph.json")
}

// command returns a program to run in the project.
func (w *world) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	if name == "gl" {
		name = gl
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.root, w.env
	return cmd
}

// call runs a program to its end, and returns its output and exit code.
func (w *world) call(name string, args ...string) (string, int) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := w.command(ctx, name, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (w *world) must(name string, args ...string) string {
	w.Helper()
	out, code := w.call(name, args...)
	if code != 0 {
		w.Fatalf("%s %q: exit %d\n%s", name, args, code, out)
	}
	return out
}

func (w *world) gl(args ...string) string {
	w.Helper()
	return w.must("gl", args...)
}

// classes returns what gl status says about the slices.
func (w *world) classes() map[string]string {
	w.Helper()
	var doc struct {
		Slices []struct{ ID, Class string }
	}
	testfiles.Check(w, json.Unmarshal([]byte(w.gl("status", "--json")), &doc))
	is := map[string]string{}
	for _, s := range doc.Slices {
		is[s.ID] = s.Class
	}
	return is
}

// is fails unless a slice is of a class, or soon becomes so.
func (w *world) is(id, class string) {
	w.Helper()
	got := ""
	deadline := time.Now().Add(patience)
	for got = w.classes()[id]; got != class && time.Now().Before(deadline); got = w.classes()[id] {
		time.Sleep(50 * time.Millisecond)
	}
	if got != class {
		w.Errorf("%s is %s, not %s\n%s", id, got, class, w.gl("why", id))
	}
}

// file returns the file of a slice.
func (w *world) file(id string) string {
	w.Helper()
	return testfiles.Get(w, w.root, ".greenlight/slices/"+id+".md")
}

// A server is a gl web that runs.
type server struct {
	*exec.Cmd
	out  string // the file with what it prints
	at   string // its address
	done chan struct{}
}

// start starts a program that prints the address of gl web.
func (w *world) start(name string, args ...string) *server {
	w.Helper()
	out, err := os.CreateTemp(w.dir, "out")
	testfiles.Check(w, err)
	defer out.Close()
	s := &server{Cmd: w.command(context.Background(), name, args...), out: out.Name(),
		done: make(chan struct{})}
	s.Stdout, s.Stderr = out, out
	testfiles.Check(w, s.Start())
	go func() {
		defer close(s.done)
		_ = s.Wait()
	}()
	w.Cleanup(s.end)
	return s
}

// end ends the program as Ctrl-C does, and waits for it.
func (s *server) end() {
	_ = s.Process.Signal(syscall.SIGINT)
	select {
	case <-s.done:
	case <-time.After(patience):
		_ = s.Process.Kill()
		<-s.done
	}
}

// said waits until what the program prints has a match, and returns its last group.
func (w *world) said(s *server, pattern string) string {
	w.Helper()
	re := regexp.MustCompile(pattern)
	var found [][]byte
	testfiles.Until(w, pattern, func() bool {
		data, err := os.ReadFile(s.out)
		testfiles.Check(w, err)
		found = re.FindSubmatch(data)
		return found != nil
	})
	return string(found[len(found)-1])
}

// serve starts gl web.
func (w *world) serve(args ...string) *server {
	w.Helper()
	w.web = w.start("gl", append([]string{"web", "--link", "--no-open"}, args...)...)
	w.web.at = w.said(w.web, `(https?://[^/\s]+)/login/\S+`)
	return w.web
}

// link returns another login link of the gl web that runs.
func (w *world) link(args ...string) string {
	w.Helper()
	out := w.gl(append([]string{"web", "--link"}, args...)...)
	m := regexp.MustCompile(`https?://\S+/login/\S+`).FindString(out)
	if m == "" {
		w.Fatalf("no link: %s", out)
	}
	return m
}
