package sw

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"greenlight/internal/base/durable"
	"greenlight/internal/base/sanitize"
	"greenlight/internal/base/trust"
	"greenlight/internal/base/words"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
	"greenlight/internal/state/specwright"
)

// A mechanicalGate is a gate whose verdict is the result of a command.
type mechanicalGate struct {
	name    string
	command testrun.Command
	test    project.Test // limit and pattern
	trusted []trust.Command
}

// mechanical returns the gate's command: for tests the project's test.command, otherwise the one
// in Specwright's config.json.
func mechanical(root, name string) (*mechanicalGate, error) {
	name = strings.TrimPrefix(name, "gate-")
	if name != "build" && name != "tests" {
		return nil, cmdutil.Usage("--run is for the gates build and tests, whose verdict is the result of a command: "+
			"record %s's with gl sw gate %s VERDICT", name, name)
	}
	pr, err := project.Open(root)
	if err != nil {
		return nil, err
	}
	settings, err := pr.Settings()
	if err != nil {
		return nil, err
	}
	g := &mechanicalGate{name: name}
	var commands []trust.Command
	if g.test, commands = settings.Test(); name == "tests" && len(commands) > 0 {
		g.command, g.trusted = g.test.Command, commands
		return g, nil
	}
	cfg := specwright.ReadConfig(root)
	line := cfg.Commands[name]
	if line == "" {
		help := "set commands.build in .specwright/config.json, or record gl sw gate build SKIP"
		if name == "tests" {
			help = "set it with gl settings set test.command"
		}
		return nil, fmt.Errorf("there is no command for the gate %s: %s", name, help)
	}
	for _, c := range cfg.Trusted() {
		if c.Key == trust.Specwright+name {
			g.trusted = append(g.trusted, c)
		}
	}
	g.command, err = testrun.ParseCommand(line)
	return g, err
}

// mayTell refuses an agent's word that a gate has passed where gl can run the gate.
func (s *caller) mayTell(r specwright.Result) error {
	_, root, err := s.open()
	if err != nil || r.Status == "FAIL" || r.Status == "ERROR" || s.caller(root).Unit == "" {
		return nil // the command itself reports the error
	}
	g, err := mechanical(root, r.Name)
	if err != nil || trust.Open(s.app.Getenv).Check(root, g.trusted) != nil {
		return nil
	}
	return fmt.Errorf("gl runs the gate %s here: gl sw gate %s --run", g.name, g.name)
}

// runGate runs a mechanical gate's command in the checkout and records its verdict, with the
// run as evidence.
func (s *caller) runGate(ctx context.Context, name string) error {
	store, root, err := s.open()
	if err != nil {
		return err
	}
	g, err := mechanical(root, name)
	if err != nil {
		return err
	}
	if err := trust.Open(s.app.Getenv).Check(root, g.trusted); err != nil {
		return err
	}
	who, dir := s.caller(root), ""
	if _, err := s.update(ctx, store, who, func(e *specwright.Edit) error {
		dir = e.State.Work.EvidenceDir()
		return e.MayRecord()
	}); err != nil {
		return err
	}
	v, err := g.run(ctx, root, s.app)
	if err != nil {
		return err
	}
	r := g.result(v)
	if dir != "" {
		r.Evidence = dir + "/" + g.name + "-report.md"
		if err := writeEvidence(root, r.Evidence, g.report(r, v)); err != nil {
			return err
		}
	}
	if err := s.simple(ctx, func(e *specwright.Edit) error {
		if e.State.Work == nil || e.State.Work.EvidenceDir() != dir {
			return errors.New("another unit became the current one meanwhile: run gl sw status")
		}
		return e.SetGate(r)
	}, func(*specwright.Edit) string {
		return "gate " + g.name + ": " + r.Status + " (" + g.how(v) + ")"
	}); err != nil {
		return err
	}
	if r.Block > 0 {
		return &cmdutil.ExitError{Code: cmdutil.ExitFailed}
	}
	return nil
}

func (g *mechanicalGate) run(ctx context.Context, root string,
	app *cmdutil.App) (*testrun.Verdict, error) {
	self, err := cmdutil.Self()
	if err != nil {
		return nil, err
	}
	busy := app.IO.Progress("running the gate " + g.name)
	defer busy.Done()
	return testrun.Run(ctx, testrun.Spec{
		Executor: executor.NewLocal(self), Command: g.command, Root: root, Top: root, Dir: root,
		Env: app.Environ, Limit: g.test.Limit, Pattern: g.test.Pattern,
		Line: func(text string) { busy.Step("running the gate " + g.name + ": " + text) },
	})
}

// result returns the verdict of a run. A command that couldn't end by itself says nothing about
// the work, so that is an ERROR.
func (g *mechanicalGate) result(v *testrun.Verdict) specwright.Result {
	r := specwright.Result{Name: g.name, Status: "PASS"}
	switch {
	case v.ExitCode == nil:
		r.Status, r.Block = "ERROR", 1
	case !v.Green():
		r.Status, r.Block = "FAIL", max(1, v.FailedCount())
	case g.name == "tests" && v.Passed != nil && *v.Passed == 0:
		r.Status, r.Warn = "WARN", 1
	}
	return r
}

// how returns how the run ended, in a few words.
func (g *mechanicalGate) how(v *testrun.Verdict) string {
	switch {
	case !v.Green():
		return v.How(plan.Age(g.test.Limit))
	case g.name == "tests":
		return v.Count()
	}
	return "in " + plan.Age(v.Duration())
}

// report returns the evidence of a run.
func (g *mechanicalGate) report(r specwright.Result, v *testrun.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Gate %s: %s\n\n- Command: `%s`\n- Run by gl at %s, for %s\n- Result: %s\n", g.name, r.Status,
		sanitize.Line(v.Command), v.At.Format(time.RFC3339), plan.Age(v.Duration()),
		sanitize.Line(g.how(v)))
	if v.Failed != nil && v.Passed != nil {
		fmt.Fprintf(&b, "- %s passed, %d failed\n", words.Count(*v.Passed, "test"), *v.Failed)
	}
	for _, name := range v.Failing {
		fmt.Fprintf(&b, "- failed: %s\n", sanitize.Line(name))
	}
	lines := v.Last
	if len(v.Failure) > 0 {
		lines = v.Failure
	}
	b.WriteString("\n## Output\n\n")
	for _, line := range lines {
		b.WriteString("    " + sanitize.Line(line) + "\n")
	}
	return b.String()
}

// writeEvidence replaces the report of an earlier run.
func writeEvidence(root, path, text string) error {
	to := filepath.Join(root, filepath.FromSlash(path))
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return fmt.Errorf("the work's directory is outside the project: %s", path)
	}
	if err := durable.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	old, err := durable.ReadFile(to)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return durable.Replace(to, old, []byte(text))
}
