package cli

import (
	"github.com/spf13/cobra"
)

// topics returns the pages of gl help that aren't about a command.
func topics() []*cobra.Command {
	return []*cobra.Command{newGlossaryTopic(), newEnvironment(), newAgentsTopic(),
		newRehearsalTopic()}
}

// newAgentsTopic returns gl help agents: the requirements for a program to be an agent.
func newAgentsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "agents",
		Short: "How gl runs agents, and how they say how it went",
		Long:  agentsText,
	}
}

// newRehearsalTopic returns gl help rehearsal: the grammar of a rehearsal's SPEC.
func newRehearsalTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "rehearsal",
		Short: "What can happen in a rehearsal: the grammar of SPEC",
		Long:  rehearsalText,
	}
}

const agentsText = `How gl runs agents, and what it expects of them. Built in are those that gl slice --help lists. Any other program can be one by a
command line in .greenlight/config.json:

  {"parallel": {"agents": {"mine": {
    "command": ["my-agent", "--task", "{prompt}"],
    "resume":  ["my-agent", "--continue", "{conversation}", "--task", "{prompt}"]}}}}

  gl trust                      allow it: gl runs no command of a project's config that you haven't allowed
  gl slice S-07 --agent mine

No shell reads the command line. The elements behind the program may hold these placeholders:

  {prompt}          everything about the slice: its text and contracts, how its tests run, what came of earlier attempts and what
                    the tests printed, what people have answered and said since, and how to finish. With resume, what has happened
                    since. For claude by another command line: the slash command
  {brief}           a file with the same text, for programs that read a file
  {command}         the slash command: /gl:slice S-07. {prompt} is that, too, beside it
  {instructions}    the method: the text of that command, followed by everything about the slice
  {slice}           the id of the slice; of a task, its kind
  {dir}             the directory to work in
  {model}           the model that the slice, or retry.escalate, asks for; empty for the agent's own choice
  {conversation}    with resume, the conversation to go on with

This is a complete agent, as the command ["./my-agent", "{brief}"]. ask-model stands for any program that reads a task on stdin
and prints a patch:

  #!/bin/sh
  out=$(mktemp) patch=$(mktemp)
  gl state set "$GL_SLICE" status=implementing step=implementing || exit 1
  for try in 1 2 3; do
    cat "$1" "$out" | ask-model >"$patch"
    git apply --index "$patch" 2>"$out" || continue
    if sh -c "$(gl settings get test.command)" >"$out" 2>&1; then
      git commit -qm "feat($GL_SLICE): as its contracts say" && exec gl state set "$GL_SLICE" status=complete step=complete
    fi
  done
  exec gl state set "$GL_SLICE" waiting_for="Three patches failed: $(tail -n 1 "$out")"

resume is optional. It is used for a slice whose earlier attempt was in a conversation, on the same account. The conversation is the
session_id that the program printed in Claude Code's stream. If it ends without printing anything, the
conversation is taken to be gone, and command starts it again.

The agent starts in {dir}, in a session of its own, without a terminal, and with these variables:

  GL_SLICE          the slice to work on
  GL_TASK           for a task that isn't a slice, such as gl quick: its kind, instead of GL_SLICE
  GL_SUMMARY        the file to which such a task writes its summary
  GL_SESSION        the token of the claim: gl commands that the agent runs act as its holder
  GL_ATTEMPT        the number of the attempt, from 1
  GREENLIGHT_ROOT   the directory of the project and its state; the worktree is {dir}

In a worktree it has these, too:

  GL_PORT_BASE      the first of ten TCP ports that are this worktree's
  COMPOSE_PROJECT_NAME
                    the name under which docker compose keeps this worktree's services
  TMPDIR            a directory for this worktree's temporary files

What it writes to stdout and stderr is its log (gl logs). A program that prints Claude Code's stream-json, one JSON object a line, is
understood: its tool calls, its cost, its turns, rate limits and how it ended. Any other text is shown as it is.

While it works, it says how far it is, so that gl status and the board can show that:

  gl state set "$GL_SLICE" status=implementing step=implementing
                    steps are tests, implementing, security and verifying; from tests to implementing, the tests are handed over:
                    changed after that, they make the slice red
  gl state note "$GL_SLICE" --decision "Tokens are hashed, never stored"

It ends in one of these ways:

  complete          gl state set "$GL_SLICE" status=complete step=complete tests=12, then exit 0. gl believes the tests, not the
                    agent: in a worktree, the work is merged and tested (test.command) before the slice counts as done.
  waiting           gl state set "$GL_SLICE" waiting_for="Euro or dollars?" waiting_kind=question, then exit 0. A person is asked; gl answer ID TEXT
                    continues at the same step, with the answer.
  failed            exit with another code than 0, without complete. The last lines of its log are shown as the reason.
  stalled           exit 0 without complete or waiting. gl retry ID continues.
  held              a result in Claude Code's stream that names a rate limit, an empty account, a login or an outage. The slice isn't
                    blamed: it is launched again when the hold ends.

A task (GL_TASK) is done when its agent exits with 0 and has left what the task is for, such as the documents of gl map.

gl ends an agent by SIGTERM and, seconds later, SIGKILL, both to its process group, when it is stopped (gl stop) or silent for longer
than parallel.silent_minutes. Everything that it left running ends with it. What it wrote stays.`

const rehearsalText = `What can happen in a rehearsal, for gl rehearse --spec SPEC and gl slice --agent rehearsal:SPEC. A SPEC is a list with commas. All
parts are optional, in any order:

  seed=N            other numbers give other fates; the same number, the same ones
  step=200ms        how long each of the four steps of a slice takes; 200ms
  jitter=50%        how much shorter or longer a slice may be; 0%
  min=50ms,max=500ms
                    instead of step and jitter: bounds of a whole slice's length
  reset=2s          how long a rate limit lasts; 2s
  cost=0.5          dollars that each attempt says it cost; 0
  here              change the project itself, not a copy: for tests of gl. Not with gl rehearse

A fault has a chance, or slices that meet it:

  FAULT=5%          in each attempt; 0.05 is the same. The chances add up to 100% at most.
  FAULT=S-3         S-3, in every attempt; S-3+S-7 are two slices
  FAULT=S-3#1       S-3, in its first attempt alone
  FAULT@3           the slice 3, whose id could be a number

  crash             killed by SIGKILL
  hang              silent until gl ends it
  fail              a line on stderr, no result; exit 7
  turns             ends at the turn limit
  limit             meets a rate limit, which holds launches until reset
  outage            the service answers with 500
  park              asks for a person
  quit              gives up half way, and says that went well
  refuse            its tool calls are denied, so it gives up
  nocommand         doesn't know the slash command
  red               calls its work complete, and it is broken; the next attempt mends it
  clash             complete, with a line at the same place as all others that clash: they conflict

Examples:

  gl rehearse --spec step=100ms,fail=10%,limit=5%
  gl rehearse --spec seed=7,red=S-03#1,clash=S-05+S-06
  gl slice --watch --agent rehearsal:seed=1,crash=5%,hang=S-3`
