//! Compares conditions that ran in blocks, by least squares with a block effect. Blocks that lost a trial contribute
//! their remaining trials.

mod analysis;
mod fit;
mod model;
mod residuals;
mod spread;
mod table;

pub use analysis::{Analysis, Spread};
pub use model::{Contrast, FEWEST_BLOCKS, Model, TWO_TRIALS, are_few, level, shared_p_values};
pub(crate) use model::{two_sided_limit, upper_tail};
pub(crate) use residuals::Residuals;
pub use table::Condition;
