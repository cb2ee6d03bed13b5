GO ?= go
# Empty: gl version says what go build noted.
VERSION ?=
COMMIT ?= $$(git rev-parse HEAD 2>/dev/null)

# Without cgo: a static program starts sooner, and on any Linux.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION) -X main.commit=$(COMMIT)" -o bin/ ./cmd/gl ./cmd/gl-remote

# gl, and gl-remote beside it, where gl looks for it.
PREFIX = $(HOME)/.local
install: build
	install -d "$(PREFIX)/bin"
	install bin/gl bin/gl-remote "$(PREFIX)/bin"
	ln -sf gl "$(PREFIX)/bin/greenlight"

demo: build
	./bin/gl demo

test:
	$(GO) vet ./...
	$(GO) test ./...

# What go test ./... leaves out because it takes seconds each, and .ci/run has: see .ci/slow.
slow:
	.ci/slow

race:
	$(GO) test -race ./...

# Pinned, and run from the module cache: in go.mod they would be dependencies of everybody who builds gl.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE = golang.org/x/tools/cmd/deadcode@v0.52.0
GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

lint:
	@unformatted=$$(gofmt -l cmd content internal tools); test -z "$$unformatted" || { echo "not gofmt-clean:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet tools/picture.go
	$(GO) vet tools/module.go
	$(GO) vet tools/serve.go
	$(GO) vet -tags browser ./cmd/gl/browsertest
	GOOS=darwin $(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@echo '$(GO) run $(DEADCODE) -test ./...'; dead=$$($(GO) run $(DEADCODE) -test ./...) && \
		test -z "$$dead" || { echo "dead code:"; echo "$$dead"; exit 1; }

# What .golangci.yml adds to that. Building the linter takes minutes the first time.
golangci-lint:
	$(GO) run $(GOLANGCI_LINT) run ./...

# The workflows of .github, and known vulnerabilities in what gl calls. Both tools come from the Go proxy; the second asks vuln.go.dev.
workflows:
	. ./.ci/versions && $(GO) run $$ACTIONLINT
vulnerabilities:
	. ./.ci/versions && $(GO) run $$GOVULNCHECK ./...

# Where these name a test, it may be one that go test ./... leaves out.
race torture two-binaries chaos storm: export GREENLIGHT_SLOW = 1

# All that is too heavy for CI; some hours. .ci/run does a few seconds of each.
check-heavy: race torture chaos storm simulate ssh two-binaries pages fuzz package release bench bench-workers bench-packages test-claude test-gsd

# The long forms of the tests that hammer the state and an installation with many processes, kills and editors, and of the one that follows every
# advice; some minutes.
torture:
	GREENLIGHT_LONG=1 $(GO) test -race -count=1 -timeout 60m -v -run 'TestTorture|TestOneClaimWins|TestCrashAtEveryStep' ./internal/state/slice ./internal/state/legacy ./internal/state/specwright
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 30m -run TestAdviceIsAccepted ./internal/cli
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 30m -run '^(TestCrash|TestRepeatedAfterAKill)$$' ./internal/cli/install ./internal/state/gsd

# A run begun by the gl of before records had groups is finished by this one.
two-binaries:
	dir=$$(mktemp -d) && git archive 2f0f9e9 | tar -x -C $$dir && (cd $$dir && $(GO) build -o $$dir/old/old-gl ./cmd/gl) && \
		GREENLIGHT_OLD_BIN=$$dir/old $(GO) test -count=1 -run 'TestScript/slice_two_binaries' ./cmd/gl/scripts/slice; status=$$?; rm -rf $$dir; exit $$status

# The pages of gl web and the report in a real Chromium, and the board in a real tmux with every key. Where there is no Chromium, its
# tests are skipped. GREENLIGHT_SHOTS names a directory for pictures; GREENLIGHT_AXE axe-core's axe.min.js, installed for the run without it.
AXE_VERSION = 4.14.1
pages:
	@set -e; axe="$$GREENLIGHT_AXE"; \
	if [ -z "$$axe" ]; then \
		dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		HOME="$$dir" npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$$dir" axe-core@$(AXE_VERSION); \
		axe="$$dir/node_modules/axe-core/axe.min.js"; \
	fi; \
	GREENLIGHT_AXE="$$axe" $(GO) test -tags browser -count=1 -timeout 30m -v ./cmd/gl/browsertest
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 30m -v ./internal/show/report ./internal/show/board

STORM = 30m
# The long forms of the tests that kill drains, wrappers, agents and tmux at random instants, and the nights with every ending and
# every fault.
chaos:
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 60m ./internal/run/wrapper ./internal/run/scheduler ./internal/run/runner ./internal/run/away
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 30m -run '^TestScript$$/^night(_counted)?$$' ./cmd/gl/scripts/run
	GREENLIGHT_STORM=$(STORM) $(GO) test -count=1 -timeout 120m -v -run '^TestStorm' ./internal/run/runner
	$(GO) test -count=1 -timeout 240m -run '^TestKilledAnywhere$$' ./internal/run/lane -stride 7
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 90m ./internal/workspace/git
	GREENLIGHT_LONG=1 $(GO) test -count=1 -timeout 240m -run '^(TestReplaced|TestKilledAtEveryStep)$$' ./internal/workspace/worktree
	GREENLIGHT_KILLS=50 $(GO) test -count=1 -timeout 60m -v -run '^(TestNothingIsLost|TestLandedOnce)$$' ./internal/run/runner
	GREENLIGHT_PERSON=1 GREENLIGHT_STORM=$(STORM) GREENLIGHT_KILLS=50 $(GO) test -count=1 -timeout 120m -v -run '^TestLandedOnce$$' ./internal/run/runner

# gl worker --ssh by the ssh and the sshd of this machine, on a port of its own. GREENLIGHT_SSHD names an sshd elsewhere.
ssh:
	GREENLIGHT_LONG=1 $(GO) test -count=1 -v -run '^TestRealHost$$' ./internal/run/ssh

SLICES = 300
# Four workers with homes of their own work through a graph of SLICES slices, twice, while whatever runs is killed, networks are cut and
# clocks are hours apart. Compiling the standard library for clocks that can be set takes minutes, the first time.
storm:
	$(GO) test -count=2 -timeout 8h -v -run '^TestStorm$$' ./cmd/gl-remote -slices $(SLICES)

SIMULATE = 1h
# The protocol between a coordinator and its workers, under a virtual clock and network with every fault; one seed a run. A failing
# seed says how it is replayed.
simulate:
	GREENLIGHT_SIMULATE=$(SIMULATE) $(GO) test -count=1 -timeout 25h -v -run '^TestSimulation$$' ./internal/core/remote

# How far off the estimates of a night's end are: on simulated nights, and on one with real processes.
eta:
	$(GO) test -count=1 -v -run '^TestNight$$' ./internal/state/eta
	GREENLIGHT_LONG=1 $(GO) test -count=1 -v -run '^TestScript$$/^night_counted$$' ./cmd/gl/scripts/run | grep 'estimates of the end'

# Every fuzz target for a while. make fuzz FUZZ=FuzzGraph FUZZTIME=10m is one for longer.
FUZZ = .
FUZZTIME = 30s
fuzz:
	.ci/fuzz $(FUZZTIME) '$(FUZZ)'

# gl for each platform, vetted; this machine's installed into an empty home, and run.
package:
	for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./... || exit 1; \
	done
	.ci/package

# A release built twice as a snapshot, and installed in every way: install.sh, deb, npm. GoReleaser is built for it where it isn't on
# PATH, which takes minutes the first time.
release:
	.ci/release

# The real Claude Code client against a stand-in of its API, and codex, Gemini CLI, opencode and runners of tests: no network but
# npm's, no cost; ten minutes on an idle machine. They are installed for the run, unless GREENLIGHT_CLAUDE_DIR names a directory in
# which npm has put them; of those that aren't there the tests are skipped. Another version of the client is named once, and only
# what it does can fail. With GREENLIGHT_GSD_DIR set, as for test-gsd, GSD's own tools check the state after each step of its walk.
CLAUDE_PINNED = 2.1.330
CLAUDE_VERSION = $(CLAUDE_PINNED)
CLAUDE_BESIDE = @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33 vitest@4.1.12 jest@30.5.2
test-claude:
	@set -e; dir="$$GREENLIGHT_CLAUDE_DIR"; \
	if [ -z "$$dir" ]; then \
		dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		HOME="$$dir" npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$$dir" @anthropic-ai/claude-code@$(CLAUDE_VERSION) $(CLAUDE_BESIDE); \
	fi; \
	have=$$(sed -n 's/^ *"version": "\(.*\)".*/\1/p' "$$dir/node_modules/@anthropic-ai/claude-code/package.json"); \
	test "$$have" = $(CLAUDE_PINNED) || echo "warning: the client is $$have, and gl is tested with $(CLAUDE_PINNED): only what it does can fail" >&2; \
	GREENLIGHT_CLAUDE_DIR="$$dir" $(GO) test -count=1 -timeout 60m ./cmd/gl/claudetest $(ARGS)

# gl gsd's verbs beside those of GSD's own state tool, in two of its versions: each reads what the other has written. They are
# installed for the run, unless GREENLIGHT_GSD_DIR names directories, separated by colons, in which npm has put them.
GSD_VERSIONS = 1.14.0 1.11.0
test-gsd:
	@set -e; dirs="$$GREENLIGHT_GSD_DIR"; \
	if [ -z "$$dirs" ]; then \
		dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		for v in $(GSD_VERSIONS); do \
			HOME="$$dir" npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$$dir/$$v" @opengsd/gsd-core@$$v; \
			dirs="$$dirs$${dirs:+:}$$dir/$$v"; \
		done; \
	fi; \
	GREENLIGHT_GSD_DIR="$$dirs" $(GO) test -count=1 -timeout 30m -run TestAgreesWithGSD ./internal/state/gsd

# Whole processes against their limits, as a table or as JSON; some minutes, on a quiet machine.
bench:
	@.ci/bench

bench-json:
	@.ci/bench --json

# Runs of 60 slices in a git repository, by how the tests of merges run side by side, and of 16 with tests that need processors: a
# quarter of an hour on a quiet machine. NIGHT=sleeps=1s is one of them.
NIGHT = .
night:
	@$(GO) test ./cmd/gl -run '^$$' -bench '^BenchmarkNight$$/$(NIGHT)' -benchtime 1x -timeout 60m | .ci/benchtable text

# Agents here against agents on workers of this machine, 1, 2, 4 and 8 at once.
bench-workers:
	@$(GO) test ./cmd/gl-remote -run '^$$' -bench '^BenchmarkWorkers$$' -benchtime 1x -timeout 60m | .ci/benchtable text

# What single packages do.
bench-packages:
	$(GO) test -run '^$$' -bench . -benchmem ./internal/...

# How many bytes of the method a model reads, and what they cost about.
sizes:
	@$(GO) test ./internal/cli -run '^TestContentSizes$$' -count=1 -v | sed -n 's/^ *content_sizes_test.go:[0-9]*: //p; /^FAIL/p'

# docs/reference and docs/man, from the commands' own definitions; docs/schema, from the types of what --json prints.
docs:
	$(GO) test ./internal/cli -run '^(TestReference|TestSchemas)$$' -count=1 -update

# Gives the module another path, everywhere: make module PATH=github.com/OWNER/greenlight. Programs are looked for in the PATH that
# make was started with.
ifeq ($(origin PATH),command line)
module_path := $(PATH)
unexport PATH
programs := $(shell echo "$$PATH")
endif
module:
	@test -n "$(module_path)" || { echo "usage: make module PATH=github.com/OWNER/greenlight" >&2; exit 2; }
	@PATH="$(programs)" $(GO) run tools/module.go "$(module_path)"

# docs/board.svg, the moving picture in the README, from a real run of gl demo. It needs tmux.
picture: build
	$(GO) run tools/picture.go

.PHONY: build install demo test slow race lint golangci-lint check-heavy torture chaos storm simulate ssh two-binaries pages eta fuzz package release test-claude test-gsd bench bench-json night bench-workers bench-packages sizes docs module workflows vulnerabilities picture
