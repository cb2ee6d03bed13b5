package cli

import "github.com/spf13/cobra"

// newEnvironment returns the help topic gl help environment.
func newEnvironment() *cobra.Command {
	return &cobra.Command{
		Use:   "environment",
		Short: "The environment variables that gl reads and sets",
		Long: `The environment variables that gl reads:

  GREENLIGHT_ROOT     the project's directory; otherwise gl searches upward from the working directory
  GL_PAGER, PAGER     the program that shows output longer than the screen: the first that is set, else less. cat or an
                      empty value means none. It is split into words, but not run by a shell. LESS is set to FRX
                      unless you have set it.
  NO_COLOR            non-empty: no color, as with --no-color. TERM=dumb also turns off progress lines.
  CLICOLOR_FORCE      non-empty and not 0: color even in pipes and files, unless NO_COLOR or TERM=dumb is set
  CLICOLOR            0: no color
  CLAUDECODE,         non-empty: gl was called by an agent, so gl slice starts none and prints which slice to build.
  CLAUDE_CODE,        --context shell and --context claude override this.
  CODEX_THREAD_ID,
  GEMINI_CLI,
  OPENCODE,
  GL_SESSION
  CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID
                      the session that holds a claim made by gl state claim
  LC_ALL, LC_CTYPE,   whether gl graph may use characters beyond ASCII
  LANG
  TMUX                non-empty: gl is inside tmux, so gl attach shows the session in a popup, and gl slice attaches nothing
  HOME                where the search for a project ends
  CLAUDE_CONFIG_DIR   where Claude Code keeps its files; default HOME/.claude
  COLUMNS             the maximum width of gl statusline
  GSD_WORKSTREAM      the workstream of a GSD project; default the one that GSD has stored. GSD_PROJECT is the
                      directory below .planning.
  GSD_TEST_MODE       non-empty: gl gsd state uses GSD_NOW_MS as the time, in milliseconds since 1970
  XDG_CONFIG_HOME     where gl keeps which commands you have allowed (gl trust); default HOME/.config
  SUDO_UID            with root's rights: whose projects gl may use besides root's, as git does
                      always: it writes that file also in a small project.
  XDG_CACHE_HOME      where gl init and gl design unpack their plugin; default HOME/.cache

gl sets these for the agents it starts:

  GL_SLICE            the slice to work on
  GL_SESSION          the token of the claim; gl commands that the agent runs act as its holder
  GL_TASK             for a task that isn't a slice, such as gl quick: its kind
  GL_SUMMARY          the file to which such a task writes its summary
  GL_ATTEMPT          the number of the attempt, from 1
  GREENLIGHT_ROOT     the project's directory
  GL_TESTS            for the tests that gl runs, not for agents: by it gl finds what they leave running
  CLAUDE_CODE_FORWARD_SUBAGENT_TEXT
                      1 for Claude Code, unless you have set it: its stream has what its sub-agents say, too`,
	}
}
