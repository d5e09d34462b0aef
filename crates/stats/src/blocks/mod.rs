//! Compares conditions that ran in blocks, by least squares with a block effect. Blocks that lost a trial contribute
//! their remaining trials.

mod contrast;
mod fit;
mod model;
mod residuals;

pub use contrast::{Analysis, Contrast, Spread, TWO_TRIALS, are_few, level};
pub(crate) use contrast::{two_sided_limit, upper_tail};
pub use fit::Condition;
pub use model::{FEWEST_BLOCKS, Model, shared_p_values};
pub(crate) use residuals::Residuals;
