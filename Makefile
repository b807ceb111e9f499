# Everything a person or a CI runs here. `make test` and `make demo` need only Go; `make ci` also needs npm.
SERVERS ?= $(HOME)/.cache/proxy-dispatch-tests
FUZZTIME ?= 5s
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BUILD := go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

.PHONY: build install demo test ci check race cross servers bench conformance fuzz
build:
	$(BUILD) -o bin/proxy-dispatch ./cmd/proxy-dispatch
install:
	go install -trimpath -ldflags "-s -w -X main.version=$(VERSION)" ./cmd/proxy-dispatch
demo: build
	bin/proxy-dispatch demo
test:
	go test ./...
ci: check cross race
check:
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go tool staticcheck ./...
cross:
	GOOS=darwin GOARCH=arm64 go build -o /dev/null ./cmd/proxy-dispatch
	GOOS=windows GOARCH=amd64 go build -o /dev/null ./cmd/proxy-dispatch
	GOOS=darwin go vet ./downstream/... ./spill/... ./builtin ./cmd/...
	GOOS=windows go vet ./downstream/... ./spill/... ./builtin ./cmd/...
servers:
	tests/npm/install $(SERVERS)
	tests/s3/install $(SERVERS)
race: servers
	PROXY_DISPATCH_SERVERS=$(SERVERS) go test -race -timeout 20m ./...
bench: build
	go run ./tests/bench -proxy bin/proxy-dispatch
conformance: build servers
	go build -o bin/ ./tests/conformance/cmd/everything ./tests/conformance/cmd/client
	go run ./tests/conformance -servers $(SERVERS) -out docs/conformance.md
fuzz:
	tests/fuzz $(FUZZTIME)
