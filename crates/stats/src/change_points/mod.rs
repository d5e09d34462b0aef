//! Change points in a history of results: one value per run, in order of time.
//!
//! The **run** (one session: a results directory, a line of a CI job) is the observation. Trials of one run share host,
//! boot, file system and hour, so they are correlated and enter as their mean.
//!
//! - [`find()`] splits the series by the energy statistic of E-divisive (`divisive`), whose maximum is tested by
//!   permutation;
//! - single outlying runs are first replaced by the median of their neighbourhood (`outliers`);
//! - autocorrelation between runs makes the test stricter, by its effect on the variance of a mean (`resemblance`);
//! - where a step may be, as a range with its probability (`place`);
//! - a straight line that explains the runs better than steps is a [`Drift`] (`trend`).

mod divisive;
mod find;
mod outliers;
mod place;
mod resemblance;
mod split;
mod trend;

pub use find::{ChangePoint, Found, Options, find, of_segments};
pub use split::{FEWEST, SHORTEST};
pub use trend::Drift;
