//! What is said of single trials, of machines and of modes next to a first sentence, and how often it is wrong. The
//! list is built from the fields of the summary and of a comparison: a new one does not compile here until it is
//! measured, or is known not to claim anything.

use super::comparisons::{Origin, compared};
use super::made::{DRIFTS, Drift, Kind, LAYOUTS, Layout, SHAPES, Shape, Truth, study};
use super::{Limit, Rate, Rows, is_selected, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::compare::{Comparison, MetricComparison, Note};
use tare_findings::confidence::{FURTHER, MODES};
use tare_findings::hosts::{HostRow, Hosts};
use tare_findings::summarize;
use tare_findings::summary::Summary;
use tare_results::schema::RanOn;

// Their places are the seeds: new ones stand at the end.
listed! { Further {
    FarOut,
    OddLevel,
    OddSpread,
    ModesOfSides,
} }

/// Whether a study of a kind makes the claim.
type Says = Box<dyn FnMut(&mut Draws) -> bool>;

fn of_summary(summary: &Summary) -> Vec<Further> {
    let Summary {
        outliers,
        machines,
        // Measured in `studies`.
        answer: _,
        effects: _,
        spread_sources: _,
        residual_causes: _,
        scaling: _,
        // In `modes`, with the causes in `sentences`.
        conditions: _,
        modes_tested: _,
        // In `sentences`.
        pairs: _,
        run_order: _,
        distance: _,
        // In `warm_ups`, and in `tested` for builds and what grows, which have the rate of the answer.
        warm_up: _,
        builds: _,
        growth: _,
        // Measured in the unit tests of `lifetimes`.
        lifetimes: _,
        // No statistics.
        headline_metric: _,
        unrealizable: _,
        time: _,
        captures: _,
        nodes: _,
        placement_grids: _,
        counters: _,
        plans: _,
        searches: _,
        dropped: _,
        not_adjusted: _,
        metrics: _,
    } = summary;
    let far = (!outliers.is_empty()).then_some(Further::FarOut);
    far.into_iter().chain(machines.iter().flat_map(of_machines)).collect()
}

fn of_machines(machines: &Hosts) -> Vec<Further> {
    let Hosts { rows, between_cov: _, within_cov: _ } = machines;
    let of = |row: &HostRow| {
        let HostRow {
            odd_level,
            odd_spread,
            name: _,
            trials: _,
            blocks: _,
            ratio: _,
            ci: _,
            spread: _,
            open_level: _,
            changes: _,
            differences: _,
        } = row;
        [odd_level.then_some(Further::OddLevel), odd_spread.then_some(Further::OddSpread)]
    };
    rows.iter().flat_map(of).flatten().collect()
}

/// Modes of either side of a comparison; what else it claims is in `sentences`.
fn of_comparison(found: &Comparison) -> Option<Further> {
    let has_modes = |metric: &MetricComparison| !metric.modes_a.is_empty() || !metric.modes_b.is_empty();
    let is_noted = found.notes.iter().any(|note| matches!(note, Note::Modes { .. }));
    (is_noted || found.metrics.iter().any(has_modes)).then_some(Further::ModesOfSides)
}

/// Machines that are alike.
#[derive(Debug, Clone, Copy)]
struct Machines {
    machines: usize,
    blocks: usize,
    shape: Shape,
    /// Correlation of a block with the one before it on the same machine.
    alike: f64,
    /// How many times as much as on the other machines the first one's blocks and trials vary.
    noisy: f64,
}

impl Machines {
    fn summary(self, draws: &mut Draws) -> Summary {
        let mut trials = Vec::new();
        for machine in 0..self.machines {
            let times = 0.02 * if machine == 0 { self.noisy } else { 1.0 };
            let mut state = self.shape.draw(draws);
            for block in 0..self.blocks {
                let level = times * state;
                state = self.alike * state + (1.0 - self.alike * self.alike).sqrt() * self.shape.draw(draws);
                for name in ["aslr=off", "aslr=on"] {
                    let tps = 1000.0 * (level + times * self.shape.draw(draws)).exp();
                    let mut record = trial(trials.len(), machine * self.blocks + block, name, tps, false);
                    record.ran_on = Some(RanOn { host: format!("node{machine}"), boot_id: None });
                    trials.push(record);
                }
            }
        }
        summarize(&results("effect", trials))
    }
}

impl Further {
    /// Nominal error rate, percent of studies.
    fn limit(self) -> f64 {
        match self {
            Self::FarOut => 100.0 * FURTHER,
            // Half of 5% each.
            Self::OddLevel | Self::OddSpread => 2.5,
            // Of each side: its judged metrics, all others, and all of its conditions together.
            Self::ModesOfSides => 100.0 * 2.0 * (MODES + 2.0 * FURTHER),
        }
    }

    /// Kinds of studies in which the claim would be wrong, by name, and whether such a study makes it.
    fn wrong(self) -> Vec<(String, Says)> {
        match self {
            Self::FarOut => far_out(),
            Self::OddLevel => machines(self, &[0.0, 0.5, 0.8], &[1.0, 3.0]),
            Self::OddSpread => machines(self, &[0.0, 0.8], &[1.0]),
            Self::ModesOfSides => modes_of_sides(),
        }
    }
}

/// A trial of one of two modes may lie far from the others.
fn far_out() -> Vec<(String, Says)> {
    let shapes = SHAPES.into_iter().filter(|shape| !matches!(shape, Shape::Bimodal | Shape::FarModes));
    let places = [LAYOUTS[0], Layout::Queries].into_iter().flat_map(|layout| [5, 10].map(|n| (layout, n)));
    let kinds =
        shapes.flat_map(|shape| places.clone().flat_map(move |(layout, n)| DRIFTS.map(|d| (shape, layout, n, d))));
    let one = |(shape, layout, n, drift): (Shape, Layout, usize, Drift)| {
        let says: Says = Box::new(move |draws| {
            let found = summarize(&study(draws, Kind { shape, drift, layout, n, truth: Truth::Nothing }, None));
            of_summary(&found).contains(&Further::FarOut)
        });
        (format!("{n} trials, {layout:?}, {shape:?}, {drift:?}"), says)
    };
    kinds.map(one).collect()
}

fn machines(claim: Further, correlations: &[f64], noisy: &[f64]) -> Vec<(String, Says)> {
    let mut all = Vec::new();
    for shape in [Shape::Normal, Shape::T3, Shape::LogNormal] {
        for (machines, blocks) in [(3, 10), (4, 5), (4, 20), (10, 5), (10, 10)] {
            for (alike, noisy) in correlations.iter().flat_map(|alike| noisy.iter().map(|noisy| (*alike, *noisy))) {
                let kind = Machines { machines, blocks, shape, alike, noisy };
                let says: Says = Box::new(move |draws| of_summary(&kind.summary(draws)).contains(&claim));
                let loud = if noisy > 1.0 { ", one three times as noisy" } else { "" };
                all.push((
                    format!("{machines} machines of {blocks} blocks, {shape:?}, neighbours {alike}{loud}"),
                    says,
                ));
            }
        }
    }
    all
}

fn modes_of_sides() -> Vec<(String, Says)> {
    let shapes = [Shape::Normal, Shape::T3, Shape::LogNormal];
    let origins = [Origin::OneRun, Origin::AnotherRun].into_iter();
    let kinds = origins.flat_map(|from| shapes.into_iter().flat_map(move |shape| [8, 20].map(|n| (from, shape, n))));
    let one = |(from, shape, trials): (Origin, Shape, usize)| {
        let says: Says =
            Box::new(move |draws| of_comparison(&compared(draws, from, (trials, shape), 1.0, 0.0)).is_some());
        (format!("{trials} trials of each side, {from:?}, {shape:?}"), says)
    };
    kinds.map(one).collect()
}

#[test]
fn further_sentences_are_wrong_no_more_often_than_stated() {
    let mut rows = Rows::default();
    // The test suite runs a part of the kinds, in which every shape and drift occurs.
    let part = if requested().is_some() { 1 } else { 7 };
    for further in Further::ALL.iter().filter(is_selected) {
        for (number, (name, mut says)) in further.wrong().into_iter().enumerate().step_by(part) {
            let mut draws = Draws::new(20_262_000 + 1000 * *further as u64 + number as u64);
            let rate = Rate::count(requested().unwrap_or(20), |_| says(&mut draws));
            rows.add(&format!("{further:?}: {name}"), Limit::AtMost(further.limit()), rate);
        }
    }
    rows.judge();
}
