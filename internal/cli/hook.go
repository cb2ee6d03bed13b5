package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/attempt"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/guard"
	"greenlight/internal/plan"
	"greenlight/internal/plugin"
	"greenlight/internal/project"
	"greenlight/internal/sanitize"
	"greenlight/internal/slice"
	"greenlight/internal/statedir"
)

const hookCommand = "hook"

// newHook is only for the help: Main calls runHook without a command tree, because a hook runs at every edit.
func newHook(app *cmdutil.App) *cobra.Command {
	return &cobra.Command{
		Use:    hookCommand + " session-start|guard|stop",
		Short:  "What Claude Code calls while it works",
		Hidden: true,
		Long: `What Claude Code calls while it works, with a JSON document on stdin. Outside a project, and where it can't read what it
is given, it says nothing and is in nobody's way.

session-start prints the state of the project, which becomes part of the conversation.
guard refuses (exit 2) to write the frontmatter of slice files, a generated STATE.md and what is under .greenlight/runs, and
keeps agents from tests that their isolation doesn't give them.
stop asks a session once for a word about the slice that it has claimed and leaves in progress.

Exit codes: 0 go on; 2 refused, with the reason on stderr.`,
		Example:   "  gl hook guard < call.json",
		ValidArgs: []string{"session-start", "guard", "stop"},
		Args:      cmdutil.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(_ *cobra.Command, a []string) error {
			return runHook(app, a[0])
		},
	}
}

// A hookInput is what the client tells a hook, as far as we look at it.
type hookInput struct {
	Event      string      `json:"hook_event_name"`
	Session    string      `json:"session_id"`
	Cwd        string      `json:"cwd"`
	AgentID    string      `json:"agent_id"`
	AgentType  string      `json:"agent_type"` // "gl:gl-implementer" of a plugin, "gl-implementer" else; only in sub-agents
	Source     string      `json:"source"`
	Tool       string      `json:"tool_name"`
	ToolInput  guard.Input `json:"tool_input"`
	StopActive bool        `json:"stop_hook_active"` // this session goes on because a hook wanted it to
	Background []any       `json:"background_tasks"` // they wake the session when they are done
}

// maxHookInput bounds what is read: a larger call is let pass.
const maxHookInput = 64 << 20

// runHook answers one call. Whatever goes wrong here is no reason to stop anybody's work: a panic would exit with 2, which
// to the client is a refusal.
func runHook(app *cmdutil.App, name string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = nil
		}
	}()
	data, err := io.ReadAll(io.LimitReader(app.IO.In, maxHookInput))
	if err != nil {
		return nil
	}
	var in hookInput
	if json.Unmarshal(data, &in) != nil {
		return nil
	}
	switch name {
	case "session-start":
		return hookStart(app, &in)
	case "guard":
		return hookGuard(app, &in)
	case "stop":
		return hookStop(app, &in)
	}
	return nil
}

// hookProject opens the project that a path belongs to; nil where there is none.
func hookProject(app *cmdutil.App, dir string) *project.Project {
	root, err := project.Find(dir, app.Getenv)
	if err != nil {
		return nil
	}
	pr, err := project.Open(root)
	if err != nil {
		return nil
	}
	return pr
}

// hookGuard refuses with exit 2 and the reason on stderr, which the client shows to the agent.
func hookGuard(app *cmdutil.App, in *hookInput) error {
	_, name, plugin := strings.Cut(in.AgentType, ":")
	if !plugin {
		name = in.AgentType
	}
	call := guard.Call{Tool: in.Tool, Agent: name, Input: in.ToolInput}
	path := call.Path()
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(in.Cwd, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	refusal := guardState(app, call, in.Cwd, real(path))
	if refusal == nil {
		refusal = guardTests(app, call, in, real(path))
	}
	if refusal != nil {
		return &cmdutil.ExitError{Code: cmdutil.ExitUsage, Err: refusal}
	}
	return nil
}

// real follows links as far as the path is there.
func real(path string) string {
	if full, err := filepath.EvalSymlinks(path); err == nil {
		return full
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(real(dir), filepath.Base(path))
}

// guardState looks at files in the .greenlight of the session's own project, and reads nothing for any other. One that lies
// elsewhere, below testdata for instance, is a file like others.
func guardState(app *cmdutil.App, call guard.Call, cwd, path string) error {
	_, rel, ok := strings.Cut(filepath.ToSlash(path), "/"+statedir.Name+"/")
	if !ok {
		return nil
	}
	dir := strings.TrimSuffix(path, filepath.FromSlash(statedir.Name+"/"+rel))
	root, err := project.Find(cwd, app.Getenv)
	if err != nil { // the session has gone elsewhere
		root, err = project.Find(dir, app.Getenv)
	}
	if err != nil || real(root) != filepath.Clean(dir) { // a copy on a branch isn't the state
		return nil
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && before == nil {
		before = []byte{}
	}
	format, err := slice.Detect(root)
	return guard.State(call, rel, before, err == nil && format != "legacy")
}

// guardTests looks at tests of the project.
func guardTests(app *cmdutil.App, call guard.Call, in *hookInput, path string) error {
	root, err := project.Find(in.Cwd, app.Getenv)
	if err != nil {
		return nil
	}
	cwd, err := filepath.Abs(in.Cwd)
	if err != nil {
		return nil
	}
	rel := within(path, real(cwd), real(root))
	if rel == "" || !guard.IsTest(rel) {
		return nil
	}
	if call.Agent != "" {
		return isolation().Tests(call, rel)
	}
	pr := hookProject(app, in.Cwd)
	if pr == nil {
		return nil
	}
	for _, st := range held(app, pr, in) {
		if strings.EqualFold(st.Step, "implementing") {
			return guard.Implementing(call, rel, st.ID)
		}
	}
	return nil
}

// within is the path relative to the first of the directories that it is in, with forward slashes; "" for none.
func within(path string, dirs ...string) string {
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return ""
}

// isolation is the content's own; none where the content has none.
func isolation() guard.Isolation {
	data, err := plugin.Read("isolation.json")
	if err != nil {
		return nil
	}
	all, _ := guard.ParseIsolation(data) // a test holds that it can be read
	return all
}

// held are the slices that the session holds.
func held(app *cmdutil.App, pr *project.Project, in *hookInput) []*plan.State {
	p, err := pr.Plan(time.Now(), pr.Options())
	if err != nil {
		return nil
	}
	var mine []*plan.State
	for i := range p.States {
		st := &p.States[i]
		who := attempt.NewClaimant(app.Getenv, st.ID)
		if who.Token == "" && in.Session != "" {
			who.Holder = in.Session
		}
		if st.Class == plan.Active && who.Holds(pr.Runs, st) {
			mine = append(mine, st)
		}
	}
	return mine
}

// hookStart prints what a session had better know before its first word.
func hookStart(app *cmdutil.App, in *hookInput) error {
	pr := hookProject(app, in.Cwd)
	if pr == nil {
		return nil
	}
	if app.Getenv("GL_SESSION") != "" {
		hookOwn(app, pr)
		return nil
	}
	now := time.Now()
	p, err := pr.Plan(now, pr.Options())
	if err != nil {
		return nil
	}
	if pr.Slices != nil {
		app.IO.Printf("Greenlight keeps this project's state, changed through gl alone: %d/%d done.\n", p.Done, p.Total)
	} else {
		app.IO.Printf("This project keeps its state by %s, and gl builds its %ss: %d/%d done.\n", pr.System().Name, p.Snapshot.Noun, p.Done, p.Total)
	}
	for _, st := range held(app, pr, in) {
		app.IO.Printf("This session has claimed %s (%s).\n", sanitize.Text(st.ID), sanitize.Text(st.Progress()))
	}
	hookLists(app, pr, p, now)
	return nil
}

// hookOwn tells a session that gl started what it is there for, and nothing of other work.
func hookOwn(app *cmdutil.App, pr *project.Project) {
	id, claim := sanitize.Text(cmp.Or(app.Getenv("GL_SLICE"), app.Getenv("GL_TASK"))), ""
	if id == "" {
		return
	}
	switch {
	case app.Getenv("GL_SLICE") == "":
	case pr.Slices != nil:
		claim = " and holds its claim: gl state show " + id
	default:
		claim = " and holds its claim: gl why " + id
	}
	app.IO.Printf("This session works on %s for gl%s. Nobody is there to answer questions.\n", id, claim)
}

// hookLists prints what runs, what is ready and what is stuck, and the command that goes on from there.
func hookLists(app *cmdutil.App, pr *project.Project, p *plan.Plan, now time.Time) {
	if p.Hold != nil {
		app.IO.Printf("Held: %s\n", heldText(p.Hold, now))
	}
	for _, l := range []struct {
		label string
		ids   []string
		text  func([]string) string
	}{
		{"Running", p.Running, func(ids []string) string { return strings.Join(ids, ", ") }},
		{"Ready", p.Ready, func(ids []string) string { return strings.Join(ids, ", ") }},
		{"Waiting for a person", p.Waiting, func(ids []string) string { return briefs(p, ids, now) }},
		{"Failed", p.Failed, func(ids []string) string { return briefs(p, ids, now) }},
		{"Stalled", p.Stalled, func(ids []string) string { return briefs(p, ids, now) }},
	} {
		const most = 6
		if n := len(l.ids); n > 0 {
			app.IO.Printf("%s: %s%s\n", l.label, sanitize.Text(l.text(l.ids[:min(n, most)])), more(n-most))
		}
	}
	switch {
	case len(p.Failed)+len(p.Stalled) > 0:
		app.IO.Printf("Next: gl why says what to do about each; gl slice builds what is ready.\n")
	case len(p.Ready) > 0:
		command, _, _ := strings.Cut(pr.Tracker.Prompt(p.Ready[0]), " ")
		app.IO.Printf("Next: %s builds %s; gl slice --watch in a terminal builds all.\n", command, sanitize.Text(p.Ready[0]))
	case p.Done < p.Total && len(p.Running) == 0:
		app.IO.Printf("Next: gl why.\n")
	}
}

// hookStop asks for a word about a slice that is left in progress, once for each claim.
func hookStop(app *cmdutil.App, in *hookInput) error {
	if in.StopActive || in.AgentID != "" || in.Event != "Stop" || len(in.Background) > 0 {
		return nil
	}
	pr := hookProject(app, in.Cwd)
	if pr == nil || pr.Slices == nil { // other systems have no claims
		return nil
	}
	for _, st := range held(app, pr, in) {
		if plan.Classify(st.Status) == plan.Done || plan.Classify(st.Status) == plan.Failed || st.WaitingFor != "" || st.Paused {
			continue
		}
		token := st.Session
		if token == "" && st.Attempt != nil {
			token = st.Attempt.Token
		}
		if first, err := pr.Runs.TellOnce(st.ID, token); err != nil || !first {
			continue
		}
		reason := fmt.Sprintf("%s is still in progress (%s), and this session holds it. Go on with it, or end it with a word: "+
			"gl state set %s status=complete step=complete tests=N when all is done and committed; "+
			"gl state set %s waiting_for=\"what is needed\" when a person is needed; gl state release %s to give it back. "+
			"If you only wait for an answer, stop again: this is said once.", st.ID, st.Progress(), st.ID, st.ID, st.ID)
		return app.IO.JSON(map[string]string{"decision": "block", "reason": sanitize.Text(reason)})
	}
	return nil
}
