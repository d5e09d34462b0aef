//! Terminal output: tables as wide as the terminal, with colour only where the terminal supports it.

mod captures;
mod comparison;
mod conditions;
mod find;
mod layout;
mod measured;
mod others;
mod scaling;
mod show;
mod spread;
mod style;
mod why;

pub use comparison::{comparison, history, many};
pub use find::find;
pub use layout::wrap;
pub use measured::measured;
pub use show::show;
pub(crate) use style::plain;
pub use style::{Statistic, Style};
pub use why::{experiments, proofs, times, why};
