package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"greenlight/internal/base/shellwords"
	"greenlight/internal/cli/cmdutil"
	"greenlight/internal/cli/ops"
	"greenlight/internal/run/attempt"
	"greenlight/internal/run/project"
)

// Agents must not make a person's decisions: what is merged, what it may cost, what gl runs, the
// state of other slices. permits has, for each command, who may call it, and permitted checks that
// before the command runs. attempt.CallerOf tells agents from people.

// A who is a kind of permitted caller.
type who int

const (
	_ who = iota // the zero value: only a person
	// agents, too: it only shows something, or changes nothing that a person decides
	forAnyone
	// agents only for the slice of their own attempt, which is the first argument or the default
	forOwner
	forSystem // agents whose attempt is at an item of that system of state, or at a task
	// agents, too, but for them it starts nothing and prints what to do instead
	forLaunch
	forSetting // a person; an agent's setting is kept as a proposal
)

// A rule defines who may call one command.
type rule struct {
	who    who
	system string // for forSystem: project.System's key

	// shows reports whether the command, with these arguments, only shows something; nil for never.
	shows func(c *cobra.Command, args []string) bool
	// setting returns what the command would set, for forSetting.
	setting func(args []string) (key, value string)
}

// permits has the rules of all commands. A missing command is for a person. Only commands that
// change something need the map, so it is built on demand.
var permits = sync.OnceValue(func() map[string]rule {
	var (
		specwrightOnly = rule{who: forSystem, system: "specwright"}
		gsdOnly        = rule{who: forSystem, system: "gsd"}
	)
	return map[string]rule{
		"gl":           {who: forAnyone},
		"gl accept":    {},
		"gl add-slice": {}, // agents would build it, at a cost
		"gl import":    {shows: withFlag("dry-run")},
		"gl answer":    {},
		"gl assess":    {who: forLaunch},
		"gl attach":    {},
		// the commands behind its keys are checked themselves
		"gl board": {who: forAnyone},
		"gl budget": {who: forSetting, shows: fewerThan(1),
			setting: budgetSetting},
		"gl changelog":          {who: forAnyone},
		"gl check":              {who: forAnyone},
		"gl clean":              {shows: withFlag("dry-run")},
		"gl completion":         {who: forAnyone},
		"gl cost":               {who: forAnyone},
		"gl debug":              {who: forAnyone},
		"gl demo":               {who: forAnyone}, // in its own project
		"gl design":             {who: forLaunch},
		"gl diff":               {who: forAnyone},
		"gl do":                 {},
		"gl doctor":             {shows: withoutFlag("fix")},
		"gl edit":               {},
		"gl events":             {who: forAnyone},
		"gl graph":              {who: forAnyone},
		"gl gsd":                {who: forAnyone},
		"gl gsd init":           gsdOnly,
		"gl gsd line":           {who: forAnyone},
		"gl gsd milestone":      {who: forAnyone},
		"gl gsd phase":          {who: forAnyone},
		"gl gsd phases":         {who: forAnyone},
		"gl gsd requirements":   {who: forAnyone},
		"gl gsd roadmap":        {who: forAnyone},
		"gl gsd state":          {who: forAnyone},
		"gl gsd todo":           {who: forAnyone},
		"gl gsd state-snapshot": {who: forAnyone},
		"gl help":               {who: forAnyone},
		"gl hold": {shows: func(c *cobra.Command, args []string) bool {
			return len(args) == 0 && withoutFlag("until", "lift")(c, args)
		}},
		"gl init":              {who: forLaunch},
		"gl install":           {shows: withFlag("dry-run")},
		"gl land":              {},
		"gl logs":              {who: forAnyone},
		"gl map":               {who: forLaunch},
		"gl migrate":           {shows: withFlag("dry-run")},
		"gl pause":             {who: forOwner},
		"gl quick":             {who: forLaunch},
		"gl ref":               {who: forAnyone},
		"gl rehearse":          {who: forAnyone}, // in a copy
		"gl reject":            {},
		"gl remove":            {},
		"gl rename":            {},
		"gl report":            {who: forAnyone},
		"gl resume":            {who: forOwner},
		"gl retry":             {},
		"gl review":            {who: forLaunch},
		"gl roadmap":           {who: forAnyone},
		"gl roadmap archive":   {who: forLaunch},
		"gl roadmap milestone": {who: forLaunch},
		"gl salvage":           {who: forAnyone}, // it never overwrites
		"gl say":               {},
		"gl settings":          {who: forAnyone},
		"gl settings get":      {who: forAnyone},
		"gl settings mode": {who: forSetting, shows: fewerThan(1),
			setting: settingOf("mode")},
		"gl settings model": {who: forSetting, shows: fewerThan(2),
			setting: modelSetting},
		"gl settings profile": {who: forSetting, shows: fewerThan(1),
			setting: settingOf("model_profile")},
		"gl settings set": {who: forSetting, setting: func(args []string) (string, string) {
			return args[0], args[1]
		}},
		"gl settings unset":                    {},
		"gl serve":                             {},
		"gl ship":                              {who: forLaunch},
		"gl slice":                             {who: forLaunch},
		"gl state":                             {who: forAnyone},
		"gl state claim":                       {who: forOwner},
		"gl state note":                        {who: forOwner},
		"gl state overview":                    {who: forAnyone},
		"gl state release":                     {who: forOwner},
		"gl state render":                      {who: forAnyone},
		"gl state set":                         {who: forOwner}, // and only ops.AgentKeys
		"gl state show":                        {who: forAnyone},
		"gl status":                            {who: forAnyone},
		"gl statusline":                        {who: forAnyone},
		"gl stop":                              {},
		"gl sw":                                {who: forAnyone},
		"gl sw reset":                          {},
		"gl sw status":                         {who: forAnyone},
		"gl trust":                             {},
		"gl undo":                              {},
		"gl uninstall":                         {shows: withFlag("dry-run")},
		"gl verify":                            {},
		"gl version":                           {who: forAnyone},
		"gl web":                               {}, // its pages act for a person
		"gl worker":                            {},
		"gl workers":                           {who: forAnyone},
		"gl workers drain":                     {},
		"gl workers invite":                    {},
		"gl workers revoke":                    {},
		"gl why":                               {who: forAnyone},
		"gl wrap":                              {who: forLaunch},
		"gl sw gate":                           specwrightOnly,
		"gl sw init":                           specwrightOnly,
		"gl sw lock":                           specwrightOnly,
		"gl sw ship":                           specwrightOnly,
		"gl sw start":                          specwrightOnly,
		"gl sw task":                           {who: forAnyone},
		"gl sw task done":                      specwrightOnly,
		"gl sw task start":                     specwrightOnly,
		"gl sw task total":                     specwrightOnly,
		"gl sw to":                             specwrightOnly,
		"gl sw unit":                           {who: forAnyone},
		"gl sw unit add":                       specwrightOnly,
		"gl sw unit approve":                   specwrightOnly,
		"gl sw unit next":                      specwrightOnly,
		"gl sw unlock":                         specwrightOnly,
		"gl gsd state get":                     {who: forAnyone},
		"gl gsd state json":                    {who: forAnyone},
		"gl gsd state load":                    {who: forAnyone},
		"gl gsd state validate":                {who: forAnyone},
		"gl gsd state add-blocker":             gsdOnly,
		"gl gsd state add-decision":            gsdOnly,
		"gl gsd state add-roadmap-evolution":   gsdOnly,
		"gl gsd state advance-plan":            gsdOnly,
		"gl gsd state begin-phase":             gsdOnly,
		"gl gsd state complete-phase":          gsdOnly,
		"gl gsd state milestone-switch":        gsdOnly,
		"gl gsd state patch":                   gsdOnly,
		"gl gsd state planned-phase":           gsdOnly,
		"gl gsd state prune":                   gsdOnly,
		"gl gsd state rebuild":                 gsdOnly,
		"gl gsd state record-metric":           gsdOnly,
		"gl gsd state record-session":          gsdOnly,
		"gl gsd state resolve-blocker":         gsdOnly,
		"gl gsd state set-lifecycle":           gsdOnly,
		"gl gsd state signal-resume":           gsdOnly,
		"gl gsd state signal-waiting":          gsdOnly,
		"gl gsd state sync":                    gsdOnly,
		"gl gsd state update":                  gsdOnly,
		"gl gsd state update-progress":         gsdOnly,
		"gl gsd milestone complete":            {}, // a person decides when a milestone is over
		"gl gsd phases clear":                  {},
		"gl gsd phase complete":                gsdOnly,
		"gl gsd requirements mark-complete":    gsdOnly,
		"gl gsd roadmap annotate-dependencies": gsdOnly,
		"gl gsd roadmap update-plan-progress":  gsdOnly,
		"gl gsd todo add":                      gsdOnly,
	}
})

func fewerThan(n int) func(*cobra.Command, []string) bool {
	return func(_ *cobra.Command, args []string) bool { return len(args) < n }
}

func withFlag(name string) func(*cobra.Command, []string) bool {
	return func(c *cobra.Command, _ []string) bool { return c.Flags().Changed(name) }
}

func withoutFlag(names ...string) func(*cobra.Command, []string) bool {
	return func(c *cobra.Command, _ []string) bool {
		for _, name := range names {
			if c.Flags().Changed(name) {
				return false
			}
		}
		return true
	}
}

func settingOf(key string) func([]string) (string, string) {
	return func(args []string) (string, string) { return key, args[0] }
}

func modelSetting(args []string) (string, string) { return "model_overrides." + args[0], args[1] }

func budgetSetting(args []string) (string, string) {
	usd := strings.TrimPrefix(args[1], "$")
	if usd == "none" {
		usd = "0"
	}
	return ops.BudgetKey(args[0]), usd
}

// permitted returns why the caller may not run the command with these arguments; nil if it may.
func permitted(c *cobra.Command, app *cmdutil.App, args []string) error {
	p := permits()[c.CommandPath()]
	if p.who == forAnyone || p.shows != nil && p.shows(c, args) {
		return nil
	}
	caller := app.Caller()
	if caller == nil {
		return nil
	}
	switch p.who {
	case forLaunch:
		if !caller.Alone {
			app.NoPerson()
		}
		return nil
	case forSystem:
		if !caller.Tests &&
			(caller.System == p.system || caller.System == "" || attempt.IsTask(caller.ID)) {
			return nil
		}
	case forOwner:
		return permittedOwner(c, app, caller, args)
	case forSetting:
		return propose(c.Context(), app, caller, p, args)
	}
	return refusal(c, caller)
}

// permittedOwner is permitted for a command that an agent may run for its own slice.
func permittedOwner(c *cobra.Command, app *cmdutil.App, caller *attempt.Caller,
	args []string) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	id := caller.ID
	if len(args) > 0 {
		id = args[0]
	}
	if id != caller.ID { // it may be in another spelling
		p, err := pr.Plan(time.Now(), pr.Options())
		if err != nil {
			return err
		}
		if id, _, err = project.Resolve(p, id); err != nil {
			return err
		}
	}
	if err := caller.MayWorkOn(pr.Runs, id); err != nil {
		return fmt.Errorf("%s: %w", c.CommandPath(), err)
	}
	return nil
}

// refusal returns the error of a command that is for a person.
func refusal(c *cobra.Command, caller *attempt.Caller) error {
	instead := "say in your last message what a person should run"
	switch {
	case caller.Setup:
		instead = "a person runs it"
	case caller.Tests:
		instead = "tests can use a project of their own"
	case caller.ID != "" && !attempt.IsTask(caller.ID):
		instead = fmt.Sprintf("to ask for it, run gl state set %s waiting_for=%s", caller.ID,
			shellwords.Quote("WHAT IS NEEDED"))
	}
	return fmt.Errorf("%s is for a person, and this is %s: %s", c.CommandPath(), caller, instead)
}

// propose keeps an agent's setting as a proposal.
func propose(ctx context.Context, app *cmdutil.App, caller *attempt.Caller, p rule,
	args []string) error {
	pr, err := app.Project()
	if err != nil {
		return err
	}
	key, value := p.setting(args)
	return settingError(ops.Propose(ctx, pr, caller, key, value))
}
