GO ?= go
VERSION ?= dev

# Without cgo: a static program starts sooner, and on any Linux.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X greenlight/internal/cli.Version=$(VERSION)' -o bin/gl ./cmd/gl

demo: build
	./bin/gl demo

test:
	$(GO) vet ./...
	$(GO) test ./...

race:
	$(GO) test -race ./...

# The long forms of the tests that hammer the state with many processes, kills and editors; some minutes.
torture:
	GREENLIGHT_LONG=1 $(GO) test -race -count=1 -timeout 30m -v -run 'TestTorture|TestOneClaimWins|TestCrashAtEveryStep' ./internal/slice ./internal/specwright

# The real Claude Code client against a stand-in of its API: no network but npm's, no cost; two minutes. The client is
# installed for the run, unless GREENLIGHT_CLAUDE_DIR names a directory in which npm has put this version.
CLAUDE_VERSION = 2.1.328
test-claude:
	@set -e; dir="$$GREENLIGHT_CLAUDE_DIR"; \
	if [ -z "$$dir" ]; then \
		dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		HOME="$$dir" npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$$dir" @anthropic-ai/claude-code@$(CLAUDE_VERSION); \
	fi; \
	GREENLIGHT_CLAUDE_DIR="$$dir" $(GO) test -count=1 ./internal/claudetest $(ARGS)

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# docs/reference and docs/man, from the commands' own definitions; docs/schema, from the types of what --json prints.
docs:
	$(GO) test ./internal/cli -run '^(TestReference|TestSchemas)$$' -count=1 -update

.PHONY: build demo test race torture test-claude bench docs
