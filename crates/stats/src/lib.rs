//! Pure statistics for benchmarks: no I/O, no clock, no global random numbers. Seeds are passed in.
//!
//! The **trial** (one server lifetime) is the sampling unit everywhere. Samples of one trial share its memory layout
//! and thread placement, so pooling them over trials understates every error; functions that take nested samples
//! ([`Trials`]) reduce them to trial means first, and functions that take `&[f64]` expect trial
//! means.
//!
//! | module | question |
//! | --- | --- |
//! | [`descriptive`] | mean, spread, quantiles, autocorrelation, batch means of one slice |
//! | [`trials`] | how large and how steady is a metric of one condition |
//! | [`components`] | which level of repetition the variance comes from |
//! | [`plan`] | how long to warm up, how many samples and trials to take |
//! | [`ratio`] | is B faster than A, and by how much |
//! | [`blocks`] | conditions that ran in blocks, all trials in one model |
//! | [`modes`] | does the metric have two or three modes, and what tells them apart |
//! | [`digits`] | to which digit values were rounded |
//! | [`mode_power`] | how far apart modes have to be to be seen |
//! | [`effects`] | which factor moves the mean, which one the spread |
//! | [`covariates`] | which recorded covariate explains a response, by permutation |
//! | [`scaling`] | the universal scalability law over threads or nodes |
//! | [`ladder`] | gain of each step of a ladder, retrograde scaling |
//! | [`growth`] | whose share grows along a ladder |
//! | [`order`] | randomised complete blocks |
//! | [`multiple`] | p-values of many claims at once |
//! | [`simultaneous`] | which conditions are the best, and which cannot be told apart |
//! | [`spread`] | how far trials lie apart, and whether another condition's lie closer |
//! | [`groups`] | the letters of such pairs: those that share one cannot be told apart |
//! | [`sequential`] | is B different from A, asked after every pair until it is settled |
//! | [`bisection`] | which commit of a line is the first slower one, from noisy pairs |
//! | [`racing`] | which of many candidates is the best, the worse ones dropped on the way |
//! | [`serial`] | do trials resemble the ones before them, and what that costs |
//! | [`outliers`] | does one trial lie far from all others |
//! | [`machines`] | do several machines that shared a study differ, and which is odd |
//! | [`control`] | a ratio with what a probe explains taken out |
//! | [`worth`] | would such a probe help on this machine |
//! | [`counts`] | does one side fail more often than the other |
//! | [`change_points`] | where the runs of a history step, and whether they drift |
//!
//! Functions return `None` where a figure does not exist (an interval from one trial) and [`Error`] where the input
//! cannot be used. Finite input never gives a NaN.

#![warn(clippy::missing_errors_doc)]

pub mod bisection;
pub mod blocks;
pub mod change_points;
pub mod components;
pub mod control;
pub mod counts;
pub mod covariates;
pub mod descriptive;
pub mod digits;
pub mod effects;
mod error;
pub mod groups;
pub mod growth;
mod interval;
pub mod ladder;
pub mod line;
mod linear;
pub mod machines;
mod mode_limits;
pub mod mode_power;
pub mod modes;
pub mod multiple;
pub mod order;
pub mod outliers;
pub mod plan;
pub mod pooled;
mod quantiles;
pub mod racing;
pub mod ratio;
mod samples;
pub mod scaling;
pub mod sequential;
pub mod serial;
pub mod simultaneous;
pub mod spread;
mod studentized;
pub mod trials;
mod welch;
pub mod worth;

pub use error::Error;
pub use interval::{Estimate, Interval};
pub use samples::{Groups, Trials};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
