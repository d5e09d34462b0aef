//! Sentences: findings become words only here, for terminal, page, exports and `--json` alike. No decision depends on
//! these texts.

pub mod ab;
pub mod ab_rows;
mod answer;
pub mod bisect;
mod by_load;
pub mod certificate;
mod compared;
mod comparison;
mod counters;
pub mod find;
mod first_screen;
mod further;
mod headline;
mod history;
mod load_steps;
mod machines;
mod not_shown;
pub(crate) mod paste;
mod queries;
pub mod reproduce;
pub mod searches;
pub mod steadiness;
pub mod suspects;
mod terms;
pub mod trials;
pub(crate) mod waits;
mod warnings;
pub mod why;

pub use answer::AnswerJson;
pub use compared::how_compared;
pub(crate) use compared::{how_compared_by_session, is_only_in_first};
pub(crate) use comparison::{
    adjusted_by, beyond_disturbance, build_verdict, difference, fails_more_by_test, identical, in_one_study, note,
    size, verdict, verdict_in_markdown, word,
};
pub use comparison::{comparison_sentence, many_sentence, notes, nothing_done};
pub(crate) use counters::{counters_head, generator, losses};
pub(crate) use first_screen::answer;
pub use first_screen::{FirstScreen, first_screen};
pub use further::further;
pub use history::history_sentence;
pub(crate) use history::{hash, history, history_gate, line};
pub(crate) use machines::{differs, distance};
pub use terms::{Named, grouped, not_realizable, which};
pub(crate) use terms::{at, best_first, better_word, between, letter, mode_cause, modes, place};
pub(crate) use trials::failure;
pub use warnings::{warnings, warnings_in_full};
