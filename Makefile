# `make help` lists what there is. Every target installs what it misses (.ci/setup).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
target := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: binaries
binaries: ## Build fabricbench and fabricbench-runner (release)
	@.ci/setup build
	$(CARGO) build --locked --release --bin fabricbench --bin fabricbench-runner

.PHONY: demo
demo: ## A campaign on this machine: two runs, about a minute, results in demo-output/
	@.ci/setup demo
	@$(CARGO) build --locked --release --bin fabricbench --bin fabricbench-runner
	@rm -rf demo-output
	@status=0; $(release)/fabricbench run examples/demo.yaml --output demo-output || status=$$?; \
	if [ $$status -gt 1 ]; then exit $$status; fi; \
	if [ $$status -eq 1 ]; then echo "An expectation was not met: that is an answer, and the demo is complete."; fi

.PHONY: test
test: ## Everything: lints, boundaries, generated files, all tests
	@.ci/setup test
	@.ci/test

.PHONY: generate
generate: ## Rewrite every generated file (CRD, schemas, simulated coverage)
	@.ci/generate

.PHONY: verify
verify: ## Fail when a generated file is not current
	@.ci/generate --check

.PHONY: truth
truth: binaries ## Real A/A campaigns: how often a verdict is false
	@.ci/setup test
	$(CARGO) run --locked --release -p fabricbench-operator --example truth

.PHONY: clean
clean: ## Remove what was built and measured here
	$(CARGO) clean
	rm -rf demo-output
