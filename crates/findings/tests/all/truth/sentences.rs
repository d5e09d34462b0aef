//! The first claims of commands that measure until something is settled, and how often they are wrong. The list is
//! built from the findings' own types: a new verdict does not compile here until it has a row, and each is measured.

use super::claims::{
    cause_of_modes_by_chance, claim_at_its_end, compared, cost_of_distance_by_chance, race, unchanged,
};
use super::made::{SHAPES, Shape};
use super::pairs::{Times, at_the_minimum_effect, bisects_wrongly, of_itself, proved};
use super::{Rate, is_selected, requested};
use crate::draws::Draws;
use crate::made_up::differ;
use crate::suspects::{alike, found};
use tare_findings::ab::AbVerdict;
use tare_findings::bisect::Outcome;
use tare_findings::compare::Side;
use tare_findings::find::Fate;
use tare_findings::history::MetricHistory;
use tare_findings::reproduce::Reproduced;
use tare_findings::why::{ProofVerdict, why};
use tare_results::pairs::Rule;
use tare_stats::ratio;

/// Whether a study of a kind makes the claim.
type Says = Box<dyn FnMut(&mut Draws) -> bool>;

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
} }

fn of_comparison(verdict: ratio::Verdict) -> Option<Sentence> {
    match verdict {
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

fn of_proof(verdict: ProofVerdict) -> Option<Sentence> {
    match verdict {
        ProofVerdict::Stands => Some(Sentence::ProofStands),
        ProofVerdict::Refuted => Some(Sentence::ProofRefuted),
        ProofVerdict::Undecided => None,
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
    fn promised(self) -> f64 {
        match self {
            Self::CompareDiffers
            | Self::CompareEquivalent
            | Self::WhyDiffers
            | Self::AbDiffers
            | Self::AbEquivalent
            | Self::ProofStands
            | Self::ProofRefuted
            | Self::BisectFound
            | Self::FindNamed
            | Self::FindWorse
            | Self::HistoryStep
            | Self::HistoryDrift
            | Self::CauseOfDifference
            | Self::CauseOfModes => 5.0,
            // One side of a 95% interval.
            Self::Holds | Self::DoesNotHold | Self::CostOfDistance => 2.5,
        }
    }

    /// Kinds of studies in which the claim would be wrong, by name, and whether such a study makes it.
    fn wrong(self) -> Vec<(String, Says)> {
        let is = move |says: Option<Self>| says == Some(self);
        match self {
            Self::CompareDiffers => each(
                [true, false]
                    .into_iter()
                    .flat_map(|one_run| [2, 3, 5].map(|trials| (one_run, trials)))
                    .flat_map(|(one_run, trials)| SHAPES.map(|shape| (one_run, trials, shape))),
                |(one_run, trials, shape)| format!("{trials} trials in {}, {shape:?}", runs(one_run)),
                move |draws, of| is(of_comparison(compared(draws, of, 1.0, 0.0))),
            ),
            Self::CompareEquivalent => each(
                [2, 5],
                |trials| format!("{trials} trials, a change of just the minimum effect"),
                move |draws, trials| is(of_comparison(compared(draws, (true, trials, Shape::Normal), 1.02, 0.02))),
            ),
            Self::WhyDiffers => each([true, false], |one_run| format!("two alike in {}", runs(one_run)), why_differs),
            Self::AbDiffers => each(
                [Rule::Looks, Rule::Anytime].into_iter().flat_map(|rule| Times::ALL.map(|times| (rule, times))),
                |(rule, times)| format!("{rule:?}, {times:?}"),
                move |draws, (rule, times)| is(of_ab(of_itself(draws, times, rule))),
            ),
            Self::AbEquivalent => each(
                [Rule::Looks, Rule::Anytime],
                |rule| format!("{rule:?}, a change of just the minimum effect"),
                move |draws, rule| is(of_ab(at_the_minimum_effect(draws, rule))),
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
                let (found, best) = race(draws);
                let of = |(i, fate): (usize, Fate)| is(of_fate(fate)) && (i == best) == (self == Self::FindWorse);
                found.candidates.iter().map(|candidate| candidate.fate).enumerate().any(of)
            }),
            Self::Holds | Self::DoesNotHold => each(
                [4, 10, 2],
                |blocks| format!("the ratio at the end of the band, {blocks} blocks"),
                move |draws, blocks| is(of_claim(&claim_at_its_end(draws, blocks))),
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
            Self::CauseOfModes => one("seats by chance", cause_of_modes_by_chance),
            Self::CostOfDistance => each(
                [(1, 1), (2, 1), (4, 1), (1, 4)],
                |(memories, loads)| format!("places differ, not by distance, memories: {memories}, loads: {loads}"),
                |draws, (memories, loads)| cost_of_distance_by_chance(draws, memories, loads),
            ),
        }
    }

    /// Number of studies of each kind in the test suite, and the part of the requested number that is run: some take
    /// long.
    fn studies(self) -> usize {
        let (few, part) = match self {
            Self::AbDiffers => (6, 1),
            Self::CompareDiffers => (100, 1),
            Self::CauseOfDifference
            | Self::WhyDiffers
            | Self::HistoryStep
            | Self::HistoryDrift
            | Self::CauseOfModes => (4, 4),
            Self::FindNamed | Self::FindWorse | Self::BisectFound => (6, 2),
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

fn runs(one_run: bool) -> &'static str {
    if one_run { "one run" } else { "another run" }
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
    println!("| sentence, of what | limit % | wrong % (95% interval) | studies |");
    println!("| --- | --- | --- | --- |");
    for sentence in Sentence::ALL.iter().filter(is_selected) {
        for (number, (name, mut says)) in sentence.wrong().into_iter().enumerate() {
            let mut draws = Draws::new(20_261_124 + 100 * *sentence as u64 + number as u64);
            let rate = Rate::count(sentence.studies(), |_| says(&mut draws));
            rate.hold(&format!("{sentence:?}: {name}"), sentence.promised());
        }
    }
}
