//! Two-level factors: what each does to the mean and to the spread between trials, and which one the spread comes from.

mod block_spread;
mod design;
mod dispersion;
mod location;
mod report;
mod sources;
mod spread_test;

pub use design::{Cell, residuals};
pub use report::{Effect, effects};
pub use sources::{FactorSpread, SpreadRanking, sources, sources_at};
