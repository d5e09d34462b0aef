//! Change points over a history of results: one value a run, in the order of time.
//!
//! The **run** (one session: a results directory, a line of a CI job) is the observation. Trials of one run share host,
//! boot, file system and hour, so they move together and enter as their mean.
//!
//! - [`find()`] splits the line by the energy statistic of E-divisive (`divisive`), its maximum tested by permutation;
//! - single outlying runs are replaced by the median of their neighbourhood first (`outliers`);
//! - neighbours that resemble each other make the test harder by what that costs a mean (`resemblance`);
//! - a straight line that explains the runs better than steps is a [`Drift`] (`trend`).

mod divisive;
mod find;
mod outliers;
mod resemblance;
mod split;
mod trend;

pub use find::{ChangePoint, Found, Options, find, of_segments};
pub use split::{FEWEST, SHORTEST};
pub use trend::Drift;
