//! Measures the error rate of every claim that a command can make first: one row each with the nominal rate of wrong
//! claims and the measured one with its interval. `TARE_NULL_STUDIES` sets the number of studies of each kind;
//! `benches/truth` runs all of them and prints one table.

/// Declares claims together with the list of all of them, so that none can be missing there.
macro_rules! listed {
    ($listed:ident { $($name:ident),* $(,)? }) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        enum $listed { $($name),* }

        impl $listed {
            const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

mod claims;
mod comparisons;
mod disturbed;
mod made;
mod means;
mod modes;
mod pairs;
mod seats;
mod sentences;
mod studies;
mod summaries;

use crate::rates::{Limit, Rate, Rows, requested};

/// Whether a row of the table is to be measured: all are, unless `TARE_SENTENCE` names one.
fn is_selected(sentence: &impl std::fmt::Debug) -> bool {
    std::env::var("TARE_SENTENCE").ok().is_none_or(|only| only == format!("{sentence:?}"))
}
