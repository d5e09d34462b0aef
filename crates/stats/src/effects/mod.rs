//! Two-level factors: their effects on the mean and on the variance between trials, and their shares in that variance.

mod block_spread;
mod design;
mod report;
mod sources;
mod spread_test;

pub use design::{Cell, DIVIDED, residuals};
pub use report::{Effect, adjusted_means, effects};
pub use sources::{FactorSpread, SpreadRanking, sources, sources_at};
