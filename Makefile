# `make help` lists the targets. Targets that need prerequisites install those that are missing (.ci/setup).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
target := $(or $(CARGO_TARGET_DIR),target)
release := $(target)/release
cache := $(or $(FABRICBENCH_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fabricbench)
binaries := --bin fabricbench --bin fabricbench-runner

.PHONY: help
help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Run a short campaign on this machine and write the results to demo-output/
	@.ci/setup demo
	@$(CARGO) build --locked --workspace --all-features $(binaries)
	@.ci/demo $(target)/debug

.PHONY: test
test: ## Run all checks that need neither Go nor a cluster
	@.ci/setup test
	@.ci/test

.PHONY: test-verbs
test-verbs: ## Run the ibverbs checks in a soft-RoCE virtual machine (needs Debian on x86-64)
	@.ci/setup test-verbs
	@.ci/test-verbs

.PHONY: test-cluster
test-cluster: ## Run all checks that need a Kubernetes cluster, which is started and removed (needs root and Go)
	@.ci/setup test-cluster
	@.ci/test-cluster

.PHONY: fuzz
fuzz: ## Fuzz the assignment and record stream parsers for 60 seconds each
	@.ci/setup fuzz
	@.ci/fuzz 60

.PHONY: build
build: ## Build optimized fabricbench and fabricbench-runner binaries for this machine in target/release
	@.ci/setup build
	@$(CARGO) build --locked --release $(binaries)

.PHONY: build-verbs
build-verbs: ## Build an optimized fabricbench-runner-verbs, which links libibverbs, in target/release
	@.ci/setup build-verbs
	@$(CARGO) build --locked --release -p fabricbench-runner-verbs --features verbs

.PHONY: binaries
binaries: ## Build fabricbench and the image binaries for glibc 2.17 and newer in target/portable
	@.ci/setup binaries
	@.ci/portable

.PHONY: generate
generate: ## Rewrite the generated files: CRD, schemas, metrics, dashboards
	@.ci/setup generate
	@.ci/generate

.PHONY: site
site: ## Build the site from the documentation in target/site and check its links
	@.ci/setup site
	@.ci/site/build $(target)/site

.PHONY: generate-all
generate-all: generate ## Also rewrite the chart's README (Go), the simulated coverage and the bindings
	@.ci/setup bindings
	@.ci/generate --chart-readme
	@$(CARGO) run --quiet --locked --release -p fabricbench-campaign --example coverage >docs/simulated-coverage.md
	@runner/sys/libfabric-sys/regenerate.sh
	@runner/sys/ucx-sys/regenerate.sh

.PHONY: truth
truth: build ## Run campaigns with known true effects and count false verdicts
	@.ci/setup demo
	$(CARGO) build --locked --release -p fabricbench-runner --example planted
	$(CARGO) run --locked --release -p fabricbench-cli --example truth

.PHONY: windows
windows: build ## Show how precision depends on window length, with campaigns over shm and tcp
	@.ci/setup demo
	$(CARGO) build --locked --release -p fabricbench-runner --example planted
	$(CARGO) run --locked --release -p fabricbench-cli --example truth -- windows

.PHONY: bench
bench: ## Compare the runner with fi_pingpong, fabtests, ucx_perftest, NIXL, Starway, transfer_engine_bench and PyIsolate, and measure the cost of an operation
	@.ci/setup bench
	$(CARGO) build --locked --release -p fabricbench-cli --bin fabricbench
	$(CARGO) build --locked --release -p fabricbench-runner --bin fabricbench-runner --examples
	$(release)/examples/bench --library "$$(cat $(cache)/newer-libfabric-directory)" \
	    --ucx-library "$$(cat $(cache)/newer-ucx-directory)" $(foreach directory,$(FABTESTS),--fabtests $(directory)) \
	    --transfer-engine "$$(cat $(cache)/transfer-engine-bench)" --pyisolate "$$(cat $(cache)/pyisolate-python)" \
	    $(if $(wildcard $(cache)/nixl-directory),--nixl "$$(cat $(cache)/nixl-directory)") \
	    $(if $(STARWAY),--starway $(STARWAY))
	$(release)/examples/cost

.PHONY: bench-operator
bench-operator: ## Measure the operator's memory, speed and API requests; starts an API server for this (needs root and Go)
	@.ci/setup build
	@.ci/setup cluster
	@.ci/bench-operator

.PHONY: cluster
cluster: ## Start a Kubernetes cluster with two nodes on this machine (needs root and Go)
	@.ci/setup cluster
	@testbed/testbed up

.PHONY: cluster-down
cluster-down: ## Stop the cluster and remove everything that it created
	@testbed/testbed down

.PHONY: image-archives
image-archives: ## Build archives of the operator and runner images in target/images (needs neither root nor Docker)
	@.ci/setup image-archives
	@.ci/portable images
	@.ci/image-archives

.PHONY: try-cluster
try-cluster: ## Install the operator in the cluster of KUBECONFIG, execute a run and print its report (see docs/existing-cluster.md)
	@.ci/setup build
	@$(CARGO) build --locked --release --bin fabricbench
	@.ci/try-cluster $(release)

.PHONY: clean
clean: ## Remove build results and measurements
	$(CARGO) clean
	rm -rf demo-output
