//! Explains the difference between the transaction times of A and B: the whole, its parts, functions and suspects.

use super::model::{PartChange, TimeChange, Times, Why, WhyError};
use super::prove::Known;
use super::suspect::Suspect;
use super::trials::{FALSE_DISCOVERIES, Trials};
use super::{causes, functions, prove, trials};
use crate::captures::{self, Unnamed};
use crate::collect::{self, ConditionTrials};
use crate::compare::{self, CompareError, Origin, Side};
use crate::differences::{self, Difference, What};
use crate::lines;
use crate::time::{self, ConditionTime, Part, TrialTime};
use std::collections::BTreeSet;
use tare_results::Results;
use tare_results::events::Hardware;
use tare_stats::multiple::benjamini_yekutieli;
use tare_stats::ratio::{Design, Shift};

/// Minimum share of a side's time taken by other programs that is reported.
const DISTURBED: f64 = 0.02;

pub fn why(a: Side<'_>, b: Side<'_>) -> Result<Why, WhyError> {
    let (of_a, of_b) = (compare::run_of(a)?, compare::run_of(b)?);
    let matched: compare::Matched<'_, '_> = compare::matched(&of_a, &of_b)?;
    let [(one, other)] = matched.as_slice() else {
        return Err(WhyError::Several { names: matched.iter().map(|(a, _)| a.name.to_owned()).collect() });
    };
    let origin = Origin::of((a, &of_a), (b, &of_b));
    between((*one, a.results), (*other, b.results), |n| origin.design(n))
}

/// Explains two conditions of one run.
pub fn of_conditions(
    one: &ConditionTrials<'_>,
    other: &ConditionTrials<'_>,
    results: &Results,
) -> Result<Why, WhyError> {
    between((one, results), (other, results), |_| Design::Independent)
}

/// Explains two conditions, each with its results. `apart` is the design of so many trials without blocks in common.
fn between(
    (one, of_one): (&ConditionTrials<'_>, &Results),
    (other, of_other): (&ConditionTrials<'_>, &Results),
    apart: impl Fn([usize; 2]) -> Design<'static>,
) -> Result<Why, WhyError> {
    let one_run = std::ptr::eq(of_one, of_other);
    if one_run && one.name == other.name || one.has_trial_of(other) {
        let side = |results| Side { results, condition: None };
        return Err(CompareError::same_trials("both sides", side(of_one), side(of_other)).into());
    }
    let turns = one_run.then(|| collect::pairs_by_turns(of_one, one, other)).flatten();
    let (one, other) = turns.as_ref().map_or((one, other), |[one, other]| (one, other));
    let (mut times_a, mut times_b) = (time::of_trials(one, of_one), time::of_trials(other, of_other));
    time::leave_out_unrecorded(&mut [&mut times_a, &mut times_b]);
    let blocked = one_run && one.blocked && other.blocked;
    if blocked {
        in_shared_blocks(&mut times_a, &mut times_b);
    }
    time::join_small(&mut [&mut times_a, &mut times_b]);
    let of = |condition: &ConditionTrials<'_>, times: &[TrialTime<'_>]| {
        let name = condition.name.to_owned();
        time::of_condition(&name, times).ok_or_else(|| no_time(name, condition.ok.is_empty()))
    };
    let sides = [of(one, &times_a)?, of(other, &times_b)?];
    let blocks = |times: &[TrialTime<'_>]| times.iter().map(|time| time.trial.block).collect::<Vec<usize>>();
    let blocks = blocked.then(|| [blocks(&times_a), blocks(&times_b)]);
    let apart = apart([times_a.len(), times_b.len()]);
    let trials = Trials { a: &times_a, b: &times_b, blocks, apart, rounding: trials::rounding([one, other]) };
    let whole = trials.shift(&|time| time.us);
    let disturbed = sides.iter().any(is_disturbed);
    let undisturbed = disturbed.then(|| trials.shift(&|time| time.us - time.part(&Part::OtherPrograms)));
    let own = TimeChange::of(&undisturbed.unwrap_or(whole));
    let (parts, not_explained) = parts(&trials, &sides, own, disturbed);
    let mut slower_and_faster = [(other, of_other), (one, of_one)].map(|(side, results)| Known { side, results });
    let again = prove::again([&slower_and_faster[1], &slower_and_faster[0]], one_run);
    if own.us < 0.0 {
        slower_and_faster.reverse();
    }
    let both = [of_one, of_other];
    let given = causes::Given { results: both, slower_and_faster };
    let causes = causes::causes(&trials, &parts, own, &given);
    let captures = prove::experiment(&Suspect::Unnamed, &given.slower_and_faster);
    let unnamed = [unnamed(&times_a, of_one), unnamed(&times_b, of_other)];
    let pair = [(one, other)];
    let levels = differences::of_levels(one.levels, other.levels);
    let differences = [levels, differences::between(of_one, of_other)].concat();
    Ok(Why {
        paired: trials.blocks.is_some(),
        one_run,
        joined_by: compare::joined_by(both, &pair, &differences),
        made_apart: made_apart(differences),
        difference: TimeChange::of(&whole),
        undisturbed: undisturbed.as_ref().map(TimeChange::of),
        parts,
        not_explained,
        sleeps: functions::sleeps(&trials, both),
        functions: functions::functions(&trials, both),
        statements: functions::statements(&trials),
        events: trials::events(&trials),
        lines: [&times_a, &times_b].map(|side| lines::summary(side.iter().map(|time| time.trial))),
        unnamed: unnamed.into_iter().flatten().max_by(|a, b| a.fraction.total_cmp(&b.fraction)),
        hardware: both.iter().find_map(|results| Hardware::of(&results.environment.as_ref()?.settings)),
        lost: [one, other].map(ConditionTrials::lost),
        missing: trials.a.iter().chain(trials.b).flat_map(|time| time.trial.captures_missing.clone()).collect(),
        causes,
        again,
        captures,
        sides,
    })
}

fn is_disturbed(side: &ConditionTime) -> bool {
    side.parts.iter().any(|part| part.part == Part::OtherPrograms && part.share >= DISTURBED)
}

/// The part of these trials' profiles without names.
fn unnamed(times: &[TrialTime<'_>], results: &Results) -> Option<Unnamed> {
    let captures = times.iter().filter_map(|time| results.captures.get(&(time.trial.trial, time.trial.attempt)));
    captures::unnamed(&captures.collect::<Vec<_>>())
}

/// Leaves out trials of blocks in which the other side has no result, so that the means of A and B differ by what is
/// given as their difference.
fn in_shared_blocks(a: &mut Vec<TrialTime<'_>>, b: &mut Vec<TrialTime<'_>>) {
    let blocks = |times: &[TrialTime<'_>]| times.iter().map(|time| time.trial.block).collect::<BTreeSet<usize>>();
    let shared: BTreeSet<usize> = blocks(a).intersection(&blocks(b)).copied().collect();
    // As trials are paired: with too few, all count.
    if shared.len() >= 2 && 3 * shared.len() >= 2 * a.len().max(b.len()) {
        a.retain(|time| shared.contains(&time.trial.block));
        b.retain(|time| shared.contains(&time.trial.block));
    }
}

/// What may explain a difference between two runs, besides what was compared on purpose.
fn made_apart(mut found: Vec<Difference>) -> Vec<Difference> {
    found.retain(|one| match &one.what {
        What::ServerVersion | What::Machine(_) | What::Tare => true,
        What::Study(key) => key.starts_with("workload."),
        _ => false,
    });
    found
}

/// Each part's difference; verdicts hold for all parts together. Shares are relative to `own`. If `disturbed`, the time
/// taken by other programs has no share, because `own` excludes it.
fn parts(
    trials: &Trials<'_, '_>,
    sides: &[ConditionTime; 2],
    own: TimeChange,
    disturbed: bool,
) -> (Vec<PartChange>, PartChange) {
    let all: BTreeSet<&Part> = trials.a.iter().chain(trials.b).flat_map(|time| time.parts.keys()).collect();
    let shifts: Vec<(&Part, Shift)> =
        all.into_iter().map(|part| (part, trials.shift(&|time: &TrialTime<'_>| time.part(part)))).collect();
    let adjusted = benjamini_yekutieli(&shifts.iter().map(|(_, shift)| shift.p_value).collect::<Vec<f64>>());
    let us_of = |side: &ConditionTime, part: &Part| {
        let parts = side.parts.iter().chain([&side.not_explained]);
        parts.filter(|found| found.part == *part).map(|found| found.us).sum::<f64>()
    };
    let changes = shifts.into_iter().zip(adjusted).map(|((part, shift), p_value)| PartChange {
        part: part.clone(),
        a_us: us_of(&sides[0], part),
        b_us: us_of(&sides[1], part),
        us: shift.value,
        ci: shift.ci,
        share: own.share(shift.value).filter(|_| !(disturbed && *part == Part::OtherPrograms)),
        p_value,
        shown: p_value <= FALSE_DISCOVERIES,
        smallest_us: shift.smallest,
    });
    let (rest, parts): (Vec<PartChange>, Vec<PartChange>) =
        changes.partition(|change| change.part == Part::NotExplained);
    let none = || PartChange::none(Part::NotExplained);
    (parts, rest.into_iter().next().unwrap_or_else(none))
}

/// Each condition of a side, with its captures.
pub fn times(side: Side<'_>) -> Result<Times, WhyError> {
    let of = compare::run_of(side)?;
    let times = time::of_conditions(&of.conditions, side.results);
    let lost = of.conditions.iter().filter(|condition| condition.ok.is_empty());
    let lost: Vec<String> = lost.map(|condition| condition.name.to_owned()).collect();
    if times.is_empty() {
        let name = side.condition.map_or_else(|| side.results.study.clone(), str::to_owned);
        return Err(no_time(name, lost.len() == of.conditions.len()));
    }
    Ok(Times { conditions: times, lost, captures: captures::summaries(&of.conditions, side.results) })
}

fn no_time(name: String, without_result: bool) -> WhyError {
    if without_result { WhyError::NoResult { name } } else { WhyError::NoTime { name } }
}
