//! Contended cache lines: the same line in several trials is merged, whatever its address.

use crate::made_up::{differ, of_two_sides, trial, worked};
use tare_findings::lines::{LineUse, LinesSummary};
use tare_findings::summarize;
use tare_results::Results;
use tare_results::cache_lines::{LineAccess, LineCounts, SharedLine, SharedLines, Sharing};
use tare_results::captures::Captures;
use tare_results::schema::{CaptureSample, ThreadClass};

fn access(offset: u64, node: u32, function: &str, counts: LineCounts) -> LineAccess {
    LineAccess { offset, node, function: function.to_owned(), threads: 2, counts }
}

fn reads(loads: u64, found_remote: u64) -> LineCounts {
    LineCounts { loads, found_remote, ..LineCounts::default() }
}

fn writes(stores: u64) -> LineCounts {
    LineCounts { stores, ..LineCounts::default() }
}

/// A line that `reader` reads and `write` writes.
fn line(address: &str, reader: &str, found: u64, sharing: Sharing) -> SharedLine {
    SharedLine {
        name: "heap".to_owned(),
        address: address.to_owned(),
        sharing,
        counts: LineCounts { stores: 5, ..reads(2 * found, found) },
        accesses: vec![access(8, 1, reader, reads(2 * found, found)), access(0, 0, "write", writes(5))],
    }
}

/// Conditions a and b of three trials each; only those of b sampled accesses.
fn made() -> Results {
    of_two_sides(3, |block, side, name| {
        let mut record = trial(2 * block + side, block, name, 1000.0 + block as f64, false);
        record.samples[0].threads = vec![worked(ThreadClass::Client, 0.0), worked(ThreadClass::Connection, 0.0)];
        let lines = vec![
            line(&format!("0x{block}000"), "scan", 10, Sharing::OtherWords),
            line(&format!("0x{block}040"), "commit", 3 + block as u64, Sharing::SameWord),
        ];
        let sampled = SharedLines { line_bytes: 64, counts: reads(1000, 40), cut: block == 2, lines };
        record.capture_sample = Some(CaptureSample {
            elapsed_s: 1.0,
            tps: 900.0,
            tps_ratio: 0.9,
            lines: (side == 1).then_some(sampled),
            ..CaptureSample::default()
        });
        (record, Captures::default())
    })
}

fn check(found: &LinesSummary) {
    assert_eq!((found.trials, found.counts, found.cut), (3, reads(3000, 120), true));
    let lines: Vec<(&str, usize, u64, Sharing)> =
        found.lines.iter().map(|l| (l.name.as_str(), l.trials, l.counts.found(), l.sharing)).collect();
    assert_eq!(lines, [("heap", 3, 30, Sharing::OtherWords), ("heap", 3, 12, Sharing::SameWord)]);
    let one = |function: &str, node, offset, samples| LineUse { function: function.to_owned(), node, offset, samples };
    assert_eq!(found.lines[0].written_by, [one("write", 0, 0, 15)]);
    assert_eq!(found.lines[0].read_by, [one("scan", 1, 8, 30)]);
    assert_eq!(found.lines[1].read_by, [one("commit", 1, 8, 12)]);
}

#[test]
fn cache_lines_of_different_trials_match_by_the_code_that_uses_them() {
    let results = made();
    let summary = summarize(&results);
    let of = |name: &str| summary.captures.iter().find(|capture| capture.condition == name).unwrap().lines.as_ref();
    assert_eq!(of("side=a"), None);
    check(of("side=b").unwrap());
    let found = differ(&results);
    assert_eq!(found.lines[0], None);
    check(found.lines[1].as_ref().unwrap());
}

#[test]
fn no_hostile_record_makes_a_sum_overflow() {
    let mut results = made();
    let huge = LineCounts { loads: u64::MAX, stores: u64::MAX, found_local: u64::MAX, found_remote: u64::MAX };
    for sample in results.trials.iter_mut().filter_map(|trial| trial.capture_sample.as_mut()) {
        if let Some(lines) = &mut sample.lines {
            lines.counts = huge;
            let all = lines.lines.iter_mut();
            all.for_each(|line| (line.counts, line.accesses[0].counts, line.accesses[1].counts) = (huge, huge, huge));
        }
    }
    let summary = summarize(&results);
    let found = summary.captures.iter().find_map(|capture| capture.lines.as_ref()).unwrap();
    assert_eq!((found.counts.found(), found.lines[0].counts.found()), (u64::MAX, u64::MAX));
}
