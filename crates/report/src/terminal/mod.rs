//! The tables on a terminal: as wide as it is, no colour unless asked for.

mod captures;
mod comparison;
mod conditions;
mod grid;
mod many;
mod measured;
mod names;
mod probes;
mod scaling;
mod show;
mod spread;
mod statistic;
mod style;
mod text;
mod waits;

pub use comparison::comparison;
pub use many::many;
pub use measured::measured;
pub use show::show;
pub use style::{Statistic, Style};
