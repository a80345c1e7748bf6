# `make` lists the targets. Variables may be set on the command line.

GO         ?= go
STATE      ?= .local
PKG        ?=
BENCH_ARGS ?=
VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null)

stack := scripts/stack
build := $(GO) build -trimpath -buildvcs=false -ldflags "-X main.version=$(VERSION)"

.DEFAULT_GOAL := help
.PHONY: help build up down status clean migrate worker worker-start worker-stop \
	demo test test-temporal-postgres race soak check bench histories fmt generate

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/mneme, the command line, and bin/worker
	$(build) -o bin/mneme ./starter
	$(build) -o bin/worker ./worker

up: ## start Postgres and Temporal, and wait until they answer
	@$(stack) up --state $(STATE)

down: ## stop them and the worker; data stay
	@$(stack) down --state $(STATE)

status: ## what runs, and where
	@$(stack) status --state $(STATE)

clean: ## stop everything; delete its data and bin/
	@$(stack) clean --state $(STATE)
	rm -rf bin

migrate: build up ## create Mneme's tables, or bring them up to date
	@eval "$$($(stack) env --state $(STATE))" && bin/mneme migrate up

worker: migrate ## run the worker in the foreground
	@eval "$$($(stack) env --state $(STATE))" && exec bin/worker

worker-start: migrate ## run the worker in the background (log: .local/worker.log)
	@$(stack) restart --state $(STATE) worker

worker-stop: ## stop it
	@$(stack) down --state $(STATE) worker

demo: migrate ## see Mneme at work
	@scripts/demo

test: ## all tests, those of goroutines with -race, against a stack of their own (PKG=./store to choose, without -race)
	@scripts/suite $(PKG)

test-temporal-postgres: ## the core of the workflow tests, against a Temporal server that keeps its data in Postgres (builds it first)
	@scripts/test-temporal-postgres

race: ## all tests with -race, half an hour (PKG=./store to choose)
	@scripts/test -race -timeout 60m $(or $(PKG),./...)

soak: ## long random runs, and the tests in which writers meet 200 times with -race (COUNT=…, TESTS=REGEXP, CHECKS=…): a night
	@scripts/soak

check: ## format, vet, staticcheck, workflowcheck, tidy, generated files, shell
	@scripts/check

bench: build up ## measure (BENCH_ARGS=…)
	$(GO) run ./bench $(BENCH_ARGS)

histories: ## record the histories of the replay tests that are missing
	MNEME_UPDATE_HISTORIES=1 scripts/test -timeout 20m ./workflows/...

fmt: ## format Go code
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

generate: ## generate what is generated
	$(GO) generate ./...
