# `make` lists the targets. Variables may be set on the command line.

GO         ?= go
STATE      ?= .local
PKG        ?=
BENCH_ARGS ?=
# local: build with the embedder that runs a model in the process, whose library takes long to build.
EMBEDDER   ?= $(MNEME_EMBEDDER)
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null)

stack := scripts/stack
tags  := $(if $(filter local,$(EMBEDDER)),,-tags nolocal)
build := $(GO) build $(tags) -trimpath -buildvcs=false -ldflags "-X main.version=$(VERSION) -X github.com/mneme/mneme/internal/cli/app.version=$(VERSION)"

.DEFAULT_GOAL := help
.PHONY: help build up down status clean migrate worker worker-start worker-stop \
	.build .std .stack model demo agent test quick test-temporal-postgres race soak check bench bench-learning \
	plot-learning bench-tools histories fmt generate

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/mneme, the command line, and bin/worker (EMBEDDER=local: with the local embedder)
	$(build) -o bin/mneme ./starter
	$(build) -o bin/worker ./worker

up: ## start Postgres and Temporal, and wait until they answer
	@$(stack) up --state $(STATE)

down: ## stop them and the worker; keep the data
	@$(stack) down --state $(STATE)

status: ## show what runs, and where
	@$(stack) status --state $(STATE)

clean: ## stop everything; delete its data and bin/
	@$(stack) clean --state $(STATE)
	rm -rf bin

migrate: ## build and start everything; create or update Mneme's tables
	@$(MAKE) --no-print-directory --jobs=3 .build .std .stack
	@$(stack) up --state $(STATE)
	@eval "$$($(stack) env --state $(STATE))" && bin/mneme migrate up

worker: migrate ## run the worker in the foreground
	@eval "$$($(stack) env --state $(STATE))" && exec bin/worker

worker-start: migrate ## run the worker in the background (log: .local/worker.log)
	@$(stack) restart --state $(STATE) worker

worker-stop: ## stop it
	@$(stack) down --state $(STATE) worker

# The first time, downloads run concurrently, while the standard library, which all programs share, is compiled.
.build:
	@$(MAKE) --no-print-directory build

.std:
	@[ -d "$$($(GO) env GOMODCACHE)/go.temporal.io" ] || $(build) std

.stack:
	@$(stack) fetch --state $(STATE)

model: ## download a small static embedding model by pip into .local/model, and print its settings
	@scripts/model

demo: ## show Mneme at work
	@scripts/demo

agent: worker-start ## run samples/agent, which repairs a failing build and records itself
	@scripts/agent

test: ## run all tests against a separate stack, those of goroutines with -race (PKG=./store to choose, without -race)
	@scripts/suite $(PKG)

test-temporal-postgres: ## run the core of the workflow tests against a Temporal server with its data in Postgres (builds it first)
	@scripts/test-temporal-postgres

quick: ## check before a commit: format, vet, tests of changed packages (BASE=COMMIT; else since origin/main)
	@scripts/quick

race: ## run all tests with -race, half an hour (PKG=./store to choose)
	@scripts/test -race -timeout 60m $(or $(PKG),./...)

soak: ## run long random tests, and those with concurrent writers 200 times with -race (COUNT=…, TESTS=REGEXP, CHECKS=…): a night
	@scripts/soak

check: ## check format, vet, staticcheck, imports, workflowcheck, tidy, generated files, shell
	@scripts/check

bench: build up ## measure performance and quality (BENCH_ARGS=…)
	$(GO) run ./bench $(BENCH_ARGS)

bench-learning: ## measure whether an agent with memory does better the second time; needs no stack (BENCH_ARGS=…)
	$(GO) run ./bench/learning -set reported -seeds 101,102,103,104,105 $(BENCH_ARGS)

bench-tools: ## measure whether failures of real tools are repaired at the first try once they are known; needs no stack (BENCH_ARGS=…)
	$(GO) run ./bench/tools -set reported -seeds 101 -times 5 $(BENCH_ARGS)

plot-learning: ## draw the curves that `make bench-learning BENCH_ARGS="-curves FILE"` wrote (CURVES=FILE)
	cd bench/learning/plot && $(GO) run . -curves "$(abspath $(CURVES))" -o "$(CURDIR)/docs/images/learning.png"

histories: ## record the histories of the replay tests that are missing
	MNEME_UPDATE_HISTORIES=1 scripts/test -timeout 20m ./workflows/...

fmt: ## format Go code
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

generate: ## regenerate the generated files
	$(GO) generate ./...
