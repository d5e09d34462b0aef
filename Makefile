# Everything a newcomer needs: `make demo` to see it work, `make test` to check it.
CARGO ?= cargo
# A toolchain that rustup has just put there is not on the PATH of the shell that called make.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# From the leaves up; the program and tidy belong to the tree.
LIBRARIES := text files counters stats load topology noise engine results

# What cargo-deny can say without a network.
DENY_HERE := licenses bans sources

.PHONY: arm book demo build fuzz kills limits tidy msrv deny deb package test test-dbt3-large test-numa test-user check setup setup-arm setup-test setup-numa bench clean

## demo: install what is missing, build, and measure what placement and luck do on this machine (about a minute after the build)
demo: build
	./target/release/tare run first-look

## build: install what a build needs, then build the release binary
build: setup
	$(CARGO) build --release --locked -p tare

## test: install what the tests need, then formatting, lints, docs and all tests (as root also once more as an ordinary user)
test: setup-test check
	$(CARGO) test --locked --workspace
	scripts/msrv
	scripts/arm-build --where-possible
	$(MAKE) test-dbt3-large
	scripts/test-as-user
	crates/counters/ci.sh "exact tunable forced alone loom"
	crates/counters/ci.sh --where-possible "musl targets miri"
	$(MAKE) test-numa

## test-numa: everything about nodes, on kernels that have several: virtual machines in software emulation, one at a time
test-numa: setup-numa
	$(CARGO) test --locked -p tare --test numa -- --ignored --test-threads=1 --nocapture --skip arm_nodes

## arm: cross-build for 64-bit Arm, and test in emulated machines: the program on four nodes, then the counters' exactness
## and its mutant (not part of `make test`: half an hour on two CPUs)
arm: setup-arm
	scripts/arm-build
	$(CARGO) test --locked -p tare --test numa -- --ignored --test-threads=1 --nocapture arm_nodes
	scripts/arm-exact

## fuzz: every reader of what comes from outside on 120,000 mutated inputs (some minutes; in `make test` 30,000)
fuzz:
	TARE_FUZZ_INPUTS=4000 $(CARGO) test --locked -p tare --test fuzz -- --nocapture

## kills: 200 kills -9 of runs, trials, servers and all of it, and trials that hang, here and on a made-up machine (in `make test` 100)
kills:
	TARE_TEST_KILLS=200 $(CARGO) test --locked -p tare --test kills -- --nocapture

## limits: 100,000 conditions and samples are answered or refused within 2 s, timed with the release build
limits: build
	benches/limits

## test-dbt3-large: the 22 queries on 600,000 rows of lineitem, all engines held against each other (about two minutes)
test-dbt3-large:
	$(CARGO) test --locked -p tare --test dbt3 -- --ignored 0_1

## tidy: what the compiler does not guard: directions, circles, docs, links, leftovers (crates/tidy)
tidy:
	$(CARGO) test --locked -p tare-tidy

## msrv: the oldest Rust that the manifests promise still builds all of it
msrv:
	scripts/msrv

## deny: licences, sources and duplicates by cargo-deny, then advisories, for which it fetches its list from GitHub
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 3; }
	$(CARGO) deny check $(DENY_HERE)
	$(CARGO) deny check advisories

## book: the docs as one site, in target/book, and every link of it looked at
book:
	@mdbook --version >/dev/null 2>&1 || { echo "mdbook is missing: cargo install --locked mdbook"; exit 3; }
	mdbook build
	$(CARGO) test --locked -q -p tare-tidy --test book -- --include-ignored

## deb: a Debian package with manual pages and shell completions, in target/deb
deb: build
	scripts/deb target/release/tare target/deb

## package: every library as a crate of its own, from what is committed
package:
	$(CARGO) package --locked --no-verify $(foreach crate,$(LIBRARIES),-p tare-$(crate))

## check: formatting, clippy with warnings as errors, documentation; and what cargo-deny needs no network for, where it is
check:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --offline check $(DENY_HERE); \
	else echo "cargo-deny is not there: licences, sources and duplicates are checked by crates/tidy alone"; fi

setup:
	scripts/setup build

setup-test:
	scripts/setup test

setup-arm:
	scripts/setup arm

setup-numa:
	scripts/setup numa

clean:
	$(CARGO) clean
