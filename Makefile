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
	GREENLIGHT_LONG=1 $(GO) test -race -count=1 -timeout 30m -v -run 'TestTorture|TestOneClaimWins|TestCrashAtEveryStep' ./internal/slice

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# docs/reference and docs/man, from the commands' own definitions.
docs:
	$(GO) test ./internal/cli -run '^TestReference$$' -count=1 -update

.PHONY: build demo test race torture bench docs
