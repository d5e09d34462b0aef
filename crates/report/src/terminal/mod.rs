//! Terminal output: tables as wide as the terminal, with colour only where the terminal supports it.

mod captures;
mod comparison;
mod conditions;
mod find;
mod grid;
mod history;
mod many;
mod measured;
mod names;
mod others;
mod probes;
mod relative;
mod rows;
mod scaling;
mod show;
mod spread;
mod statistic;
mod steps;
mod style;
mod text;
mod time;
mod why;

pub use comparison::comparison;
pub use find::find;
pub use history::history;
pub use many::many;
pub use measured::measured;
pub use show::show;
pub use style::{Statistic, Style};
pub(crate) use text::plain;
pub use text::wrap;
pub use time::times;
pub use why::{experiments, proofs, why};
