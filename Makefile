# `make help` lists what there is. Every target installs what it misses (.ci/setup).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
target := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release
cache := $(or $(FABRICBENCH_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fabricbench)

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## fabricbench and fabricbench-runner for this machine
	@.ci/setup build
	@$(CARGO) build --locked --release --bin fabricbench --bin fabricbench-runner

.PHONY: binaries
binaries: ## The programs for images, and fabricbench, in target/portable: they start on glibc 2.17 and newer
	@.ci/setup binaries
	@.ci/portable

.PHONY: demo
demo: build ## A campaign on this machine: two runs, about a minute, results in demo-output/
	@.ci/setup demo
	@.ci/demo $(release)

.PHONY: test
test: ## Lints, boundaries, generated files, tests, the cluster, the demo; not chart-test, operator-test (as root; Go)
	@.ci/setup test
	@.ci/test

.PHONY: operator-test
operator-test: binaries ## The operator against a real API server, and in a real Kubernetes (root), brought up for it
	@.ci/setup cluster
	@.ci/operator-test api
	@.ci/operator-test cluster

.PHONY: generate
generate: ## Rewrite every generated file (CRD, schemas, the chart's README, simulated coverage)
	@.ci/generate

.PHONY: verify
verify: ## Fail when a generated file is not current
	@.ci/generate --check

.PHONY: truth
truth: build ## Real campaigns whose answer is known: how often is a verdict wrong
	@.ci/setup demo
	$(CARGO) build --locked --release -p fabricbench-runner --example planted
	$(CARGO) run --locked --release -p fabricbench-operator --example truth

.PHONY: bench
bench: ## The runner's latency beside fi_pingpong's, and what an operation costs
	@.ci/setup bench
	$(CARGO) build --locked --release -p fabricbench-runner --bin fabricbench-runner --examples
	$(release)/examples/bench --library "$$(cat $(cache)/mpich-5.0.2/libfabric-folder)" $(if $(FABTESTS),--fabtests $(FABTESTS))
	$(release)/examples/cost

.PHONY: bench-operator
bench-operator: ## The operator's memory, speed and requests against a real API server (root), brought up for it
	@.ci/setup build
	@.ci/setup cluster
	@.ci/bench-operator

.PHONY: cluster
cluster: ## A real Kubernetes on this machine (root): two nodes, nothing outside touched
	@.ci/setup cluster
	@testbed/testbed up

.PHONY: cluster-down
cluster-down: ## Take that Kubernetes away again, with all that it made
	@testbed/testbed down

.PHONY: cluster-test
cluster-test: binaries ## Test that Kubernetes, and the images in it: brings one up, and takes it away
	@.ci/setup cluster
	@testbed/tests/run

.PHONY: chart
chart: ## The chart without a cluster: lint, unit tests, its manifests against the API server's schemas (root)
	@.ci/setup cluster
	@.ci/chart

.PHONY: chart-test
chart-test: binaries ## The chart installed, upgraded and uninstalled in a real Kubernetes (root), brought up for it
	@.ci/setup cluster
	@.ci/chart-test

.PHONY: clean
clean: ## Remove what was built and measured here
	$(CARGO) clean
	rm -rf demo-output
