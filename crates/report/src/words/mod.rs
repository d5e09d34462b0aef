//! Sentences: the one place where findings become words, for terminal, page, exports and `--json` alike. Nothing is
//! decided from what is made here.

pub mod ab;
mod analysis;
mod answer;
pub mod client_limit;
mod comparison;
mod culprits;
mod details;
mod first_screen;
mod further;
mod headline;
mod history;
mod machines;
mod plans;
mod pooled;
mod searches;
mod steadiness;
mod terms;
mod trials;
mod two_hosts;
pub(crate) mod waits;
mod warm_up;
mod warnings;
pub mod why;

pub use answer::AnswerJson;
pub use comparison::{beyond_disturbance, difference, failures, identical, note, notes};
pub use first_screen::{FirstScreen, first_screen};
pub use further::further;
pub use history::{history, history_gate, line, step};
pub(crate) use terms::{better_word, letter, mode_cause, modes};
pub use warnings::warnings;
