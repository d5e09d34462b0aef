//! Statistics for benchmarks, as pure functions: no I/O, no clock, no global random numbers. Seeds are arguments.
//!
//! The sampling unit is the **trial**, one lifetime of the measured server or program. Samples of one trial share its
//! memory layout and thread placement, so they are not independent, and pooling them over trials understates every
//! error. Functions that take nested samples ([`Trials`]) first reduce them to trial means; functions that take
//! `&[f64]` expect trial means.
//!
//! | module | answers |
//! | --- | --- |
//! | [`descriptive`] | mean, spread, quantiles, autocorrelation and batch means of one slice |
//! | [`trials`] | mean and variation of a metric under one condition, with intervals |
//! | [`components`] | from which level of repetition the variance comes |
//! | [`plan`] | how long to warm up, and how many samples and trials to take |
//! | [`ratio`] | whether B is faster than A, and by how much |
//! | [`blocks`] | contrasts of conditions that ran in blocks, from one model of all trials |
//! | [`modes`] | whether a metric has two or three modes, and which covariate separates them |
//! | [`digits`] | to which digit values were rounded |
//! | [`mode_power`] | how far apart modes must be to be detected |
//! | [`effects`] | which factor changes the mean, and which one the variance |
//! | [`covariates`] | which recorded covariate explains a response, by permutation |
//! | [`scaling`] | the universal scalability law over threads or nodes |
//! | [`ladder`] | the gain of each step of a ladder, and retrograde scaling |
//! | [`pooled`] | the mean of one step over many ladders, and the ladders that are exceptions |
//! | [`mod@line`] | a straight-line fit of a response on a few measured quantities |
//! | [`growth`] | which symbol or lock has a share that grows along a ladder |
//! | [`order`] | randomised complete blocks |
//! | [`multiple`] | p-values adjusted for many tests |
//! | [`simultaneous`] | which conditions are best, and which are not distinguishable, from all pairwise comparisons |
//! | [`spread`] | the coefficient of variation between trials, and the ratio of two of them |
//! | [`groups`] | compact letter display: conditions with a letter in common do not differ significantly |
//! | [`sequential`] | whether B differs from A, by a sequential test of pairs |
//! | [`bisection`] | which commit of a range is the first slower one, from noisy pairs |
//! | [`racing`] | which of many candidates is the best, with elimination of the worse ones |
//! | [`serial`] | whether successive trials are autocorrelated, and by how much that widens intervals |
//! | [`outliers`] | whether one trial is far from all others |
//! | [`machines`] | whether machines that shared a study differ, and which of them is an outlier |
//! | [`control`] | a ratio adjusted by a control variate (a probe) |
//! | [`worth`] | whether such a probe helps on this machine |
//! | [`counts`] | whether one side fails more often than the other |
//! | [`change_points`] | where the results of a history change, and whether they drift |
//!
//! A function returns `None` when a figure does not exist (an interval from one trial), and [`Error`] when the input is
//! unusable. No result is NaN for finite input.

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
pub mod scaling;
pub mod sequential;
pub mod serial;
pub mod simultaneous;
pub mod small_samples;
pub mod spread;
pub mod trials;
pub mod worth;

pub use error::Error;
pub use interval::{Estimate, Interval};
pub use trials::{Groups, Trials};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
