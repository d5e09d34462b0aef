//! The share of the error of a race that one bound of one look may fail with.

/// Blocks after which is looked.
pub const LOOKS: [usize; 18] = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 18, 21, 25, 30, 35, 41];
/// Blocks from which on every look has the full share: those before it have as much less as they have fewer blocks, for
/// what is decided there is far apart.
const FULL: usize = 5;
/// The error at which [`TESTS`] was found.
const ALPHA: f64 = 0.05;
/// Candidates, and as how many independent bounds all of theirs count: with the error over so many, the
/// best of that many equals is dropped at any of the looks in 5% of races (`benches/find shares`, 12,000 races each; 4%
/// added for what these leave open).
const TESTS: [(usize, f64); 13] = [
    (2, 6.8),
    (3, 12.5),
    (4, 18.2),
    (6, 30.7),
    (8, 45.8),
    (12, 63.2),
    (16, 87.7),
    (24, 119.0),
    (32, 158.0),
    (48, 221.0),
    (64, 299.0),
    (96, 458.0),
    (128, 563.0),
];

/// How much of the full share a look has, by the blocks that it comes after.
pub fn weight(blocks: usize) -> f64 {
    blocks.min(FULL) as f64 / FULL as f64
}

/// The chance that one bound of the look after so many blocks may fail with.
pub(super) fn share(candidates: usize, blocks: usize, alpha: f64) -> f64 {
    alpha / tests(candidates, alpha) * weight(blocks)
}

/// Between two numbers of candidates that of the larger one counts. Errors below 5% and more candidates than were
/// simulated have their bounds added up; for errors above, the number at 5% is too large, if anything.
fn tests(candidates: usize, alpha: f64) -> f64 {
    let simulated = TESTS.iter().find(|(known, _)| *known >= candidates).filter(|_| alpha >= ALPHA);
    let all: f64 = LOOKS.iter().map(|blocks| weight(*blocks)).sum();
    simulated.map_or(all * candidates.saturating_sub(1).max(1) as f64, |(_, tests)| *tests)
}
