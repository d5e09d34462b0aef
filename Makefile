# Everything a newcomer needs: `make demo` to see it work, `make test` to check it.
CARGO ?= cargo
PREFIX ?= /usr/local
# A toolchain that rustup has just installed is not on the PATH of the shell that called make.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# In the order of their dependencies; the other crates are parts of the program and not published.
LIBRARIES := text files counters stats cpuset latency load topology noise

.PHONY: arm book build check clean deb demo deny fuzz install kills limits package safeguards semver setup setup-arm test test-long test-numa tidy

## demo: install what is missing, build, and measure what placement and luck do on this machine (two minutes after the build)
demo: build
	./target/release/tare run first-look

## build: install what a build needs, then build the release binary
build: setup
	$(CARGO) build --release --locked -p tare

## install: the program with manual pages and shell completions under PREFIX (/usr/local): make build && sudo make install
install: target/release/tare
	scripts/install target/release/tare "$(PREFIX)"

target/release/tare:
	$(MAKE) build

## test: install what the tests need, then lints, docs, all tests (those of rights also as an ordinary user), virtual machines
test:
	scripts/test

## test-long: the longer tests: dbt3 at scale 0.1, 200 kills, fuzzing at full length, the counters under loom and miri, Arm
test-long:
	scripts/test long

## test-numa: all tests of NUMA nodes, in emulated virtual machines with several nodes, two at a time
test-numa:
	scripts/test numa

## check: formatting, lints, the rules of crates/tidy, and the unit tests of the changed crates
check:
	scripts/check

## arm: cross-build for 64-bit Arm, and test in emulated machines: the program on four nodes, then the counters' exactness
## and its mutant (not part of `make test`: half an hour on two CPUs)
arm: setup-arm
	scripts/arm-build
	$(CARGO) test --locked -p tare --test all -- --ignored --test-threads=1 --nocapture arm_nodes
	scripts/arm-exact

## fuzz: every parser of outside input on 160,000 mutated inputs (in `make test` 4,500)
fuzz:
	scripts/test fuzz

## kills: 200 kills -9 at random moments: here, on a simulated machine, between two hosts (`make test` takes all crash points)
kills:
	scripts/test kills

## limits: checks that 100,000 conditions and samples are handled or refused within 2 s, with the release build
limits: build
	benches/limits

## safeguards: removes safeguards from the code, and checks that their tests fail (scripts/safeguards, as root; over an hour)
safeguards:
	scripts/safeguards

## tidy: rules beyond the compiler: directions and cycles of dependencies, docs, links, leftovers (crates/tidy)
tidy:
	$(CARGO) test --locked -p tare-tidy

## deny: licences, sources, duplicates and advisories by cargo-deny, which fetches the advisories from GitHub
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 3; }
	$(CARGO) deny check

## book: the docs as one site, in target/book, and a check of all its links
book:
	@mdbook --version >/dev/null 2>&1 || { echo "mdbook is missing: cargo install --locked mdbook"; exit 3; }
	mdbook build
	$(CARGO) test --locked -q -p tare-tidy --test all book -- --include-ignored

## deb: a Debian package with manual pages and shell completions, in target/deb
deb: build
	scripts/deb target/release/tare target/deb

# A lock file would need each of them in the registry.
## package: every library as a crate of its own, from the last commit (PACKAGE=--allow-dirty: as the files are now)
package:
	$(CARGO) package --locked --no-verify --exclude-lockfile $(PACKAGE) $(foreach crate,$(LIBRARIES),-p tare-$(crate))

# The tool knows the rustdoc of recent compilers only.
## semver: what breaks for users of the libraries since the last release (BASE=REVISION), by cargo-semver-checks
BASE ?= $(shell git log -1 --format=%h -G'^Released on' -- CHANGELOG.md)
semver:
	@$(CARGO) semver-checks --version >/dev/null 2>&1 || { echo "cargo-semver-checks is missing: cargo install --locked cargo-semver-checks"; exit 3; }
	$(CARGO) +stable semver-checks --baseline-rev $(BASE) $(foreach crate,$(LIBRARIES),-p tare-$(crate))

setup:
	scripts/setup build

setup-arm:
	scripts/setup arm

clean:
	$(CARGO) clean
