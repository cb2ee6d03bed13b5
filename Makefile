GO ?= go
VERSION ?= dev

build:
	$(GO) build -trimpath -ldflags '-X greenlight/internal/cli.Version=$(VERSION)' -o bin/gl ./cmd/gl

demo: build
	./bin/gl demo

test:
	$(GO) vet ./...
	$(GO) test ./...

race:
	$(GO) test -race ./...

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: build demo test race bench
