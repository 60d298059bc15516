# Plimsoll: build, check, try. `make` alone lists what there is.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash

CARGO ?= cargo
# CI says --locked: a dependency must not change between the commit and its check.
CARGO_FLAGS ?=
TARGET_DIR := $(abspath $(or $(CARGO_TARGET_DIR),target))
export PLIMSOLL := $(TARGET_DIR)/release/plimsoll

# Runs one step under its name and says how long it took, whether it passed or not.
define step
	@printf '\n== %s\n' '$(1)'; start=$$(date +%s); status=0; { $(2); } || status=$$?; \
		[ $$status = 0 ] && ended=passed || ended=failed; \
		printf '== %s: %s in %s s\n' '$(1)' $$ended "$$(( $$(date +%s) - start ))"; exit $$status
endef

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: toolchain ## build the program: target/release/plimsoll
	PLIMSOLL_COMMIT=$$(git rev-parse --short=12 HEAD 2>/dev/null || true) $(CARGO) build --release --package plimsoll $(CARGO_FLAGS)

.PHONY: test
test: toolchain tools-for-tests fmt-check tidy deny clippy rustdoc tests ## check everything

.PHONY: test-long
test-long: test-long-timed test-long-servers test-long-docs test-long-release test-long-mutants ## check what takes long

.PHONY: demo
demo: build ## three policies in charge of real servers, in two minutes, and a report (TRACE=FILE: your own day)
	bash examples/demo.sh

.PHONY: demo-capacity
demo-capacity: build ## four sizes of a server: what each sustains, and which is cheapest, in a minute
	@bash examples/demo-capacity.sh

.PHONY: demo-caches
demo-caches: build ## 28 clusters of web caches, simulated: which one hits most, in a minute
	@bash examples/demo-caches.sh

.PHONY: demo-shoal
demo-shoal: build ## three Squids, two of which die: how long clients are still sent there (as root)
	@bash examples/demo-shoal.sh

.PHONY: mediawiki
mediawiki: ## make ready what the plans of examples/mediawiki need (PAGES=1000; DUMP=FILE: your own wiki)
	@bash examples/mediawiki/prepare.sh

# Benches measure the program as it is given away. It takes the place of `make build`'s, which is made
# again by the next `make build`, within seconds where nothing changed.
.PHONY: build-bench
build-bench: toolchain
	$(CARGO) build --profile bench --package plimsoll $(CARGO_FLAGS)

.PHONY: bench-load
bench-load: build-bench ## compare the load engine with its peers (benches/load)
	bash benches/load/run.sh

.PHONY: bench-capacity
bench-capacity: toolchain ## compare methods of search on queues of known capacity (benches/capacity)
	bash benches/capacity/run.sh

.PHONY: bench-infer
bench-infer: toolchain ## infer known loads of simulated queues from probes (benches/infer)
	bash benches/infer/run.sh

.PHONY: bench-simulate
bench-simulate: toolchain ## simulate a day against a textbook's heap, SimPy and Ciw (benches/simulate)
	bash benches/simulate/run.sh

.PHONY: bench-cache
bench-cache: toolchain ## replay the reference trace beside libcachesim (benches/cache)
	bash benches/cache/run.sh

.PHONY: bench-shoal
bench-shoal: toolchain ## look caches up while others come and go (benches/shoal)
	bash benches/shoal/run.sh

.PHONY: bench-scenario
bench-scenario: build-bench ## steps a second of users with state, beside Locust and Artillery (benches/scenario)
	bash benches/scenario/run.sh

.PHONY: bench-websocket
bench-websocket: build-bench ## echoes a second beside tsung and Artillery, and how exact broadcasts are (benches/websocket)
	bash benches/websocket/run.sh

.PHONY: bench-balance
bench-balance: build-bench ## compare the balancers of pools on one core, and change a pool under load (benches/balance)
	bash benches/balance/run.sh rate
	bash benches/balance/run.sh changes

.PHONY: conformance
conformance: toolchain ## judge WebSocket by Autobahn's long cases and by a million frames of others
	@.ci/websocket-peers
	$(CARGO) test --package plimsoll-websocket --test it $(CARGO_FLAGS) -- --ignored --nocapture

.PHONY: static
static: toolchain ## build the program as one static file for any Linux (packaging/dist.sh)
	packaging/dist.sh

.PHONY: dist
dist: toolchain ## all that is given away: archive, deb, rpm, image, wheel (packaging/release.sh)
	packaging/release.sh

.PHONY: clean
clean: ## remove what was built; runs are kept
	$(CARGO) clean

# The steps of `make test`, each of which can be run alone.

.PHONY: toolchain
toolchain:
	@.ci/toolchain '$(CARGO)'

.PHONY: test-tools
test-tools: ## install what the tests use beyond Rust, where the rights are there
	@.ci/test-tools --asked

.PHONY: tools-for-tests
tools-for-tests:
	@.ci/test-tools

# Files that a macro declares: rustfmt does not come upon them by itself.
UNSEEN = crates/cache/src/eviction/*.rs crates/load/src/redis.rs crates/load/src/memcached.rs \
	crates/load/src/mysql/*.rs crates/load/src/postgres/*.rs crates/load/src/cassandra/*.rs

.PHONY: fmt
fmt: toolchain ## format all code
	$(CARGO) fmt --all && rustfmt $(UNSEEN)

.PHONY: fmt-check
fmt-check: toolchain
	$(call step,fmt,$(CARGO) fmt --all --check && rustfmt --check $(UNSEEN))

.PHONY: clippy
clippy: toolchain
	$(call step,clippy,$(CARGO) clippy --workspace --all-targets $(CARGO_FLAGS) -- -D warnings)

.PHONY: tidy
tidy: toolchain ## check floors, lengths, links, words (cargo xtask tidy)
	$(call step,tidy,$(CARGO) xtask tidy)

.PHONY: tests
tests: toolchain ## run all tests, the manual's commands and the examples (cargo xtask tests)
	$(call step,tests,$(CARGO) xtask tests $(CARGO_FLAGS))

.PHONY: rustdoc
rustdoc: toolchain
	$(call step,rustdoc,RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps $(CARGO_FLAGS))

.PHONY: deny
deny: toolchain
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny --offline check licenses bans sources; \
	else \
		$(CARGO) xtask skip deny cargo-deny; \
	fi

KUBERNETES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/plimsoll/peers/kubernetes

.PHONY: test-k8s
test-k8s: toolchain tools-for-tests ## workers as pods of a real API server, which it builds once (10 minutes; as root)
	$(call step,kubernetes,tests/kubernetes/get.sh $(KUBERNETES) && \
		PLIMSOLL_KUBERNETES=$(KUBERNETES)/bin $(CARGO) xtask tests --only kubernetes $(CARGO_FLAGS))

# The parts of `make test-long`, of at most a quarter of an hour each.

.PHONY: test-long-timed
test-long-timed: toolchain tools-for-tests ## tests that hold upper bounds of time, each of which must be judged
	$(call step,long tests: timed,$(CARGO) xtask long timed $(CARGO_FLAGS))

.PHONY: test-long-servers
test-long-servers: toolchain tools-for-tests ## tests with servers, MediaWiki and Cassandra too
	$(call step,long tests: servers,.ci/all-servers $(CARGO) xtask long servers $(CARGO_FLAGS))

.PHONY: test-long-docs
test-long-docs: toolchain tools-for-tests ## every command of the manual, and the documentation of all crates
	@why=$$(.ci/notebook) || printf 'not installed: what docs/notebook.md imports: %s\n' "$$why"
	$(call step,long tests: docs,$(CARGO) clean --doc && $(MAKE) rustdoc && \
		$(CARGO) xtask long docs $(CARGO_FLAGS))

.PHONY: test-long-release
test-long-release: toolchain tools-for-tests ## all that is given away, each form where it is meant to be used (as root)
	$(call step,long tests: release,$(CARGO) xtask long release $(CARGO_FLAGS))

.PHONY: test-long-mutants
test-long-mutants: toolchain ## inputs changed at random, a minute each
	$(call step,long tests: mutants,$(CARGO) xtask long mutants $(CARGO_FLAGS))
