//! Comparisons with pairs that are added until they are settled, through the records that `tare ab` decides from.

use super::made::Shape;
use super::{Limit, Rate, Rows, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::ab::{Ab, AbVerdict};
use tare_findings::why::{Expected, Proof, ProofVerdict, Suspect, Trial};
use tare_results::Results;
use tare_results::pairs::{Rule, Stop};
use tare_results::probe::Probe;
use tare_results::schema::{Outcome, PlannedTrial, Session, Settle, TrialRecord};
use tare_stats::bisection::{BATCH, Planned, effort};
use tare_stats::sequential::{FEWEST_SESSIONS, Question, orders};

/// Spread of a trial, as a fraction.
const COV: f64 = 0.01;
/// By how much B / A of sessions differ, as a fraction.
const BETWEEN: f64 = 0.01;
/// Number of pairs after which an open-ended comparison is stopped.
const MOST: usize = 60;

/// Distribution of trial times: of a timed command, and of servers.
#[derive(Debug, Clone, Copy)]
pub enum Times {
    /// A server, with one of the distributions of studies.
    Of(Shape),
    /// From 0.2 to 1 s.
    Uniform,
    Exponential,
    /// Student's t with two degrees of freedom.
    T2,
    /// The logarithm has a standard deviation of 1.
    WideLogNormal,
    /// 68 or 305 ms, to 1%.
    TwoModes,
    /// One in ten takes ten times as long.
    Spike,
}

impl Times {
    pub const ALL: [Self; 10] = [
        Self::Of(Shape::Normal),
        Self::Of(Shape::T3),
        Self::Of(Shape::LogNormal),
        Self::Of(Shape::Bimodal),
        Self::Uniform,
        Self::Exponential,
        Self::T2,
        Self::WideLogNormal,
        Self::TwoModes,
        Self::Spike,
    ];

    fn draw(self, draws: &mut Draws) -> f64 {
        let one_in = |share: f64, times: f64, draws: &mut Draws| {
            let upper = draws.uniform() < share;
            (if upper { times } else { 1.0 }) * (COV * draws.normal()).exp()
        };
        match self {
            Self::Of(shape) => (COV * shape.draw(draws)).exp(),
            Self::Uniform => 0.2 + 0.8 * draws.uniform(),
            Self::Exponential => -(1.0 - draws.uniform()).ln().min(-1e-9),
            Self::T2 => (COV * draws.normal() / ((draws.normal().powi(2) + draws.normal().powi(2)) / 2.0).sqrt()).exp(),
            Self::WideLogNormal => draws.normal().exp(),
            Self::TwoModes => one_in(0.5, 305.0 / 68.0, draws),
            Self::Spike => one_in(0.1, 10.0, draws),
        }
    }
}

/// The sides of a comparison.
#[derive(Debug, Clone, Copy)]
struct Sides {
    times: Times,
    /// B / A of throughputs.
    ratio: f64,
    /// By how much the second trial of a pair is slower, as a fraction.
    place: f64,
    /// What share of the trials of either side has this fault.
    faulty: f64,
    fault: Fault,
    /// Set if probes run next to the samples, as controls.
    probes: Option<Probes>,
}

/// Readings of three probes.
#[derive(Debug, Clone, Copy)]
pub struct Probes {
    pub times: Times,
    /// Correlation of their logarithms with that of the trial's time.
    pub resemblance: f64,
    /// By how much they take longer next to B, as a fraction.
    pub moved: f64,
}

impl Probes {
    fn record(self, record: &mut TrialRecord, of_trial: f64, draws: &mut Draws) {
        let moved = if record.condition == "b" { 1.0 + self.moved } else { 1.0 };
        for name in Probe::ALL.map(Probe::covariate) {
            let own = self.times.draw(draws).powf((1.0 - self.resemblance.powi(2)).sqrt());
            let reading = 80.0 * moved * own * of_trial.powf(self.resemblance);
            record.samples[0].covariates.insert(name.to_owned(), reading);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    Fails,
    /// No time is lost.
    Disturbed,
}

fn sides(times: Times, ratio: f64) -> Sides {
    Sides { times, ratio, place: 0.0, faulty: 0.0, fault: Fault::Fails, probes: None }
}

/// A complete comparison.
fn compared(draws: &mut Draws, sides: Sides, rule: &Settle) -> Ab {
    let Sides { times, ratio, place, faulty, fault, probes } = sides;
    let made = results("", Vec::new());
    let mut plan = made.plan.unwrap();
    plan.settle = Some(rule.clone());
    let mut records = Vec::new();
    let mut session = 0.0;
    let orders = orders(MOST, (draws.uniform() * 1e15) as u64);
    let mut begins = match rule.rule {
        Rule::Looks | Rule::Anytime => false,
        Rule::Sessions => true,
    };
    loop {
        let block = records.len() / 2;
        if begins {
            session = BETWEEN * draws.normal();
            plan.settle.as_mut().unwrap().begun.push(Session { first_block: block, boot_id: None });
        }
        let order = if orders[block] { ["b", "a"] } else { ["a", "b"] };
        for (second, condition) in order.into_iter().enumerate() {
            let own = if condition == "b" { ratio * session.exp() } else { 1.0 };
            let time = times.draw(draws);
            let tps = own / (time * (1.0 + place * second as f64));
            let number = records.len();
            plan.trials.push(PlannedTrial { trial: number, block, condition: condition.to_owned(), lifetime: None });
            let is_faulty = faulty > 0.0 && draws.uniform() < faulty;
            let mut record = trial(number, block, condition, tps, is_faulty && fault == Fault::Disturbed);
            if let Some(probes) = probes {
                probes.record(&mut record, time, draws);
            }
            if is_faulty && fault == Fault::Fails {
                (record.outcome, record.samples) = (Outcome::Failed, Vec::new());
            }
            records.push(record);
        }
        let found = Ab::of(&plan, &records).unwrap();
        begins = found.stop == Some(Stop::Session);
        if (found.stop.is_some() && !begins) || records.len() == 2 * MOST {
            return found;
        }
    }
}

fn rule(rule: Rule, minimum_effect: f64) -> Settle {
    Settle { minimum_effect, sessions: FEWEST_SESSIONS, ..Settle::between(["a", "b"].map(str::to_owned), rule, 1) }
}

/// All rules; a new one does not compile in [`compared`].
pub const RULES: [Rule; 3] = [Rule::Looks, Rule::Anytime, Rule::Sessions];

/// The verdict on a side compared with itself, if only a difference ends the comparison.
pub fn of_itself(draws: &mut Draws, times: Times, by: Rule) -> AbVerdict {
    let place = if draws.coin() { 0.1 } else { 0.0 };
    compared(draws, Sides { place, ..sides(times, 1.0) }, &rule(by, 1e-9)).verdict
}

/// Why a comparison ends if B is slower by 1%, and four in ten trials of either side have this fault.
pub fn with_faults(draws: &mut Draws, fault: Fault, by: Rule) -> Option<Stop> {
    let sides = Sides { faulty: 0.4, fault, ..sides(Times::Of(Shape::Normal), 1.0 / 1.01) };
    compared(draws, sides, &rule(by, 1e-9)).stop
}

/// How a comparison with probes as controls ends if B / A of throughputs is this.
pub fn with_probes(draws: &mut Draws, probes: Probes, ratio: f64, by: Rule) -> Ab {
    let controls = Probe::ALL.map(|probe| probe.covariate().to_owned()).to_vec();
    let sides = Sides { probes: Some(probes), ..sides(Times::Of(Shape::Normal), ratio) };
    compared(draws, sides, &Settle { controls, ..rule(by, 0.02) })
}

/// Ratios of the sides, with probes that do not move.
pub fn unmoved() -> impl Iterator<Item = (f64, Probes)> + Clone {
    let normal = Times::Of(Shape::Normal);
    let alike =
        [0.0, 0.5, 0.9].into_iter().flat_map(move |alike| [1.0, 0.98, 0.95].map(|ratio| (ratio, normal, alike)));
    let shapes = Times::ALL.into_iter().map(|times| (0.95, times, 0.0));
    alike.chain(shapes).map(|(ratio, times, resemblance)| (ratio, Probes { times, resemblance, moved: 0.0 }))
}

/// The verdict on a change exactly as large as the minimum effect.
pub fn at_the_minimum_effect(draws: &mut Draws, by: Rule) -> AbVerdict {
    compared(draws, sides(Times::Of(Shape::Normal), 1.0 / 1.02), &rule(by, 0.02)).verdict
}

/// The verdict on a suspect by an experiment that must make B faster by a tenth, if B's speed is `ratio` of A's.
pub fn proved(draws: &mut Draws, ratio: f64) -> ProofVerdict {
    let effect = 0.1;
    let trial = Trial {
        suspect: Suspect::RowLock,
        condition: "a".to_owned(),
        changes: Vec::new(),
        expected: Expected::Faster,
        effect,
    };
    // The verdict is based on times, which are the reciprocals of the throughputs.
    let mut ab = compared(draws, sides(Times::Of(Shape::Normal), ratio), &rule(Rule::Looks, effect));
    let turned = |of: f64| 1.0 / of;
    ab.ratio = ab.ratio.map(turned);
    ab.ci = ab.ci.map(|ci| ci.map(turned));
    Proof::of(trial, &ab, &Results::default()).verdict
}

/// Whether a bisection of 20 commits finds a commit other than the slower one, or any if there is none.
pub fn bisects_wrongly(draws: &mut Draws, step: f64) -> bool {
    let planned = Planned {
        usable: vec![true; 21],
        step: step.ln_1p(),
        sd: 0.015 * std::f64::consts::SQRT_2,
        question: Question { minimum_effect: 0.02, alpha: 0.05, rule: Rule::Anytime },
        batch: BATCH,
        confidence: 0.95,
    };
    let first = 1 + (20.0 * draws.uniform()) as usize % 20;
    let found = effort(&planned, first, draws.uniform().to_bits()).unwrap().found;
    found.is_some_and(|found| step <= 0.0 || !found.commits.contains(&first))
}

/// The verdict itself needs a change as clear as that of the control.
#[test]
fn a_machine_that_moves_with_a_side_gives_no_verdict() {
    let mut rows = Rows::default();
    for (number, (moved, rule)) in
        [0.02, 0.03].into_iter().flat_map(|moved| RULES.map(|rule| (moved, rule))).enumerate()
    {
        let mut draws = Draws::new(20_261_130 + number as u64);
        let probes = Probes { times: Times::Of(Shape::Normal), resemblance: 0.0, moved };
        let mut claimed = 0;
        let mut vetoed = Rate::count(requested().unwrap_or(20), |_| {
            let found = with_probes(&mut draws, probes, 1.0 / (1.0 + moved), rule);
            claimed += usize::from(found.verdict != AbVerdict::Undecided || found.stop == Some(Stop::Control));
            found.stop == Some(Stop::Control)
        });
        // Of those that would have a verdict without the control.
        vetoed.of = claimed;
        rows.add(&format!("a control that moves as well: {rule:?}, by {moved}"), Limit::AtLeast(75.0), vetoed);
    }
    rows.judge();
}
