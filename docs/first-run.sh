# From an empty directory to a drained graph, as a new user types it. `sh docs/first-run.sh` runs it, with gl on PATH; what
# it printed is docs/first-run.md, which a test makes and compares: go test ./cmd/gl -run TestFirstRun -update-docs

# A repository, and a Greenlight project in it.
git init -q shop
cd shop
gl init --no-agent
# What is to be built, and what needs what. Each line is a slice: a Markdown file, and an entry in GRAPH.json.
gl add-slice "Customers can sign up"
gl add-slice "Customers can log in" --deps S-1
gl add-slice "Search the catalogue" --deps S-1
gl graph
# What would happen. The agent is the built-in rehearsal, which costs nothing; without --agent it is Claude Code.
gl slice --dry-run --agent rehearsal
# Drain the graph: each agent has a pane in tmux, and what was waiting for a slice starts the moment it is complete.
gl slice --watch --agent rehearsal:step=150ms
gl status
# Something goes wrong. The reason, and the command that helps, are one question away.
gl add-slice "Pay by card" --deps S-2
gl slice S-4 --agent rehearsal:step=20ms,crash=100%
gl why S-4
gl retry S-4
gl slice S-4 --agent rehearsal:step=20ms
gl status
