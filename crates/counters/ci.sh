#!/bin/sh
# What CI runs for this crate and for counters-study, each line a job that can fail: `crates/counters/ci.sh ["job ..."]`,
# all jobs without any.
# `--where-possible` before the jobs leaves out, with a line that says so, those whose toolchain is not there: `make test`
# runs musl, targets and miri that way, and all others as they are.
# Needs: rustup target add x86_64-unknown-linux-musl aarch64-unknown-linux-gnu riscv64gc-unknown-linux-gnu
#        rustup toolchain install nightly --component miri,rust-src; apt-get install libnuma1
set -eu
cd "$(dirname "$0")"

job_default()  { cargo test --locked -p tare-counters -p tare-counters-study; }
# 10^9 adds a backend, moved and interrupted; the mutant must lose. One at a time: each needs the machine.
job_exact()    { cargo test --locked --release --test exact -- --nocapture --test-threads=1; }
# glibc's registration off: this crate registers its own area, and every test holds.
job_tunable()  { GLIBC_TUNABLES=glibc.pthread.rseq=0 cargo test --locked --lib --test contract --test exact; }
# Every backend forced from outside, also below the study's workload.
job_forced()   {
    for b in cpu-atomic striped; do
        TARE_COUNTERS_BACKEND=$b cargo test --locked -p tare-counters -p tare-counters-study --test contract --test workload
    done
}
# Static musl: no glibc area. (The study is not tested here: libnuma cannot be loaded into a static program.)
job_musl()     { cargo test --locked --target x86_64-unknown-linux-musl --lib --test contract --test exact; }
# A library's user gets libc and nothing else.
job_alone()    { ! cargo tree --locked -e normal --prefix none | grep -vE '^(tare-counters|libc) '; }
job_miri()     { MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked --test contract; }
job_loom()     { RUSTFLAGS="--cfg loom" cargo test --locked --release --no-default-features --test loom; }
# Assembles the aarch64 sections (a check alone would not), and compiles the fallback of an architecture without any.
job_targets()  {
    for t in aarch64-unknown-linux-gnu riscv64gc-unknown-linux-gnu; do
        cargo build --locked -p tare-counters -p tare-counters-study --lib --all-features --target $t
    done
}
job_bench()    { cargo bench --locked --bench ratios; }

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
for job in ${1:-default exact tunable forced musl alone miri loom targets}; do
    if [ "$where_possible" = yes ] && [ -n "$(missing "$job")" ]; then
        echo "== $job: not run here, needs: $(missing "$job")"
        continue
    fi
    echo "== $job"
    "job_$job"
done
