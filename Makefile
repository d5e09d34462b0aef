# Everything a newcomer needs: `make demo` to see it work, `make test` to check it.
CARGO ?= cargo
PREFIX ?= /usr/local
# A toolchain that rustup has just put there is not on the PATH of the shell that called make.
export PATH := $(HOME)/.cargo/bin:$(PATH)

# From the leaves up; the program and tidy belong to the tree.
LIBRARIES := text files counters stats cpuset latency load topology noise

.PHONY: arm book build check clean deb demo deny fuzz install kills limits package safeguards setup setup-arm test test-long test-numa tidy

## demo: install what is missing, build, and measure what placement and luck do on this machine (about a minute after the build)
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

## test: install what the tests need, then lints, docs, all tests, those of rights also as an ordinary user, and virtual machines
test:
	scripts/test

## test-long: what takes longer: dbt3 at scale 0.1, 200 kills, fuzzing at full length, the counters under loom and miri, Arm
test-long:
	scripts/test long

## test-numa: everything about nodes, on kernels that have several: virtual machines in software emulation, two at a time
test-numa:
	scripts/test numa

## check: formatting, lints, the tree's rules, and the unit tests of the crates that were changed
check:
	scripts/check

## arm: cross-build for 64-bit Arm, and test in emulated machines: the program on four nodes, then the counters' exactness
## and its mutant (not part of `make test`: half an hour on two CPUs)
arm: setup-arm
	scripts/arm-build
	$(CARGO) test --locked -p tare --test all -- --ignored --test-threads=1 --nocapture arm_nodes
	scripts/arm-exact

## fuzz: every reader of what comes from outside on 120,000 mutated inputs (in `make test` 4,500)
fuzz:
	scripts/test fuzz

## kills: 200 kills -9 at random moments, here, on a made-up machine and between two hosts (`make test` enumerates crash points)
kills:
	scripts/test kills

## limits: 100,000 conditions and samples are answered or refused within 2 s, timed with the release build
limits: build
	benches/limits

## safeguards: takes safeguards out, one at a time, and sees the test that holds each of them fail (scripts/safeguards, as root)
safeguards:
	scripts/safeguards

## tidy: what the compiler does not guard: directions, circles, docs, links, leftovers (crates/tidy)
tidy:
	$(CARGO) test --locked -p tare-tidy

## deny: licences, sources, duplicates and advisories by cargo-deny, which fetches the list of those from GitHub
deny:
	@$(CARGO) deny --version >/dev/null 2>&1 || { echo "cargo-deny is missing: cargo install --locked cargo-deny"; exit 3; }
	$(CARGO) deny check

## book: the docs as one site, in target/book, and every link of it looked at
book:
	@mdbook --version >/dev/null 2>&1 || { echo "mdbook is missing: cargo install --locked mdbook"; exit 3; }
	mdbook build
	$(CARGO) test --locked -q -p tare-tidy --test all book -- --include-ignored

## deb: a Debian package with manual pages and shell completions, in target/deb
deb: build
	scripts/deb target/release/tare target/deb

## package: every library as a crate of its own, from what is committed
package:
	$(CARGO) package --locked --no-verify $(foreach crate,$(LIBRARIES),-p tare-$(crate))

setup:
	scripts/setup build

setup-arm:
	scripts/setup arm

clean:
	$(CARGO) clean
