//! Synthetic comparisons of two equal sides, and probes that are worth nothing: a claim about them would be wrong.

use super::made::Shape;
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::compare::{Comparison, Options, Side, compare, compare_sessions};
use tare_findings::probes;
use tare_results::Results;
use tare_results::probe::Probe;
use tare_results::schema::{Outcome, SampleRecord, TrialRecord};
use tare_stats::worth::Advice;

/// Factors that cannot move a probe.
const NAMES: [&str; 2] = ["binary=a", "binary=b"];
const SESSIONS: usize = 5;

/// Where the trials of both sides come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Origin {
    OneRun,
    AnotherRun,
    /// Sessions that measured both sides.
    SharedSessions,
    /// Sessions of their own for each side.
    OwnSessions,
}

impl Origin {
    pub const ALL: [Self; 4] = [Self::OneRun, Self::AnotherRun, Self::SharedSessions, Self::OwnSessions];

    pub fn is_of_sessions(self) -> bool {
        match self {
            Self::OneRun | Self::AnotherRun => false,
            Self::SharedSessions | Self::OwnSessions => true,
        }
    }
}

/// The runs of both sides, or first those of A and then those of B, with so many trials of each side in each run: B has
/// `ratio` times the throughput of A. Runs are sessions that differ with `between`, as a fraction.
fn runs(
    draws: &mut Draws,
    from: Origin,
    (trials, shape): (usize, Shape),
    ratio: f64,
    between: f64,
) -> Vec<Vec<Results>> {
    let run = |draws: &mut Draws, sides: &[usize]| {
        let (session, mut all) = (between * draws.normal(), Vec::new());
        for block in 0..trials {
            for side in sides {
                let own = if *side == 1 { ratio } else { 1.0 };
                let tps = 1000.0 * own * (session + 0.01 * shape.draw(draws)).exp();
                all.push(trial(all.len(), block, NAMES[*side], tps, false));
            }
        }
        results("best", all)
    };
    match from {
        Origin::OneRun | Origin::SharedSessions => {
            let sessions = if from == Origin::OneRun { 1 } else { SESSIONS };
            vec![(0..sessions).map(|_| run(draws, &[0, 1])).collect()]
        }
        Origin::AnotherRun => (0..2).map(|side| vec![run(draws, &[side])]).collect(),
        Origin::OwnSessions => (0..2).map(|side| (0..SESSIONS).map(|_| run(draws, &[side])).collect()).collect(),
    }
}

fn comparison(runs: &[Vec<Results>], min_effect: f64) -> Comparison {
    let options = Options { min_effect, ..Options::default() };
    let side = |place: usize| -> Vec<Side<'_>> {
        let own = &runs[place.min(runs.len() - 1)];
        own.iter().map(|results| Side { results, condition: Some(NAMES[place]) }).collect()
    };
    match (side(0).as_slice(), side(1).as_slice()) {
        ([a], [b]) => compare(*a, *b, &options).unwrap(),
        (a, b) => compare_sessions(a, b, &options).unwrap(),
    }
}

/// B, whose throughput is `ratio` times that of A, with `trials` of both sides.
pub fn compared(
    draws: &mut Draws,
    from: Origin,
    (trials, shape): (usize, Shape),
    ratio: f64,
    min_effect: f64,
) -> Comparison {
    let between = if from.is_of_sessions() { 0.02 } else { 0.0 };
    comparison(&runs(draws, from, (trials, shape), ratio, between), min_effect)
}

/// A comparison of sides that fail equally often.
pub fn failing(draws: &mut Draws, from: Origin) -> Comparison {
    let mut made = runs(draws, from, (12, Shape::Normal), 1.0, 0.0);
    for trial in made.iter_mut().flatten().flat_map(|results| &mut results.trials) {
        if draws.uniform() < 0.3 {
            trial.outcome = Outcome::Failed;
            trial.samples.clear();
        }
    }
    comparison(&made, 0.0)
}

/// A comparison adjusted by a probe whose readings do not differ between the sides.
pub fn probed(draws: &mut Draws) -> Comparison {
    let mut made = runs(draws, Origin::OneRun, (8, Shape::Normal), 1.0, 0.0);
    for results in made.iter_mut().flatten() {
        results.study_toml = Some("question = \"best\"\n[sampling]\nprobe = \"chain\"\n".to_owned().into());
        for trial in &mut results.trials {
            let reading = 80.0 * (0.02 * draws.normal()).exp();
            trial.samples[0].covariates = [(Probe::Chain.covariate().to_owned(), reading)].into();
        }
    }
    comparison(&made, 0.0)
}

/// The advice on probes from the samples of one server, if each probe and the metric have this correlation, and all
/// speeds this lag-1 autocorrelation.
pub fn advised(draws: &mut Draws, correlation: f64, drift: f64) -> Advice {
    const SAMPLES: usize = 60;
    let (shared, own) = (correlation.sqrt(), (1.0 - correlation).sqrt());
    let mut states: Vec<f64> = (0..5).map(|_| draws.normal()).collect();
    let mut record: TrialRecord = trial(0, 0, "only", 1.0, false);
    let sample = |_| {
        for state in &mut states {
            *state = drift * *state + (1.0 - drift * drift).sqrt() * draws.normal();
        }
        let speed = |place: usize| shared * states[0] + own * states[place];
        let reading =
            |(place, probe): (usize, Probe)| (probe.covariate().to_owned(), 80.0 * (0.03 * speed(place + 2)).exp());
        SampleRecord {
            elapsed_s: 1.0,
            metrics: [("tps".to_owned(), 1000.0 * (-0.02 * speed(1)).exp())].into(),
            covariates: Probe::ALL.into_iter().enumerate().map(reading).collect(),
            ..SampleRecord::default()
        }
    };
    record.samples = (0..SAMPLES).map(sample).collect();
    probes::weigh(&results("", vec![record])).unwrap().advice
}
