//! Sentences: findings become words only here, for terminal, page, exports and `--json` alike. No decision depends on
//! these texts.

pub mod ab;
pub mod ab_rows;
mod analysis;
mod answer;
pub mod bisect;
mod by_load;
pub mod certificate;
pub mod client_limit;
mod compared;
mod comparison;
mod counters;
mod culprits;
mod details;
mod distance;
mod disturbance;
pub mod find;
mod first_screen;
mod fitting;
mod further;
mod headline;
mod history;
pub(crate) mod lines;
mod machines;
mod many_sides;
mod not_shown;
pub(crate) mod paste;
mod plans;
mod pooled;
pub mod proof;
pub mod reproduce;
pub mod searches;
mod steadiness;
pub mod suspects;
mod terms;
mod trials;
mod two_hosts;
pub(crate) mod waits;
pub(crate) mod wakes;
mod warm_up;
mod warnings;
pub mod weight;
mod which;
pub mod why;

pub use answer::AnswerJson;
pub use compared::how_compared;
pub(crate) use compared::{how_compared_by_session, is_only_in_first};
pub(crate) use comparison::{
    adjusted_by, beyond_disturbance, build_verdict, difference, fails_more_by_test, identical, note, sides_of, size,
    verdict, verdict_in_markdown,
};
pub use comparison::{comparison_sentence, notes};
pub(crate) use counters::{counters_head, generator, losses};
pub(crate) use distance::distance;
pub(crate) use disturbance::failure;
pub(crate) use first_screen::answer;
pub use first_screen::{FirstScreen, first_screen};
pub use further::further;
pub(crate) use history::history;
pub use history::history_sentence;
pub(crate) use history::{hash, history_gate, line};
pub use many_sides::many_sentence;
pub(crate) use terms::{best_first, better_word, between, letter, mode_cause, modes};
pub use warnings::{warnings, warnings_in_full};
pub use which::{Named, grouped, not_realizable, which};
