//! The first claims of commands that measure until something is settled, and how often they are wrong. The list is
//! built from the findings' own types: a new verdict does not compile here until it has a row, and each is measured.

use super::claims::{Hard, claim_at_its_end, cost_of_distance_by_chance, leads_wrongly, race, unchanged};
use super::comparisons::{Origin, advised, compared, failing, probed};
use super::made::{Drift, Kind, LAYOUTS, SHAPES, Shape, Truth, study};
use super::pairs::{
    Fault, Probes, RULES, Times, at_the_minimum_effect, bisects_wrongly, of_itself, proved, unmoved, with_faults,
    with_probes,
};
use super::seats::{SEATS, STATES, cause_of_modes};
use super::{Limit, Rate, Rows, is_selected, requested};
use crate::draws::Draws;
use crate::made_up::differ;
use crate::suspects::{alike, found};
use tare_findings::ab::AbVerdict;
use tare_findings::bisect::Outcome;
use tare_findings::compare::{Comparison, Note, Side};
use tare_findings::confidence::FURTHER;
use tare_findings::find::{Fate, Open};
use tare_findings::history::MetricHistory;
use tare_findings::reproduce::Reproduced;
use tare_findings::summarize;
use tare_findings::why::{ProofVerdict, why};
use tare_results::pairs::Stop;
use tare_stats::ratio;
use tare_stats::worth::Advice;

/// Whether a study of a kind makes the claim.
type Says = Box<dyn FnMut(&mut Draws) -> bool>;

// Their places are the seeds: new ones stand at the end.
listed! { Sentence {
    AbDiffers,
    AbEquivalent,
    ProofStands,
    ProofRefuted,
    BisectFound,
    FindNamed,
    FindWorse,
    Holds,
    DoesNotHold,
    HistoryStep,
    HistoryDrift,
    CauseOfDifference,
    CauseOfModes,
    CostOfDistance,
    CompareDiffers,
    CompareEquivalent,
    WhyDiffers,
    FindBestOfOthers,
    FindBehind,
    FailsMore,
    Resembles,
    ProbeMoved,
    Drifted,
    ProbeHelps,
    ProbeDoesNotHelp,
    AbFailsMore,
    AbOneSided,
    AbControlMoved,
} }

fn of_comparison(found: &Comparison) -> Option<Sentence> {
    match found.metrics[0].verdict {
        ratio::Verdict::Faster | ratio::Verdict::Slower => Some(Sentence::CompareDiffers),
        ratio::Verdict::Equivalent => Some(Sentence::CompareEquivalent),
        ratio::Verdict::Inconclusive => None,
    }
}

fn of_ab(verdict: AbVerdict) -> Option<Sentence> {
    match verdict {
        AbVerdict::Faster | AbVerdict::Slower => Some(Sentence::AbDiffers),
        AbVerdict::Equivalent => Some(Sentence::AbEquivalent),
        AbVerdict::Undecided => None,
    }
}

fn of_stop(stop: Stop) -> Option<Sentence> {
    match stop {
        Stop::FailsMore => Some(Sentence::AbFailsMore),
        Stop::OneSided => Some(Sentence::AbOneSided),
        Stop::Control => Some(Sentence::AbControlMoved),
        // Two digests are no statistic.
        Stop::Replaced => None,
        Stop::Settled | Stop::LastLook | Stop::Budget | Stop::LeftOut | Stop::Session => None,
    }
}

fn of_proof(verdict: ProofVerdict) -> Option<Sentence> {
    match verdict {
        ProofVerdict::Stands => Some(Sentence::ProofStands),
        ProofVerdict::Refuted => Some(Sentence::ProofRefuted),
        ProofVerdict::NotRefuted | ProofVerdict::Undecided => None,
    }
}

/// The verdict on the ends of a bisection is the same as that of `tare ab` on two builds.
fn of_bisection(outcome: Outcome) -> Option<Sentence> {
    match outcome {
        Outcome::Found => Some(Sentence::BisectFound),
        Outcome::Faster => Some(Sentence::AbDiffers),
        Outcome::NoDifference => Some(Sentence::AbEquivalent),
        Outcome::Undecided => None,
    }
}

fn of_fate(fate: Fate) -> Option<Sentence> {
    match fate {
        Fate::Named => Some(Sentence::FindNamed),
        // Dropping a candidate that is ahead by no more than the minimum effect is no error.
        Fate::Worse | Fate::Close => Some(Sentence::FindWorse),
        Fate::Left | Fate::Lost => None,
    }
}

fn of_open(open: Open) -> Sentence {
    match open {
        // The test of `tare ab`.
        Open::FailsMore => Sentence::AbFailsMore,
        Open::BestOfOthers => Sentence::FindBestOfOthers,
        // Both say how far the leader is behind at most.
        Open::DisturbedAlone | Open::Behind(_) => Sentence::FindBehind,
    }
}

fn of_advice(advice: Advice) -> Option<Sentence> {
    match advice {
        Advice::Helps => Some(Sentence::ProbeHelps),
        Advice::DoesNotHelp => Some(Sentence::ProbeDoesNotHelp),
        Advice::CannotTell => None,
    }
}

/// The note's claim, if it is more than a description of what was compared.
fn of_note(note: &Note) -> Option<Sentence> {
    match note {
        Note::FailsMore(_) => Some(Sentence::FailsMore),
        Note::Drifted { shown: true, .. } => Some(Sentence::Resembles),
        Note::ProbeMoved { .. } => Some(Sentence::ProbeMoved),
        // Modes are measured in `summaries`.
        Note::Modes { .. }
        | Note::Drifted { shown: false, .. }
        | Note::DriftUnseen { .. }
        | Note::GateDriftUnseen { .. }
        | Note::Identical { .. }
        | Note::SameValues { .. }
        | Note::OnlyIn { .. }
        | Note::Lacks { .. }
        | Note::Refused(_)
        | Note::Unprobed(_)
        | Note::Disturbed { .. }
        | Note::Failed { .. }
        | Note::NothingDone { .. }
        | Note::Lost { .. }
        | Note::Unfinished { .. }
        | Note::Sessions { .. }
        | Note::OfSessions { .. }
        | Note::NodeLayouts { .. }
        | Note::LowOptimisation { .. }
        | Note::TooFewTrials { .. } => None,
    }
}

fn of_claim(verdict: &Reproduced) -> Option<Sentence> {
    match verdict {
        Reproduced::Holds(_) => Some(Sentence::Holds),
        Reproduced::DoesNotHold(_) => Some(Sentence::DoesNotHold),
        Reproduced::NotDecided(_) | Reproduced::CannotBeTested(_) => None,
    }
}

/// The claims about a line, without the fields that only describe it.
fn of_line(line: &MetricHistory) -> Vec<Sentence> {
    let MetricHistory {
        changes,
        drift,
        condition: _,
        name: _,
        unit: _,
        better: _,
        points: _,
        segments: _,
        not_tested: _,
    } = line;
    let step = (!changes.is_empty()).then_some(Sentence::HistoryStep);
    step.into_iter().chain(drift.is_some().then_some(Sentence::HistoryDrift)).collect()
}

impl Sentence {
    /// Nominal error rate, percent of studies.
    fn limit(self) -> f64 {
        match self {
            Self::CompareDiffers
            | Self::CompareEquivalent
            | Self::WhyDiffers
            | Self::AbDiffers
            | Self::AbEquivalent
            | Self::AbControlMoved
            | Self::ProofStands
            | Self::ProofRefuted
            | Self::BisectFound
            | Self::FindNamed
            | Self::FindWorse
            | Self::FindBestOfOthers
            | Self::FindBehind
            | Self::FailsMore
            | Self::Resembles
            | Self::ProbeMoved
            | Self::ProbeHelps
            | Self::ProbeDoesNotHelp
            | Self::HistoryStep
            | Self::HistoryDrift
            | Self::CauseOfDifference
            | Self::CauseOfModes => 5.0,
            Self::Drifted => 100.0 * FURTHER,
            // A verdict is withdrawn rather too often: one in eight, of either side.
            Self::AbFailsMore | Self::AbOneSided => 12.5,
            // One side of a 95% interval.
            Self::Holds | Self::DoesNotHold | Self::CostOfDistance => 2.5,
        }
    }

    /// Kinds of studies in which the claim would be wrong, by name, and whether such a study makes it.
    fn wrong(self) -> Vec<(String, Says)> {
        match self {
            Self::CompareDiffers | Self::CompareEquivalent | Self::FailsMore | Self::Resembles | Self::ProbeMoved => {
                self.of_sides()
            }
            Self::WhyDiffers
            | Self::AbDiffers
            | Self::AbEquivalent
            | Self::ProofStands
            | Self::ProofRefuted
            | Self::BisectFound
            | Self::FindNamed
            | Self::FindWorse
            | Self::FindBestOfOthers
            | Self::FindBehind
            | Self::AbFailsMore
            | Self::AbOneSided
            | Self::AbControlMoved => self.of_pairs(),
            Self::ProbeHelps
            | Self::ProbeDoesNotHelp
            | Self::Drifted
            | Self::Holds
            | Self::DoesNotHold
            | Self::HistoryStep
            | Self::HistoryDrift
            | Self::CauseOfDifference
            | Self::CauseOfModes
            | Self::CostOfDistance => self.of_results(),
        }
    }

    /// Comparisons of sides that do not differ, or not by more than the minimum effect.
    fn of_sides(self) -> Vec<(String, Says)> {
        let is = move |says: Option<Self>| says == Some(self);
        match self {
            Self::CompareDiffers => each(
                Origin::ALL
                    .into_iter()
                    .flat_map(|origin| [2, 3, 5].map(|trials| (origin, trials)))
                    // A session is one observation, however many trials it has.
                    .filter(|(origin, trials)| !origin.is_of_sessions() || *trials == 3)
                    .flat_map(|(origin, trials)| SHAPES.map(|shape| (origin, trials, shape))),
                |(origin, trials, shape)| format!("{trials} trials, {origin:?}, {shape:?}"),
                move |draws, (origin, trials, shape)| {
                    is(of_comparison(&compared(draws, origin, (trials, shape), 1.0, 0.0)))
                },
            ),
            Self::CompareEquivalent => each(
                [Origin::OneRun, Origin::SharedSessions].into_iter().flat_map(|origin| [2, 5].map(|n| (origin, n))),
                |(origin, trials)| format!("{trials} trials, {origin:?}, a change of just the minimum effect"),
                move |draws, (origin, trials)| {
                    is(of_comparison(&compared(draws, origin, (trials, Shape::Normal), 1.02, 0.02)))
                },
            ),
            Self::FailsMore => each(
                Origin::ALL,
                |origin| format!("three of ten trials fail, {origin:?}"),
                move |draws, origin| {
                    let found = failing(draws, origin);
                    found.losses.iter().any(|losses| losses.b_fails_more) || notes(&found).any(|note| note == self)
                },
            ),
            Self::Resembles => each(
                [10, 20],
                |trials| format!("{trials} trials of two runs that do not drift"),
                move |draws, trials| {
                    let found = compared(draws, Origin::AnotherRun, (trials, Shape::Normal), 1.0, 0.0);
                    notes(&found).any(|note| note == self)
                },
            ),
            Self::ProbeMoved => {
                one("readings of both sides alike", move |draws| notes(&probed(draws)).any(|note| note == self))
            }
            _ => unreachable!("{self:?} has no study"),
        }
    }

    /// Comparisons, bisections and races that end when they are settled.
    fn of_pairs(self) -> Vec<(String, Says)> {
        let is = move |says: Option<Self>| says == Some(self);
        match self {
            Self::WhyDiffers => each(
                [true, false],
                |one_run| format!("two alike in {} run", if one_run { "one" } else { "another" }),
                why_differs,
            ),
            Self::AbDiffers => each(
                RULES.into_iter().flat_map(|rule| Times::ALL.map(|times| (rule, times))),
                |(rule, times)| format!("{rule:?}, {times:?}"),
                move |draws, (rule, times)| is(of_ab(of_itself(draws, times, rule))),
            ),
            Self::AbEquivalent => each(
                RULES,
                |rule| format!("{rule:?}, a change of just the minimum effect"),
                move |draws, rule| is(of_ab(at_the_minimum_effect(draws, rule))),
            ),
            Self::AbFailsMore | Self::AbOneSided => each(
                RULES.into_iter().flat_map(|rule| [Fault::Fails, Fault::Disturbed].map(|fault| (rule, fault))),
                |(rule, fault)| format!("{rule:?}, four in ten trials of either side, {fault:?}"),
                move |draws, (rule, fault)| is(with_faults(draws, fault, rule).and_then(of_stop)),
            ),
            Self::AbControlMoved => each(
                RULES.into_iter().flat_map(|rule| unmoved().map(move |(ratio, probes)| (rule, ratio, probes))),
                |(rule, ratio, probes)| {
                    let Probes { times, resemblance, .. } = probes;
                    format!("{rule:?}, B / A of the sides {ratio:.2}, probes {times:?}, correlation {resemblance}")
                },
                move |draws, (rule, ratio, probes)| is(with_probes(draws, probes, ratio, rule).stop.and_then(of_stop)),
            ),
            Self::ProofStands => one("nothing changes", move |draws| is(of_proof(proved(draws, 1.0)))),
            Self::ProofRefuted => {
                one("changes by what must be seen", move |draws| is(of_proof(proved(draws, 1.0 / 0.9))))
            }
            Self::BisectFound => each(
                [0.03, 0.0],
                |step| format!("a step of {step}"),
                move |draws, step| bisects_wrongly(draws, step) && is(of_bisection(Outcome::Found)),
            ),
            Self::FindNamed | Self::FindWorse => one("one of six ahead by 2.1%", move |draws| {
                let (found, best) = race(draws, Hard::Close);
                let of = |(i, fate): (usize, Fate)| is(of_fate(fate)) && (i == best) == (self == Self::FindWorse);
                found.candidates.iter().map(|candidate| candidate.fate).enumerate().any(of)
            }),
            Self::FindBestOfOthers | Self::FindBehind => each(
                [Hard::Disturbed, Hard::Spread],
                |hard| format!("one of six ahead by 2.1%, {hard:?}"),
                move |draws, hard| {
                    let (found, best) = race(draws, hard);
                    leads_wrongly(&found, best, |open| of_open(open) == self)
                },
            ),
            _ => unreachable!("{self:?} has no study"),
        }
    }

    /// What is said about a machine, a claim, a history or a cause.
    fn of_results(self) -> Vec<(String, Says)> {
        let is = move |says: Option<Self>| says == Some(self);
        match self {
            Self::ProbeHelps => each(
                [(0.43, 0.0), (0.43, 0.5), (0.0, 0.5)],
                |(correlation, drift)| format!("correlation {correlation}, neighbours {drift}; 0.436 would help"),
                move |draws, (correlation, drift)| is(of_advice(advised(draws, correlation, drift))),
            ),
            Self::ProbeDoesNotHelp => each(
                [0.0, 0.5],
                |drift| format!("correlation 0.45, neighbours {drift}; from 0.436 on it helps"),
                move |draws, drift| is(of_advice(advised(draws, 0.45, drift))),
            ),
            Self::Drifted => each(
                SHAPES.into_iter().flat_map(|shape| [5, 10].map(|n| (shape, n))),
                |(shape, n)| format!("{n} trials of four conditions that do not drift, {shape:?}"),
                |draws, (shape, n)| is_drift_shown(draws, shape, n, Drift::None),
            ),
            Self::Holds | Self::DoesNotHold => each(
                [(4, 0.0), (10, 0.0), (2, 0.0), (10, 0.03)],
                |(blocks, slot)| {
                    let slot = if slot > 0.0 { ", A/A 1.03" } else { "" };
                    format!("the ratio at the end of the band, {blocks} blocks{slot}")
                },
                move |draws, (blocks, slot)| is(of_claim(&claim_at_its_end(draws, blocks, slot))),
            ),
            Self::HistoryStep | Self::HistoryDrift => each(
                SHAPES
                    .into_iter()
                    .filter(|shape| !matches!(shape, Shape::Bimodal | Shape::FarModes))
                    .flat_map(|shape| [0.0, 0.5].map(|alike| (shape, alike))),
                |(shape, alike)| format!("24 runs, {shape:?}, neighbours {alike}"),
                move |draws, (shape, alike)| {
                    unchanged(draws, shape, alike).lines.iter().any(|line| of_line(line).contains(&self))
                },
            ),
            Self::CauseOfDifference => {
                one("two alike", |draws| found(&alike(draws, 5)).iter().any(|cause| cause.shown))
            }
            Self::CauseOfModes => each(
                SEATS.into_iter().flat_map(|seats| STATES.map(|states| (seats, states))),
                |(seats, states)| format!("seats: {seats:?}, states of the machine: {states:?}"),
                |draws, (seats, states)| cause_of_modes(draws, seats, states),
            ),
            Self::CostOfDistance => each(
                [(1, 1), (2, 1), (4, 1), (1, 4)],
                |(memories, loads)| format!("places differ, not by distance, memories: {memories}, loads: {loads}"),
                |draws, (memories, loads)| cost_of_distance_by_chance(draws, memories, loads),
            ),
            _ => unreachable!("{self:?} has no study"),
        }
    }

    /// Number of studies of each kind in the test suite, and the part of the requested number that is run: some take
    /// long.
    fn studies(self) -> usize {
        let (few, part) = match self {
            Self::AbDiffers => (6, 1),
            Self::CompareDiffers => (100, 1),
            Self::CauseOfDifference | Self::WhyDiffers | Self::HistoryStep | Self::HistoryDrift => (4, 4),
            Self::CauseOfModes => (2, 2),
            Self::FindNamed | Self::FindWorse | Self::BisectFound => (6, 2),
            Self::FindBestOfOthers | Self::FindBehind => (3, 4),
            Self::Drifted => (12, 4),
            _ => (20, 1),
        };
        requested().map_or(few, |requested| requested / part)
    }
}

/// One kind of study for each of these, with its name and what such a study says.
fn each<K: Copy + 'static>(
    kinds: impl IntoIterator<Item = K>,
    name: impl Fn(K) -> String,
    says: impl Fn(&mut Draws, K) -> bool + Copy + 'static,
) -> Vec<(String, Says)> {
    let one = |kind: K| {
        let of_kind: Says = Box::new(move |draws| says(draws, kind));
        (name(kind), of_kind)
    };
    kinds.into_iter().map(one).collect()
}

fn one(name: &str, says: impl FnMut(&mut Draws) -> bool + 'static) -> Vec<(String, Says)> {
    let says: Says = Box::new(says);
    vec![(name.to_owned(), says)]
}

fn notes(found: &Comparison) -> impl Iterator<Item = Sentence> + '_ {
    found.notes.iter().filter_map(of_note)
}

fn is_drift_shown(draws: &mut Draws, shape: Shape, n: usize, drift: Drift) -> bool {
    let found = study(draws, Kind { shape, drift, layout: LAYOUTS[0], n, truth: Truth::Nothing }, None);
    summarize(&found).run_order.is_some_and(|order| order.shown())
}

/// Whether `why` shows a difference of two equal conditions, of one run or of two.
fn why_differs(draws: &mut Draws, one_run: bool) -> bool {
    if one_run {
        return differ(&alike(draws, 5)).difference.shown;
    }
    let [one, other] = [alike(draws, 5), alike(draws, 5)];
    let side = |results| Side { results, condition: Some("side=a") };
    why(side(&one), side(&other)).unwrap().difference.shown
}

#[test]
fn first_sentences_are_wrong_no_more_often_than_stated() {
    let mut rows = Rows::default();
    for sentence in Sentence::ALL.iter().filter(is_selected) {
        for (number, (name, mut says)) in sentence.wrong().into_iter().enumerate() {
            let mut draws = Draws::new(20_261_124 + 100 * *sentence as u64 + number as u64);
            let rate = Rate::count(sentence.studies(), |_| says(&mut draws));
            rows.add(&format!("{sentence:?}: {name}"), Limit::AtMost(sentence.limit()), rate);
        }
    }
    rows.judge();
}

#[test]
fn a_drift_of_the_machine_is_reported() {
    let mut rows = Rows::default();
    for (drift, n) in [Drift::Ar(0.8), Drift::Linear].into_iter().flat_map(|drift| [5, 10].map(|n| (drift, n))) {
        let mut draws = Draws::new(20_261_500 + n as u64);
        let rate = Rate::count(requested().unwrap_or(10), |_| is_drift_shown(&mut draws, Shape::Normal, n, drift));
        let limit = if n == 10 { Limit::AtLeast(60.0) } else { Limit::None };
        rows.add(&format!("Drifted is found: {drift:?}, {n} trials of four conditions"), limit, rate);
    }
    rows.judge();
}
