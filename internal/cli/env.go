package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	xterm "golang.org/x/term"

	"greenlight/internal/attempt"
	"greenlight/internal/plan"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/slice"
	"greenlight/internal/suggest"
)

// An env is all of the outside world that a command sees.
type env struct {
	in      io.Reader
	out     io.Writer // stdout itself, to ask what it is and to hand to children; what gl says goes to data
	err     io.Writer
	data    *sink
	busy    *progress // nil, or what says how far something is
	environ []string

	dirFlag     string
	contextFlag string
	systemFlag  string
	noColor     bool
	noPager     bool
	verbose     bool
}

// contexts are the values of --context.
func contexts() []string { return []string{"shell", "claude"} }

// prepare checks the global flags.
func (e *env) prepare() error {
	if e.contextFlag != "" && !slices.Contains(contexts(), e.contextFlag) {
		return usage("--context must be %s", mustBe(e.contextFlag, contexts()))
	}
	if e.dirFlag != "" {
		if info, err := os.Stat(e.dirFlag); err != nil || !info.IsDir() {
			return usage("-C %s: no such directory", e.dirFlag)
		}
	}
	return nil
}

func newEnv(in io.Reader, out, err io.Writer, environ []string) *env {
	return &env{in: in, out: out, err: err, data: &sink{w: out}, environ: environ}
}

// getenv returns a variable of the environment, "" for one that isn't there.
func (e *env) getenv(key string) string {
	value, _ := e.lookupEnv(key)
	return value
}

// lookupEnv returns a variable of the environment, and whether it is there; the last of several counts.
func (e *env) lookupEnv(key string) (value string, set bool) {
	for _, kv := range e.environ {
		if k, v, ok := strings.Cut(kv, "="); ok && k == key {
			value, set = v, true
		}
	}
	return value, set
}

// dir is the directory to work from.
func (e *env) dir() (string, error) {
	if e.dirFlag != "" {
		return filepath.Abs(e.dirFlag)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("%w: go to one that is there, or give -C DIR (%w)", errGone, err)
	}
	return dir, nil
}

// errGone: somebody has removed the directory under us.
var errGone = errors.New("the current directory is gone")

// marks are the variables by which children of an agent can be told: those of Claude Code, codex, Gemini CLI and
// opencode, and gl's own.
func marks() []string {
	return []string{"CLAUDECODE", "CLAUDE_CODE", "CODEX_THREAD_ID", "GEMINI_CLI", "OPENCODE", "GL_SESSION"}
}

// inside says whether gl was called by an agent.
func (e *env) inside() bool {
	switch e.contextFlag {
	case "shell":
		return false
	case "claude":
		return true
	}
	return slices.ContainsFunc(marks(), func(name string) bool { return e.getenv(name) != "" })
}

// project opens the project that gl was called in.
func (e *env) project() (*project.Project, error) { return e.open(project.Open) }

func (e *env) open(open func(root string) (*project.Project, error)) (*project.Project, error) {
	dir, err := e.dir()
	if err != nil {
		return nil, err
	}
	root, err := project.Find(dir, e.getenv)
	if err != nil {
		return nil, err
	}
	pr, err := open(root)
	if err != nil || e.systemFlag == "" {
		return pr, err
	}
	if !slices.Contains(pr.Keys(), e.systemFlag) {
		return nil, usage("--system must be one that %s uses: %s", root, mustBe(e.systemFlag, pr.Keys()))
	}
	return pr.View(e.systemFlag), nil
}

// greenlight opens the project for a command that is about Greenlight's own slices.
func (e *env) greenlight() (*project.Project, error) {
	pr, err := e.project()
	if err == nil && pr.Slices == nil {
		return nil, fmt.Errorf("%s keeps its state by %s, and this is about Greenlight's slices: gl status, gl slice and %s work here",
			pr.Root, pr.System().Name, pr.System().Command)
	}
	return pr, err
}

// resolve finds the slice that a person means, and says so where it isn't what was typed.
func (e *env) resolve(p *plan.Plan, id string) (string, error) {
	if attempt.IsTask(id) {
		return "", fmt.Errorf("%s is no slice: gl logs, gl debug and gl stop take the attempts at tasks", id)
	}
	match, note, err := slice.Resolve(id, p.IDs())
	if err != nil {
		return "", cmp.Or[error](elsewhere(p, id), inWords{err, p.Snapshot.Noun})
	}
	if note != "" {
		e.message("%s", note)
	}
	return match, nil
}

// inWords is an error about slices in the words of a system that calls them otherwise.
type inWords struct {
	err  error
	noun string
}

func (w inWords) Error() string { return strings.Replace(w.err.Error(), "slice", w.noun, 1) }
func (w inWords) Unwrap() error { return w.err }

// elsewhere says which other system of the project has an item of that id; nil for none.
func elsewhere(p *plan.Plan, id string) error {
	pr, err := project.Open(p.Snapshot.Root)
	if err != nil {
		return nil
	}
	for _, v := range pr.Views() {
		if q, err := v.Plan(time.Now(), v.Options()); err == nil && q.Snapshot.Format != p.Snapshot.Format && q.State(id) != nil {
			return fmt.Errorf("%s is a %s of %s: add --system %s", id, q.Snapshot.Noun, v.System().Name, v.System().Key)
		}
	}
	return nil
}

// print writes data to stdout. Text that comes from files has passed sanitize.Text.
func (e *env) print(format string, a ...any) { fmt.Fprintf(e.data, format, a...) }

// message tells the person something, on stderr.
func (e *env) message(format string, a ...any) {
	e.busy.clear()
	fmt.Fprintln(e.err, sanitize.Text(fmt.Sprintf(format, a...)))
}

// detail is a message for --verbose, with its time.
func (e *env) detail(format string, a ...any) {
	if e.verbose {
		e.message(time.Now().Format("15:04:05.000")+" "+format, a...)
	}
}

// warn tells the warnings of a plan, one line each.
func (e *env) warn(p *plan.Plan) {
	for _, w := range p.Warnings {
		e.message("warning: %s", warningText(w))
	}
}

func warningText(w plan.Warning) string {
	if w.Path == "" || strings.Contains(w.Message, w.Path) {
		return w.Message
	}
	return w.Path + ": " + w.Message
}

// json prints one document.
func (e *env) json(v any) error {
	text, err := marshal(v, "  ")
	if err == nil {
		_, err = io.WriteString(e.data, text+"\n")
	}
	return err
}

// marshal is JSON that may be shown: <, > and & are themselves, what a terminal may obey is escaped.
func marshal(v any, indent string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return escapeInvisible(strings.TrimSuffix(b.String(), "\n")), err
}

// escapeInvisible escapes what encoding/json leaves as it is and a terminal may obey: C1 controls and the marks that
// turn the direction of text. They stand only inside strings, where \u means the same.
func escapeInvisible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if 0x7f <= r && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// terminal returns stdout when it is a terminal whose cursor can be moved, else nil. Whether it may be coloured is
// another question.
func (e *env) terminal() *os.File {
	f, ok := e.out.(*os.File)
	if !ok || !xterm.IsTerminal(int(f.Fd())) || e.getenv("TERM") == "dumb" {
		return nil
	}
	return f
}

// nearFlag is the command's flag that was probably meant.
func nearFlag(c *cobra.Command, bad string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return suggest.Match(bad, names)
}

// self is the path of this program, for starting wrappers and agents with. On Linux it is a name for the very file
// that runs, which stays right when gl is replaced in the middle of a drain.
func self() (string, error) {
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", errors.Join(errors.New("gl can't find its own program"), err)
	}
	return path, nil
}
