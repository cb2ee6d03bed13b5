package debugreport

import (
	"context"

	"greenlight/internal/base/jsondoc"
	"greenlight/internal/base/trust"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/executor"
	"greenlight/internal/run/project"
	"greenlight/internal/run/testrun"
)

// Tests is the project's test command and, if it was run, its result.
type Tests struct {
	Command  *string  `json:"command"` // null for none
	Ran      bool     `json:"ran"`
	Error    *string  `json:"error"`     // why it couldn't run, or the signal that ended it
	ExitCode *int     `json:"exit_code"` // null also if a signal ended it
	Seconds  *float64 `json:"seconds"`
	Output   []string `json:"output"` // the last lines

	// the command, which a person must have allowed before it runs
	Commands []trust.Command `json:"-"`
	test     project.Test
}

// maxOutput is how many lines of the tests' output are kept.
const maxOutput = 500

// newTests returns the test command from config.json.
func newTests(pr *project.Project) Tests {
	t := Tests{Output: []string{}}
	s, _ := pr.Settings() // the plan warns of a file that can't be read
	if t.test, t.Commands = s.Test(); len(t.Commands) > 0 {
		t.Command = &t.Commands[0].Line
	}
	return t
}

// Run runs the test command in root, if there is one. It calls line with each line of output as
// it arrives, safe to print. self is the path of gl.
func (t *Tests) Run(ctx context.Context, self, root string, environ []string, line func(string)) {
	if t.Command == nil {
		return
	}
	v, err := testrun.Run(ctx, testrun.Spec{
		Executor: executor.NewLocal(self), Command: t.test.Command, Root: root, Top: root,
		Dir: root, Env: environ, Limit: t.test.Limit, Pattern: t.test.Pattern,
		Line: func(text string) {
			line(text)
			t.Output = append(t.Output, text)
			t.Output = t.Output[max(0, len(t.Output)-maxOutput):]
		},
	})
	if err != nil {
		t.Error = jsondoc.OrNull(err.Error())
		return
	}
	t.Ran, t.Seconds, t.ExitCode = true, &v.Seconds, v.ExitCode
	if v.ExitCode == nil {
		t.Error = jsondoc.OrNull(v.How(plan.Age(t.test.Limit)))
	}
}
