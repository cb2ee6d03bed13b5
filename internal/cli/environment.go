package cli

import "github.com/spf13/cobra"

// newEnvironment is a topic of gl help, no command.
func newEnvironment() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "The environment variables that gl reads and sets",
		Long: `The environment variables that gl reads:

  GREENLIGHT_ROOT     the project's directory, instead of looking for one from here upwards
  GL_PAGER, PAGER     the program that shows texts longer than the screen: the first that is set, else less; cat, and
                      an empty one, mean none. It is split into words as a shell does it, and no shell runs it. LESS is
                      FRX for it, unless you have set it.
  NO_COLOR            not empty: no colours, as with --no-color. TERM=dumb means no colours and no moving lines either.
  CLICOLOR_FORCE      not empty and not 0: colours in pipes and files, too, unless NO_COLOR or TERM=dumb forbids them
  CLICOLOR            0: no colours
  CLAUDECODE,         one that isn't empty says that gl is called by an agent: gl slice starts none then, but says which
  CLAUDE_CODE,        slice to build. --context shell and --context claude decide otherwise.
  CODEX_THREAD_ID,
  GEMINI_CLI,
  OPENCODE,
  GL_SESSION
  CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID
                      the session that holds a claim made by gl state claim
  LC_ALL, LC_CTYPE,   whether gl graph draws with more than ASCII
  LANG
  TMUX                not empty: gl is in a tmux already, so gl attach prints how to attach instead of doing it
  HOME                where the look for a project ends
  CLAUDE_CONFIG_DIR   where Claude Code's own files are, else HOME/.claude
  COLUMNS             how wide gl statusline may be
  GSD_WORKSTREAM      which workstream of a GSD project is meant, else the one that GSD has stored; GSD_PROJECT, below
                      which directory of .planning
  GSD_TEST_MODE       not empty: GSD_NOW_MS is the time for gl gsd state, in milliseconds since 1970
  XDG_CACHE_HOME      where gl init and gl design lay the plugin for their conversation, else HOME/.cache

gl sets for the agents that it starts:

  GL_SLICE            the slice that is theirs
  GL_SESSION          the token of their claim: a gl that they call under it holds that slice
  GL_TASK             of a task that is no slice, such as gl quick: its kind
  GL_SUMMARY          the file that such a task writes its summary to
  GL_ATTEMPT          which attempt at the slice or task this is, from 1
  GREENLIGHT_ROOT     the project's directory`,
	}
}
