//! Analyses trial records into values: one summary that the terminal, the page, the exports and --json share. It
//! writes no sentences.

// Only crates of this workspace use this crate: an item has a comment only where its name and type are not enough.
#![allow(missing_docs)]

pub mod ab;
pub mod answer;
mod basis;
mod best;
pub mod bisect;
pub mod builds;
mod by_chance;
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
pub mod distance;
pub mod distributions;
pub mod dropped;
pub mod effects;
mod ends;
pub mod factors;
mod far_apart;
pub mod find;
pub mod grid;
mod groups;
pub mod history;
pub mod hosts;
mod ladders;
pub mod lifetimes;
pub mod lines;
pub mod mode;
mod modes;
pub mod nodes;
pub mod outliers;
pub mod plans;
pub mod pooled;
mod pooled_steps;
pub mod probe_rows;
pub mod probes;
mod question;
pub mod relative;
pub mod reproduce;
mod residuals;
mod rounding;
pub mod run_order;
pub mod scaling;
pub mod searches;
mod selection;
mod settled;
mod spread;
pub mod spread_from;
pub mod state;
mod summarize;
pub mod summary;
mod taken;
pub mod term;
pub mod threads;
pub mod time;
pub mod used;
pub mod verdict;
pub mod waits;
pub mod wakes;
pub mod warm_up;
pub mod warm_up_by;
pub mod weight;
pub mod why;

pub use settled::settled;
pub use summarize::{answered, summarize};
