//! Tests suspects by experiment: selects the experiments that separate them best, and judges each result.

use super::model::{Cause, Why};
use super::prove::{Change, Expected, Experiment, TABLES};
use super::suspect::Suspect;
use super::trials::{self, Trials};
use crate::ab::{Ab, AbVerdict};
use crate::collect::{self, ConditionTrials};
use crate::time::{self, Part, TrialTime};
use serde::Serialize;
use tare_results::Results;
use tare_results::pairs::Stop;
use tare_stats::Interval;
use tare_stats::ratio::Design;

/// Probability that the reason is none of the suspects, before any experiment.
const NONE: f64 = 0.1;
/// Bits that are no information, and no difference between two results.
const NOTHING: f64 = 1e-9;
/// Keys of a load by which its clients meet on fewer or more rows, pages and tables.
const SPREAD: [&str; 5] =
    ["workload.rows", TABLES, "workload.distribution", "workload.warehouses", "workload.pgbench_scale"];

/// The `candidates` in the order of what their results say, best first; without those that say nothing after the ones
/// before, unless it is the first. Each of `suspects` is taken as the reason with a probability in proportion to its
/// time. An experiment divides them: under some of them the time falls, under the others it stays.
pub(super) fn best_first<'c>(suspects: &[&'c Cause], candidates: &[&'c Cause]) -> Vec<&'c Cause> {
    let whole: f64 = suspects.iter().map(|cause| cause.us.abs()).sum();
    let share = |cause: &&Cause| (1.0 - NONE) * cause.us.abs() / whole;
    let probabilities: Vec<f64> = suspects.iter().map(share).chain([NONE]).collect();
    let falls = |of: &Cause| -> Vec<bool> { suspects.iter().map(|under| falls(of, under)).chain([false]).collect() };
    let mut left: Vec<(&Cause, Vec<bool>)> = candidates.iter().map(|cause| (*cause, falls(cause))).collect();
    // A result that other reasons would have too does not confirm; of two that say as much, the larger suspect's.
    left.sort_by(|(a, _), (b, _)| {
        let weak = |cause: &Cause| cause.prove.expected == Expected::Unchanged;
        weak(a).cmp(&weak(b)).then(b.us.abs().total_cmp(&a.us.abs()))
    });
    let mut groups: Vec<Vec<bool>> = vec![Vec::new(); probabilities.len()];
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let says: Vec<f64> = left.iter().map(|(_, falls)| information(&probabilities, &groups, falls)).collect();
        let most = says.iter().copied().fold(0.0, f64::max);
        let best = says.iter().position(|bits| *bits >= most - NOTHING).unwrap_or_default();
        if most <= NOTHING && !chosen.is_empty() {
            break;
        }
        let (cause, falls) = left.remove(best);
        groups.iter_mut().zip(falls).for_each(|(group, falls)| group.push(falls));
        chosen.push(cause);
    }
    chosen
}

/// Whether the experiment of a suspect has the result "the time falls" (for half the threads: with its own waits alone)
/// if the reason is `under`.
fn falls(of: &Cause, under: &Cause) -> bool {
    let Experiment { changes, expected, .. } = &of.prove;
    let spreads = changes.iter().any(|change| SPREAD.contains(&change.key.as_str()));
    let has_tables = changes.iter().any(|change| change.key == TABLES);
    let on_rows = matches!(under.suspect, Suspect::RowLock | Suspect::PageLock(_) | Suspect::IndexLock(_))
        || has_tables && matches!(under.suspect, Suspect::TableLock(_));
    match expected {
        Expected::OwnPart => of.suspect == under.suspect,
        Expected::Faster if of.suspect == under.suspect => true,
        Expected::Faster | Expected::Unchanged if spreads => on_rows,
        Expected::Faster => under.prove.expected == Expected::Faster && under.prove.changes == *changes,
        Expected::Unchanged | Expected::Named => false,
    }
}

/// Bits that a result adds to those known, which divided the suspects into `groups`: the mean entropy of the result.
fn information(probabilities: &[f64], groups: &[Vec<bool>], falls: &[bool]) -> f64 {
    let sum = |is: &dyn Fn(usize) -> bool| -> f64 {
        (0..probabilities.len()).filter(|one| is(*one)).map(|one| probabilities[one]).sum()
    };
    let bits = |one: usize| {
        let is_same = |other: usize| groups[other] == groups[one];
        let (group, same) = (sum(&is_same), sum(&|other| is_same(other) && falls[other] == falls[one]));
        -probabilities[one] * (same / group).log2()
    };
    (0..probabilities.len()).map(bits).sum()
}

/// Maximum number of experiments.
const MOST: usize = 3;
/// The change required of an experiment: half of the share of the slower side's time that the suspect explains, limited
/// to this minimum and maximum, so that neither chance nor an overlap with another part decides.
const HALF: f64 = 0.5;
const LEAST: f64 = 0.02;
const GREATEST: f64 = 0.3;
/// The factor of an experiment's two conditions.
const SIDE: &str = "side";

/// One experiment: the slower condition unchanged, compared with the same condition after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub suspect: Suspect,
    pub condition: String,
    pub changes: Vec<Change>,
    /// The expected result if the suspect is the reason.
    pub expected: Expected,
    /// The required change of the time of a transaction, as a fraction: it must occur, or must not.
    pub effect: f64,
}

/// The experiments that separate the suspects best, the best one first, of those that explain a tenth of the
/// difference, can be made without user input and would change something.
pub fn experiments(found: &Why) -> Vec<Trial> {
    let [a, b] = found.sides.each_ref().map(|side| side.us_per_transaction);
    let suspects: Vec<&Cause> = found.causes.iter().filter(|cause| found.is_worth_a_trial(cause)).collect();
    let candidates: Vec<&Cause> = suspects.iter().copied().filter(|cause| can_be_made(cause)).collect();
    let trial = |cause: &Cause| Trial {
        suspect: cause.suspect.clone(),
        condition: cause.condition.clone(),
        changes: cause.prove.changes.clone(),
        expected: cause.prove.expected,
        effect: (HALF * cause.us.abs() / a.max(b)).clamp(LEAST, GREATEST),
    };
    best_first(&suspects, &candidates).into_iter().take(MOST).map(trial).collect()
}

fn can_be_made(cause: &Cause) -> bool {
    let prove = &cause.prove;
    let itself = prove.changes.iter().all(|change| change.value.is_some());
    prove.expected != Expected::Named && itself && !prove.same
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofVerdict {
    /// The result is as expected: the suspect is the reason.
    Stands,
    /// The result is not as expected: the suspect explains at most a small part.
    Refuted,
    /// The result is as expected, and would be the same for other reasons.
    NotRefuted,
    Undecided,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The experiment, with the suspect that it decides about.
    pub trial: Trial,
    pub verdict: ProofVerdict,
    /// Time of a transaction with the change / without it.
    pub ratio: Option<f64>,
    /// Its 95% interval, valid over all looks.
    pub ci: Option<Interval>,
    pub pairs: usize,
    pub elapsed_s: f64,
    /// How the waits changed, if they decide ([`Expected::OwnPart`]).
    pub waits: Option<WaitsChange>,
    /// Why the experiment could not be made, or not to its end.
    pub problem: Option<String>,
}

/// With the change minus without it, microseconds per transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitsChange {
    /// Waits that the suspect explains.
    pub own_us: f64,
    pub own_ci: Option<Interval>,
    /// All other waits, including what is not explained; without waits for other programs.
    pub others_us: f64,
    /// The time of a transaction without the change.
    pub of_us: f64,
}

impl Proof {
    /// Judges the pairs of a comparison: the unchanged condition against the changed one, by the time of a transaction.
    pub fn of(trial: Trial, ab: &Ab, results: &Results) -> Self {
        let claimed = ab.ratio.zip(ab.ci).filter(|_| !ab.stop.is_some_and(Stop::withholds));
        let by_parts = trial.expected == Expected::OwnPart;
        let waits = if by_parts { WaitsChange::of(&trial.suspect, results) } else { None };
        let verdict = judge(trial.expected, trial.effect, ab.verdict, claimed, waits);
        let (ratio, ci, pairs, elapsed_s) = (ab.ratio, ab.ci, ab.pairs, ab.elapsed_s);
        Self { verdict, ratio, ci, pairs, elapsed_s, waits, problem: None, trial }
    }

    /// An experiment without a result.
    pub fn failed(trial: Trial, problem: String) -> Self {
        let (ratio, ci, waits) = (None, None, None);
        let verdict = ProofVerdict::Undecided;
        Self { trial, verdict, ratio, ci, pairs: 0, elapsed_s: 0.0, waits, problem: Some(problem) }
    }
}

impl WaitsChange {
    /// From the results of an experiment, whose conditions are the sides `a` (unchanged) and `b`.
    fn of(suspect: &Suspect, results: &Results) -> Option<Self> {
        let conditions = collect::conditions(results);
        let side = |letter: &str| {
            let is_side = |one: &&ConditionTrials<'_>| one.levels.get(SIDE).is_some_and(|level| level == letter);
            conditions.iter().find(is_side)
        };
        let (one, other) = (side("a")?, side("b")?);
        let [mut a, mut b] = [one, other].map(|side| time::of_trials(side, results));
        time::leave_out_unrecorded(&mut [&mut a, &mut b]);
        let of_us = a.iter().map(|time| time.us).sum::<f64>() / a.len() as f64;
        let blocks = |times: &[TrialTime<'_>]| times.iter().map(|time| time.trial.block).collect::<Vec<usize>>();
        let blocks = (one.blocked && other.blocked).then(|| [blocks(&a), blocks(&b)]);
        let rounding = trials::rounding([one, other]);
        let trials = Trials { a: &a, b: &b, blocks, apart: Design::Independent, rounding };
        let own = suspect.own_waits();
        let is_other = |part: &Part| !Part::WORK.contains(part) && *part != Part::OtherPrograms && !own.contains(part);
        let sum = |of: &dyn Fn(&Part) -> bool| {
            trials.shift(&|time| time.parts.iter().filter(|(part, _)| of(part)).map(|(_, us)| us).sum())
        };
        let (found, others) = (sum(&|part| own.contains(part)), sum(&is_other));
        (of_us > 0.0).then_some(Self { own_us: found.value, own_ci: found.ci, others_us: others.value, of_us })
    }

    /// Whether the suspect's own waits are shown to fall by this share of the time, and the others do not.
    fn only_own_fell(&self, effect: f64) -> bool {
        let shown = self.own_ci.is_some_and(|ci| ci.high < 0.0);
        shown && -self.own_us >= effect * self.of_us && -self.others_us < effect * self.of_us
    }

    /// Whether a fall of the suspect's own waits by this share of the time is excluded.
    fn own_cannot_have_fallen(&self, effect: f64) -> bool {
        self.own_ci.is_some_and(|ci| -ci.low < effect * self.of_us)
    }
}

/// Whether the time fell as required, by the ratio of times and its interval, and with it the suspect's own waits.
fn judge(
    expected: Expected,
    effect: f64,
    ab: AbVerdict,
    claimed: Option<(f64, Interval)>,
    waits: Option<WaitsChange>,
) -> ProofVerdict {
    let Some((ratio, ci)) = claimed else { return ProofVerdict::Undecided };
    // A fall as large as required is excluded.
    let too_little = 1.0 - ci.low < effect;
    let fell = ab == AbVerdict::Faster && ci.high < 1.0 && 1.0 - ratio >= effect;
    let own_fell = waits.is_some_and(|waits| waits.only_own_fell(effect));
    let own_stayed = waits.is_some_and(|waits| waits.own_cannot_have_fallen(effect));
    match (expected, fell, too_little) {
        (Expected::Faster, true, _) => ProofVerdict::Stands,
        (Expected::OwnPart, true, _) if own_fell => ProofVerdict::Stands,
        (Expected::OwnPart, true, _) if own_stayed => ProofVerdict::Refuted,
        (Expected::Faster | Expected::OwnPart, _, true) | (Expected::Unchanged, true, _) => ProofVerdict::Refuted,
        (Expected::Unchanged, _, true) => ProofVerdict::NotRefuted,
        _ => ProofVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(suspect: Suspect, us: f64, expected: Expected, key: &str) -> Cause {
        let change = Change { key: key.to_owned(), value: Some("1".to_owned()) };
        let prove =
            Experiment { arguments: Vec::new(), changes: vec![change], same: false, expected, estimated_s: None };
        let condition = "b".to_owned();
        Cause { suspect, us, ci: None, share: None, condition, counts: None, shown: true, prove }
    }

    fn order(causes: &[Cause]) -> Vec<&'static str> {
        let all: Vec<&Cause> = causes.iter().collect();
        best_first(&all, &all).into_iter().map(|cause| cause.suspect.kind()).collect()
    }

    #[test]
    fn suspects_with_experiments_of_their_own_come_by_size() {
        let (commit, network) = ("engine.options.synchronous", "engine.transport");
        let row = cause(Suspect::RowLock, 300.0, Expected::Faster, "workload.rows");
        let commit = cause(Suspect::Commit, 200.0, Expected::Faster, commit);
        let network = cause(Suspect::Network, -500.0, Expected::Faster, network);
        assert_eq!(order(&[row, commit, network]), ["network", "row_lock", "commit"]);
    }

    /// More tables: with a lock of the whole server the time stays, as with wake-ups and a shortage of CPUs.
    #[test]
    fn an_experiment_with_the_same_result_under_every_suspect_is_not_made() {
        let global = cause(Suspect::GlobalLock("a".to_owned()), 600.0, Expected::Unchanged, "workload.tables");
        let wakes = cause(Suspect::WakeUps, 300.0, Expected::Faster, "client.spin");
        let cpus = cause(Suspect::CpuShortage, 100.0, Expected::OwnPart, "workload.threads");
        assert_eq!(order(&[global.clone(), wakes.clone(), cpus.clone()]), ["wake_ups", "cpu_shortage"]);
        assert_eq!(order(std::slice::from_ref(&global)), ["global_lock"], "there is no other one");
        // It separates an index that all tables share from this lock: with more tables the time falls.
        let index = cause(Suspect::IndexLock("b".to_owned()), 300.0, Expected::Named, "workload.tables");
        let all = [&global, &wakes, &cpus, &index];
        let found = best_first(&all, &all[..3]);
        assert_eq!(
            found.iter().map(|cause| cause.suspect.kind()).collect::<Vec<_>>()[..2],
            ["wake_ups", "global_lock"]
        );
    }

    #[test]
    fn a_second_experiment_that_divides_the_suspects_as_the_first_says_nothing() {
        let row = cause(Suspect::RowLock, 300.0, Expected::Faster, "workload.rows");
        let page = cause(Suspect::PageLock("p".to_owned()), 200.0, Expected::Faster, "workload.tables");
        let commit = cause(Suspect::Commit, 100.0, Expected::Faster, "engine.options.synchronous");
        assert_eq!(order(&[row, page, commit]), ["row_lock", "commit"]);
    }

    #[test]
    fn a_suspect_is_confirmed_or_refuted_by_its_expected_outcome() {
        use ProofVerdict::{NotRefuted, Refuted, Stands, Undecided};
        let ci = |low: f64, high: f64| Some((f64::midpoint(low, high), Interval { low, high }));
        let cases = [
            // A fall as large as required.
            (AbVerdict::Faster, ci(0.4, 0.5), Stands, Refuted),
            // Shown, but too small to be the reason.
            (AbVerdict::Faster, ci(0.95, 0.99), Refuted, NotRefuted),
            (AbVerdict::Equivalent, ci(0.99, 1.01), Refuted, NotRefuted),
            (AbVerdict::Slower, ci(1.1, 1.3), Refuted, NotRefuted),
            (AbVerdict::Undecided, ci(0.96, 1.2), Refuted, NotRefuted),
            // Shown, and as large a fall is possible, but it was smaller.
            (AbVerdict::Faster, ci(0.75, 0.99), Undecided, Undecided),
            // Undecided in both directions.
            (AbVerdict::Undecided, ci(0.7, 1.1), Undecided, Undecided),
            (AbVerdict::Undecided, None, Undecided, Undecided),
        ];
        for (ab, claimed, faster, unchanged) in cases {
            assert_eq!(judge(Expected::Faster, 0.2, ab, claimed, None), faster, "{ab:?} {claimed:?}");
            assert_eq!(judge(Expected::Unchanged, 0.2, ab, claimed, None), unchanged, "{ab:?} {claimed:?}");
        }
    }

    /// Half the clients: the time halves, whatever the reason is.
    #[test]
    fn with_fewer_clients_a_suspect_is_confirmed_only_if_its_own_waits_fall_alone() {
        let waits = |own_us: f64, width_us: f64, others_us: f64| {
            let own_ci = Some(Interval { low: own_us - width_us, high: own_us + width_us });
            Some(WaitsChange { own_us, own_ci, others_us, of_us: 1000.0 })
        };
        let halved = Some((0.5, Interval { low: 0.48, high: 0.52 }));
        for (waits, verdict) in [
            (waits(-450.0, 30.0, -20.0), ProofVerdict::Stands),
            // A row lock: waits for a CPU are a tenth of the time, and fall less than they must.
            (waits(-50.0, 10.0, -450.0), ProofVerdict::Refuted),
            // Both fall.
            (waits(-250.0, 30.0, -250.0), ProofVerdict::Undecided),
            (waits(-450.0, 500.0, -20.0), ProofVerdict::Undecided),
            (None, ProofVerdict::Undecided),
        ] {
            assert_eq!(judge(Expected::OwnPart, 0.2, AbVerdict::Faster, halved, waits), verdict, "{waits:?}");
        }
        let same = Some((1.0, Interval { low: 0.98, high: 1.02 }));
        let judged = judge(Expected::OwnPart, 0.2, AbVerdict::Equivalent, same, waits(-450.0, 30.0, 0.0));
        assert_eq!(judged, ProofVerdict::Refuted);
    }
}
