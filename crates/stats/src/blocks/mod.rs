//! Conditions that ran in blocks, compared by least squares with an effect of each block: blocks that lost a trial take
//! part with the rest.

mod analysis;
mod fit;
mod model;
mod spread;
mod table;

pub use analysis::{Analysis, Spread};
pub use model::{Contrast, Model};
pub use table::Condition;
