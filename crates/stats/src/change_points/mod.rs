//! Change points in a history of results: one value per run, in order of time.
//!
//! The **run** (one session: a results directory, a line of a CI job) is the observation. Trials of one run share host,
//! boot, file system and hour, so they are correlated and enter as their mean.
//!
//! - [`find()`] splits the series by the energy statistic of E-divisive (`divisive`), whose maximum is tested by
//!   permutation;
//! - single outlying runs are first replaced by the median of their neighbourhood (`series`);
//! - autocorrelation between runs makes the test stricter, by its effect on the variance of a mean (`series`);
//! - where a step may be, as a range with its probability (`place`);
//! - a straight line that explains the runs better than steps is a [`Drift`] (`place`).

mod divisive;
mod find;
mod place;
mod series;

pub use find::{ChangePoint, Found, Options, find, of_segments};
pub use place::Drift;
pub use series::{FEWEST, SHORTEST};
