//! Analyses trial records into values: one summary that the terminal, the page, the exports and --json share. It
//! writes no sentences.

// Only crates of this workspace use this crate: an item has a comment only where its name and type are not enough.
#![allow(missing_docs)]

pub mod ab;
pub mod answer;
mod best;
pub mod bisect;
pub mod builds;
pub mod captures;
pub mod certificate;
mod claims;
pub mod client_limit;
pub mod collect;
pub mod compare;
mod composite;
pub mod condition;
pub mod confidence;
pub mod counters;
pub mod curves;
pub mod differences;
pub mod effects;
pub mod factors;
pub mod find;
pub mod history;
pub mod hosts;
pub mod latencies;
pub mod left_out;
pub mod lifetimes;
pub mod lines;
pub mod load_steps;
pub mod mode;
mod modes;
pub mod one_study;
pub mod placement;
pub mod places;
pub mod plans;
pub mod pooled;
pub mod probes;
mod question;
pub mod relative;
pub mod reproduce;
pub mod residuals;
mod rounding;
pub mod scaling;
pub mod spread;
pub mod state;
mod summarize;
pub mod summary;
pub mod time;
pub mod verdict;
pub mod waits;
pub mod warm_up;
pub mod why;

pub use summarize::{answered, settled, settled_loads, summarize};
