#!/bin/sh
# What is asked of this crate besides its tests in the workspace's build (`make test`): other targets, other tools, ten
# times as many adds. `crates/counters/ci.sh [--where-possible] ["job ..."]`; all jobs without any.
# `--where-possible` leaves out, with a line that says so, those whose toolchain is not there.
# Needs: rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-gnu riscv64gc-unknown-linux-gnu
#        rustup toolchain install nightly --component miri,rust-src
set -eu
cd "$(dirname "$0")"

# 10^9 adds a backend, moved and interrupted; the mutant must lose. One at a time: each needs the machine.
job_exact()    { cargo test --locked --release --test all -- --nocapture --test-threads=1 exact::; }
# Static musl: no glibc area. (The study is not tested here: libnuma cannot be loaded into a static program.)
job_musl()     { cargo test --locked --target x86_64-unknown-linux-musl --lib --test all; }
job_miri()     { MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked --test all; }
job_loom()     { RUSTFLAGS="--cfg loom" cargo test --locked --release --no-default-features --test loom; }
# Assembles the aarch64 sections (a check alone would not), and compiles the fallback of an architecture without any.
job_targets()  {
    for t in aarch64-unknown-linux-gnu riscv64gc-unknown-linux-gnu; do
        cargo build --locked -p tare-counters -p tare-counters-study --lib --all-features --target $t
    done
}

# What a job needs beyond cargo; nothing to print when it is there.
missing() {
    case $1 in
    musl) wanted="x86_64-unknown-linux-musl" ;;
    targets) wanted="aarch64-unknown-linux-gnu riscv64gc-unknown-linux-gnu" ;;
    miri) cargo +nightly miri --version >/dev/null 2>&1 || echo "rustup toolchain install nightly --component miri,rust-src"; return ;;
    *) return ;;
    esac
    for target in $wanted; do
        [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || echo "rustup target add $target"
    done
}

where_possible=no
if [ "${1:-}" = --where-possible ]; then
    where_possible=yes
    shift
fi
for job in ${1:-exact musl miri loom targets}; do
    if [ "$where_possible" = yes ] && [ -n "$(missing "$job")" ]; then
        echo "== $job: not run here, needs: $(missing "$job")"
        continue
    fi
    echo "== $job"
    "job_$job"
done
