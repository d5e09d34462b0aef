//! False claims about equal conditions if the slow trials of one of them are the disturbed ones, so that the clean ones
//! are a selection.

use super::made::Shape;
use super::{Limit, Rate, Rows, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::answered;
use tare_findings::verdict::{Selected, Without};
use tare_results::schema::TrialRecord;
use tare_stats::order::randomized_blocks;

/// Spread between trials, as a fraction.
const COV: f64 = 0.02;

/// The trials of the last condition that are marked as disturbed, without any effect on them.
#[derive(Debug, Clone, Copy)]
enum Meets {
    /// One in three, at random.
    Any,
    SlowThird,
    SlowHalf,
    /// Most of those that are slower than usual.
    MostSlow,
}

impl Meets {
    const ALL: [Self; 4] = [Self::Any, Self::SlowThird, Self::SlowHalf, Self::MostSlow];

    /// Whether the trial with the value `own` is disturbed, given that `slower` of `n` trials are slower.
    fn disturbs(self, own: f64, slower: usize, n: usize, draws: &mut Draws) -> bool {
        match self {
            Self::Any => draws.uniform() < 1.0 / 3.0,
            Self::SlowThird => slower < n.div_ceil(3),
            Self::SlowHalf => slower < n / 2,
            Self::MostSlow => own < -0.5 && draws.uniform() < 0.8,
        }
    }
}

/// The last condition is faster by `gain` standard deviations of a trial.
fn study(draws: &mut Draws, names: &[&str], n: usize, (shape, meets): (Shape, Meets), gain: f64) -> Vec<TrialRecord> {
    let luck: Vec<Vec<f64>> = names.iter().map(|_| (0..n).map(|_| shape.draw(draws)).collect()).collect();
    let mut trials = Vec::new();
    for (block, order) in randomized_blocks(names.len(), n, draws.normal().to_bits()).into_iter().enumerate() {
        let shared = draws.normal();
        for place in order {
            let own = luck[place][block];
            let slower = luck[place].iter().filter(|other| **other < own).count();
            let is_last = place + 1 == names.len();
            let disturbed = is_last && meets.disturbs(own, slower, n, draws);
            let tps = 1000.0 * (COV * (own + shared + if is_last { gain } else { 0.0 })).exp();
            let mut record = trial(trials.len(), block, names[place], tps, disturbed);
            let taken = if disturbed { 0.03 } else { 0.0 };
            record.samples[0].covariates = [("foreign_cpu_s", taken), ("steal_fraction", 0.0)]
                .map(|(name, value)| (name.to_owned(), value))
                .into();
            trials.push(record);
        }
    }
    trials
}

#[test]
fn clean_trials_that_are_the_fast_ones_claim_no_more_than_expected() {
    let layouts: [(&str, &[&str]); 2] =
        [("effect", &["ahi=off", "ahi=on"]), ("best", &["placement=a", "placement=b", "placement=c"])];
    let shapes =
        if requested().is_some() { &[Shape::Normal, Shape::T3, Shape::LogNormal][..] } else { &[Shape::Normal] };
    let kinds = if requested().is_some() { &Meets::ALL[..] } else { &[Meets::Any, Meets::SlowHalf] };
    let sizes = if requested().is_some() { &[4, 5, 10, 16][..] } else { &[16] };
    let mut rows = Rows::default();
    for (number, (question, names)) in layouts.into_iter().enumerate() {
        for (shape, n) in shapes.iter().flat_map(|shape| sizes.iter().map(move |n| (*shape, *n))) {
            for meets in kinds.iter().copied() {
                let mut draws = Draws::new(20_261_126 + number as u64);
                let what = format!("disturbed: {question}, {n} trials, {shape:?}, {meets:?}");
                let mut measured = |gain: f64| {
                    let mut near = 0;
                    let claims = |_| {
                        let answer = answered(&results(question, study(&mut draws, names, n, (shape, meets), gain)));
                        let why = answer.disturbed.as_ref().map(|found| &found.without);
                        near += usize::from(matches!(why, Some(Without::Selected { why: Selected::Near, .. })));
                        answer.decides().is_some_and(|verdict| verdict.is_claim())
                    };
                    let rate = Rate::count(requested().unwrap_or(40), claims);
                    (rate, Rate { hits: near, ..rate })
                };
                let (rate, near) = measured(0.0);
                rows.add(&what, Limit::AtMost(2.0), rate);
                if requested().is_some() {
                    let (found, open) = measured(3.0);
                    rows.add(&format!("{what}: left open as near"), Limit::None, near);
                    rows.add(&format!("{what}: +6% found"), Limit::None, found);
                    rows.add(&format!("{what}: +6% left open as near"), Limit::None, open);
                }
            }
        }
    }
    rows.judge();
}
