//! Where a line is split, and the segments that makes.

/// Runs that a segment has at least: two that agree may be one bad hour.
pub const SHORTEST: usize = 3;
/// Fewest runs in which anything is looked for: two segments.
pub const FEWEST: usize = 2 * SHORTEST;
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// The first run after it.
    pub place: usize,
    pub p_value: f64,
}

/// The first runs after the splits.
pub(super) fn places(splits: &[Split]) -> Vec<usize> {
    splits.iter().map(|split| split.place).collect()
}

/// The runs between splits at `places`, as half-open ranges.
pub(super) fn segments(places: &[usize], runs: usize) -> Vec<std::ops::Range<usize>> {
    let starts = std::iter::once(0).chain(places.iter().copied());
    starts.zip(places.iter().copied().chain([runs])).map(|(from, to)| from..to).collect()
}
