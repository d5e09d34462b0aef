//! The cost of an add, as ratios within one run: `cargo bench -p tare-counters --bench ratios`.
//!
//! Contenders are measured in turn, round after round, so that a disturbance of the machine affects both; a ratio is
//! taken within each round. The output is the median, the minimum and the maximum over the rounds, and the documented
//! limit. The exit code is 1 when a median exceeds its limit. The environment variable `ROUNDS` sets the number of
//! rounds.

#![allow(clippy::expect_used, reason = "a benchmark without counters has nothing to go on with")]
#![allow(clippy::disallowed_methods)]

mod contenders;

use contenders::{Amount, Atomics, Contender, MANY, NoOps, Plain, Rotate, Rseq, Sharded, Walk};
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

/// Adds per measurement and thread.
const ADDS: u64 = 4_000_000;

/// The documented limit of the ratio of the two costs.
enum Bound {
    AtMost(f64),
    AtLeast(f64),
    /// No limit: prints how many times as expensive as the other.
    Costs,
    /// No limit: prints how many times as cheap as the other.
    Saves,
}

struct Line<'a> {
    name: &'a str,
    bound: Bound,
    threads: usize,
    walk: Walk,
    amount: Amount,
    own: &'a dyn Contender,
    other: &'a dyn Contender,
}

fn main() -> ExitCode {
    // `cargo test --benches` passes --test: a measurement has nothing to test.
    if std::env::args().any(|argument| argument == "--test") {
        return ExitCode::SUCCESS;
    }
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(15usize).max(3);
    let (one, many) = (Rseq::new(1), Rseq::new(MANY));
    let (plain, plain_many) = (Plain::new(1), Plain::new(MANY));
    let (atomic, atomics, shards) = (Atomics::new(1), Atomics::new(MANY), Sharded::new(MANY));
    println!("backend {}, {rounds} rounds of {ADDS} adds a thread; ns per add and thread", one.backend());
    let two = Amount::Given(black_box(2));
    let most = Bound::AtMost;
    let least = Bound::AtLeast;
    let (same, rotate, random) = (Walk::Same, Walk::Rotate(Rotate::MASK), Walk::Random);
    let line = |name, bound, threads, walk, amount, own, other| Line { name, bound, threads, walk, amount, own, other };
    let lines: [Line<'_>; 12] = [
        line("32 no-ops : plain increment", Bound::Costs, 1, same, Amount::One, &NoOps, &plain),
        line("add(n), same counter : plain add", most(1.5), 1, same, two, &one, &plain),
        line("increment, same counter : plain increment", most(1.5), 1, same, Amount::One, &one, &plain),
        line("increment, aliased : plain increment", Bound::Costs, 1, Walk::Aliased, Amount::One, &many, &plain_many),
        line("add(n), rotating : plain add", most(2.5), 1, rotate, two, &many, &plain_many),
        line("increment, rotating : plain increment", most(2.5), 1, rotate, Amount::One, &many, &plain_many),
        line("relaxed atomic : increment, 1 thread", least(8.0), 1, same, Amount::One, &one, &atomic),
        line("relaxed atomic : increment, 2 threads", least(15.0), 2, same, Amount::One, &one, &atomic),
        line("relaxed atomic : add(n), 1 thread", Bound::Saves, 1, same, two, &one, &atomic),
        line("relaxed atomic : add(n), 2 threads", Bound::Saves, 2, same, two, &one, &atomic),
        line("packed atomics : increment, random", least(2.5), 1, random, Amount::One, &many, &atomics),
        line("64-byte shards : increment, random", least(8.0), 1, random, Amount::One, &many, &shards),
    ];
    println!("{:<42} {:>8} {:>8} {:>8} {:>8} {:>8}  limit", "ratio", "this ns", "other ns", "median", "min", "max");
    let kept = lines.iter().map(|line| measure(line, rounds)).fold(true, |all, kept| all & kept);
    reads(&many, &shards);
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures both in turn and prints the line. Returns whether the limit is kept.
fn measure(line: &Line<'_>, rounds: usize) -> bool {
    let (mut ratios, mut rseq_ns, mut other_ns) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let rseq = contenders::ns_per_add(line.own, line.walk, line.amount, line.threads, ADDS);
        let other = contenders::ns_per_add(line.other, line.walk, line.amount, line.threads, ADDS);
        if round > 0 {
            // The first pair is a warm-up.
            rseq_ns.push(rseq);
            other_ns.push(other);
            ratios.push(match line.bound {
                Bound::AtMost(_) | Bound::Costs => rseq / other,
                Bound::AtLeast(_) | Bound::Saves => other / rseq,
            });
        }
    }
    let median = median(&mut ratios);
    let (kept, limit) = match line.bound {
        Bound::AtMost(bound) => (median <= bound, format!("at most {bound}x")),
        Bound::AtLeast(bound) => (median >= bound, format!("at least {bound}x")),
        Bound::Costs | Bound::Saves => (true, "for the record".to_owned()),
    };
    let (rseq, other) = (self::median(&mut rseq_ns), self::median(&mut other_ns));
    let (min, max) = (ratios[0], ratios[ratios.len() - 1]);
    let verdict = if kept { "" } else { ": EXCEEDED" };
    println!("{:<42} {rseq:>8.2} {other:>8.2} {median:>8.2} {min:>8.2} {max:>8.2}  {limit}{verdict}", line.name);
    kept
}

/// Prints the cost of reading all counters, without a limit.
fn reads(rseq: &Rseq, shards: &Sharded) {
    let time = |read: &dyn Fn() -> u64| {
        let start = Instant::now();
        black_box(read());
        start.elapsed().as_secs_f64() * 1e9 / MANY as f64
    };
    let (mut snapshot, mut sharded): (Vec<f64>, Vec<f64>) =
        (0..9).map(|_| (time(&|| rseq.read_all()), time(&|| shards.read_all()))).unzip();
    println!(
        "reading all: snapshot {:.2} ns a counter, 64-byte shards {:.2}",
        median(&mut snapshot),
        median(&mut sharded)
    );
}

/// The median of the values, which are sorted in place.
fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
