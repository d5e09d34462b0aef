//! Compares the statistics with simulations and published examples, in one test program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod coverage;
mod histories;
mod invariants;
mod machines;
mod naming;
mod nulls;
mod numbers;
mod pairs;
mod places;
mod pooled;
mod powers;
mod rates;
mod rounded;
mod simulate;
mod spreads;
mod worth;
