# From an empty directory to a finished graph, as a new user types it. Run it with `sh docs/first-run.sh`, with gl on PATH.
# docs/first-run.md is its output. A test compares them; go test ./cmd/gl -run TestFirstRun -update-docs rewrites the page.

# Make a repository, and start a Greenlight project in it.
git init -q -b main shop
cd shop
gl init --no-agent
# Say what to build, and what depends on what. Each command adds a slice: a Markdown file and an entry in GRAPH.json.
gl add-slice "Customers can sign up"
gl add-slice "Customers can log in" --deps S-1
gl add-slice "Search the catalog" --deps S-1
gl graph
# Say how it is tested, and commit. Each slice is built in a worktree of its own, which begins at a commit, and merged once gl has seen the tests pass on the merge.
echo '! grep -rn Broken rehearsal' >test.sh
gl settings set test.command "sh test.sh"
git add .
git commit -qm "Start the shop"
# See what would happen. Without --agent, the agent is Claude Code.
gl slice --dry-run --agent rehearsal
# Rehearse it. The built-in agent costs nothing and invents its results, so gl has it work in a copy.
gl rehearse --spec step=150ms
gl status
# Build the graph. On this page the built-in agent does it, in place of a real one; here has it work in the project itself. Each agent gets a pane in tmux, and a slice starts as soon as everything it depends on is complete.
gl slice --watch --agent rehearsal:here,step=150ms
gl status
git log --first-parent --reverse --format=%s
# Something goes wrong. gl why gives the reason and the command that helps.
gl add-slice "Pay by card" --deps S-2
gl slice S-4 --agent rehearsal:here,step=20ms,crash=100%
gl why S-4
gl retry S-4
gl slice S-4 --agent rehearsal:here,step=20ms
gl status
