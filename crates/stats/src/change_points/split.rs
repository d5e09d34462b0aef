//! Splits of a series, and the segments between them.

/// Minimum number of runs in a segment: two similar runs may be one bad hour.
pub const SHORTEST: usize = 3;
/// Minimum number of runs in a series that is searched: two segments.
pub const FEWEST: usize = 2 * SHORTEST;
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// The first run after it.
    pub place: usize,
    pub p_value: f64,
}

/// The index of the first run after each split.
pub(super) fn places(splits: &[Split]) -> Vec<usize> {
    splits.iter().map(|split| split.place).collect()
}

/// The runs between splits at `places`, as half-open ranges.
pub(super) fn segments(places: &[usize], runs: usize) -> Vec<std::ops::Range<usize>> {
    let starts = std::iter::once(0).chain(places.iter().copied());
    starts.zip(places.iter().copied().chain([runs])).map(|(from, to)| from..to).collect()
}
