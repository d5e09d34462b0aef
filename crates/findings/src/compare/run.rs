//! Runs a complete comparison: matching, verdicts, notes and gate.

use super::conclusion::{Comparison, DisturbedSide, Gate, JoinedBy, MostDisturbing, Note};
use super::groups::{self, AgainstFirst, Compared, Grouped, MOST_SIDES, ManyComparison};
use super::matching::{Matched, Run, lacking, matched, run_of, unmatched};
use super::model::{CompareError, Losses, MetricComparison, Options, Side};
use super::pairs::{Origin, Pair, metrics_of};
use super::verdicts::{self, as_judged, gate, judge, undetected, verdicts};
use crate::collect::{self, ConditionTrials};
use crate::differences::{self, Difference};
use crate::one_study::{self, OneStudy};
use crate::{modes, probes};
use std::collections::BTreeSet;
use tare_results::disturbed::by_program;
use tare_results::metric;
use tare_results::probe::Probe;
use tare_results::schema::TrialRecord;
use tare_results::{Results, Source};
use tare_stats::blocks::are_few;

/// From this ratio of widths on, a note says that drift widens the interval.
const WIDER: f64 = 1.1;

pub(super) struct Prepared {
    pub pairs: Vec<Pair>,
    pub notes: Vec<Note>,
    pub differences: Vec<Difference>,
    identical: Option<Vec<String>>,
    pub joined_by: JoinedBy,
    one_study: Option<OneStudy>,
    pub losses: Vec<Losses>,
    one_run: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Read<'r> {
    pub side: Side<'r>,
    pub run: &'r Run<'r>,
    pub label: &'r str,
}

pub(super) fn prepared(a: Read<'_>, b: Read<'_>, options: &Options) -> Result<Prepared, CompareError> {
    let (sides, labels) = ([a, b], [a.label, b.label]);
    let matched = matched(a.run, b.run)?;
    let origin = Origin::of((a.side, a.run), (b.side, b.run));
    let is_same = |(one, other): &(&ConditionTrials<'_>, &ConditionTrials<'_>)| {
        origin.together() && one.name == other.name || one.has_trial_of(other)
    };
    if matched.iter().all(is_same) {
        return Err(CompareError::same_trials("both sides", a.side, b.side));
    }
    let mut notes = unmatched(a.run, b.run, &matched, labels);
    if options.judged.is_empty() {
        notes.extend(lacking(&matched, labels));
    }
    let (a, b) = (a.side, b.side);
    let between = differences::between(a.results, b.results);
    let mut pairs = Vec::new();
    for (one, other) in &matched {
        let refused = origin.probe().and_then(|probe| {
            let levels = differences::of_levels(one.levels, other.levels);
            probes::refusal(&[levels, between.clone()].concat(), probe)
        });
        let turns = origin.together().then(|| collect::pairs_by_turns(a.results, one, other)).flatten();
        let (one, other) = turns.as_ref().map_or((*one, *other), |[one, other]| (one, other));
        pairs.extend(metrics_of(one, other, origin, refused.is_none()));
        notes.extend(refused.map(Note::Refused).filter(|note| !notes.contains(note)));
    }
    notes.extend(unfinished(&matched, sides));
    let losses = verdicts::losses(&matched, labels);
    // If one side lost everything there is nothing to judge: the loss itself is the result.
    if !(pairs.is_empty() && losses.iter().any(Losses::leaves_nothing)) {
        judge(&mut pairs, &options.judged)?;
    }
    if [a, b].iter().any(|side| side.results.source == Source::Csv)
        && matched.iter().all(|(one, other)| differences::same_values(one, other))
    {
        notes.push(Note::SameValues { side: labels[1].to_owned(), first: labels[0].to_owned() });
    }
    notes.extend(unprobed(&pairs, origin.probe(), &notes));
    notes.extend(cautions(&matched, &mut pairs, sides));
    let differences = [differences::of_conditions(&matched), between].concat();
    let identical = differences::programs_of(&matched, &differences);
    let joined_by = joined_by([a.results, b.results], &matched, &differences);
    let one_study = one_study::of([a.results, b.results], &matched);
    if !origin.together() {
        let (first, others) = (labels[0].to_owned(), vec![labels[1].to_owned()]);
        notes.push(Note::Sessions { first, others, joined_by, one_study: one_study.clone() });
    }
    notes.extend(drifted(&pairs));
    let layouts = differences.iter().find(|difference| {
        difference.what == differences::NODE_LAYOUT && !difference.a.is_empty() && !difference.b.is_empty()
    });
    notes.extend(layouts.map(|difference| Note::NodeLayouts {
        side: labels[1].to_owned(),
        first: labels[0].to_owned(),
        layouts: [difference.a.clone(), difference.b.clone()],
    }));
    let one_run = origin.together();
    Ok(Prepared { pairs, notes, differences, identical, joined_by, one_study, losses, one_run })
}

/// The planned trials of each side that were not run.
fn unfinished(matched: &Matched<'_, '_>, [a, b]: [Read<'_>; 2]) -> Vec<Note> {
    let of_a: Vec<&str> = matched.iter().map(|(one, _)| one.name).collect();
    let of_b: Vec<&str> = matched.iter().map(|(_, other)| other.name).collect();
    let of = |(read, compared): (Read<'_>, Vec<&str>)| verdicts::unfinished(read.side, &compared, read.label);
    [(a, of_a), (b, of_b)].into_iter().filter_map(of).collect()
}

/// The factor that puts two runs, of which these conditions are compared, into one study.
pub(crate) fn joined_by(
    runs: [&Results; 2],
    compared: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)],
    differences: &[Difference],
) -> JoinedBy {
    let ran_already = runs.iter().any(|run| run.trials.iter().any(TrialRecord::ran_already));
    match differences::programs_of(compared, differences) {
        _ if ran_already && !differences::have_other_studies(differences) => JoinedBy::Socket,
        _ if ran_already => JoinedBy::Difference,
        Some(_) => JoinedBy::Nothing,
        None if differences::have_other_servers(compared) => JoinedBy::Binary,
        None => JoinedBy::Difference,
    }
}

/// The effect of drift within two runs on the intervals of judged metrics.
fn drifted(pairs: &[Pair]) -> Option<Note> {
    let judged = pairs.iter().filter(|pair| pair.comparison.judged).map(|pair| (pair.widened(), pair.all.drifted));
    let (widest, shown) = judged.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    // Rounded to a tenth, as displayed, so that equal notes of several sides are merged.
    (widest > WIDER).then(|| Note::Drifted { widest: (10.0 * widest).round() / 10.0, shown })
}

/// Two runs whose verdict a drift could have caused that they do not exclude.
fn undetected_drift(judged: &[Pair], min_effect: f64) -> Option<Note> {
    let pair = undetected(judged, min_effect)?;
    let MetricComparison { name, verdict, .. } = &pair.comparison;
    let (trials, correlation) = not_excluded(pair)?;
    Some(Note::DriftUnseen { metric: name.clone(), verdict: *verdict, trials, correlation })
}

/// The same for a gate that passes.
fn gate_of_undetected_drift(judged: &[Pair], gate: Option<Gate>, margin: Option<f64>) -> Option<Note> {
    let pair = verdicts::passes_undrifted(judged, margin.filter(|_| gate == Some(Gate::Passed))?)?;
    let (trials, correlation) = not_excluded(pair)?;
    Some(Note::GateDriftUnseen { metric: pair.comparison.name.clone(), trials, correlation })
}

/// Trials of the shorter side, and the largest correlation of neighbours that they do not exclude.
fn not_excluded(pair: &Pair) -> Option<(usize, f64)> {
    let MetricComparison { trials_a, trials_b, .. } = &pair.comparison;
    Some(((*trials_a).min(*trials_b), pair.all.unseen?.0))
}

pub fn compare(a: Side<'_>, b: Side<'_>, options: &Options) -> Result<Comparison, CompareError> {
    let (of_a, of_b) = (run_of(a)?, run_of(b)?);
    let (of_a, of_b) = (Read { side: a, run: &of_a, label: "A" }, Read { side: b, run: &of_b, label: "B" });
    Ok(concluded(prepared(of_a, of_b, options)?, options))
}

pub(super) fn concluded(found: Prepared, options: &Options) -> Comparison {
    let Prepared { pairs, mut notes, differences, identical, losses, one_run, .. } = found;
    let losses = verdicts::tested_losses(losses);
    notes.splice(0..0, failing(&losses));
    let (judged, others): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(|pair| pair.comparison.judged);
    // Metrics that only explain others are a separate family of tests, so that they do not make other verdicts harder.
    let (details, others): (Vec<Pair>, Vec<Pair>) =
        others.into_iter().partition(|pair| metric::describe(&pair.comparison.name).is_detail());
    let mut judged = verdicts(judged, options.min_effect);
    notes.extend(judged.iter().filter_map(|pair| moved(&pair.comparison, "B")).next());
    notes.extend(undetected_drift(&judged, options.min_effect));
    let incomplete = verdicts::is_incomplete(&notes, "A");
    let gate = options.fail_if_slower.map(|margin| gate(&mut judged, &losses, incomplete, margin));
    notes.extend(gate_of_undetected_drift(&judged, gate, options.fail_if_slower));
    let mut explain: Vec<Pair> =
        [others, details].into_iter().flat_map(|family| verdicts(family, options.min_effect)).collect();
    as_judged(&judged, &mut explain);
    let metrics = judged.into_iter().chain(explain).map(|pair| pair.comparison).collect();
    Comparison { identical, differences, metrics, losses, one_run, sessions: None, gate, notes }
}

fn failing(losses: &[Losses]) -> Vec<Note> {
    losses.iter().filter(|found| found.b_fails_more).cloned().map(Note::FailsMore).collect()
}

fn moved(metric: &MetricComparison, side: &str) -> Option<Note> {
    let adjusted = metric.adjusted.as_ref()?;
    let change = adjusted.probe.filter(|change| change.shown)?;
    Some(Note::ProbeMoved {
        probe: adjusted.by,
        side: side.to_owned(),
        condition: metric.condition.clone(),
        change,
        paired: metric.paired,
    })
}

/// Compares every other side with the first; verdicts hold for all judged metrics of all sides together.
pub fn compare_many(sides: &[(String, Side<'_>)], options: &Options) -> Result<ManyComparison, CompareError> {
    let mut notes = Vec::new();
    let (mut judged, mut others) = (Vec::new(), Vec::new());
    let (mut losses, mut one_run, mut apart, mut joined_by) = (Vec::new(), true, Vec::new(), JoinedBy::Nothing);
    let mut studies: Vec<Option<OneStudy>> = Vec::new();
    let runs = sides.iter().map(|(_, side)| run_of(*side)).collect::<Result<Vec<_>, _>>()?;
    let read: Vec<Read<'_>> =
        sides.iter().zip(&runs).map(|((label, side), run)| Read { side: *side, run, label }).collect();
    let Some((first, rest)) = read.split_first() else { return Err(CompareError::NoMetric) };
    for other in rest {
        let name = &other.label;
        let found = prepared(*first, *other, options)?;
        let same = found.identical.map(|_| Note::Identical { side: (*name).to_owned(), first: first.label.to_owned() });
        let own = found.notes.into_iter().filter(|note| !matches!(note, Note::Sessions { .. }));
        notes.extend(same.into_iter().chain(own).filter(|note| !notes.contains(note)).collect::<Vec<_>>());
        if !found.one_run {
            apart.push((*name).to_owned());
            joined_by = joined_by.max(found.joined_by);
            studies.push(found.one_study);
        }
        one_run &= found.one_run;
        losses.extend(found.losses);
        for pair in found.pairs {
            if pair.comparison.judged { judged.push((name, pair)) } else { others.push((name, pair)) }
        }
    }
    let tested = |family: Vec<(&&str, Pair)>| -> (Vec<String>, Vec<Pair>) {
        let (names, pairs): (Vec<&&str>, Vec<Pair>) = family.into_iter().unzip();
        (names.into_iter().map(|name| (*name).to_owned()).collect(), verdicts(pairs, options.min_effect))
    };
    let (names, mut judged) = tested(judged);
    let (other_names, mut others) = tested(others);
    as_judged(&judged, &mut others);
    let losses = verdicts::tested_losses(losses);
    notes.splice(0..0, failing(&losses));
    if !apart.is_empty() {
        let one_study = studies.into_iter().reduce(|all, next| all?.with(next?)).flatten();
        notes.push(Note::Sessions { first: first.label.to_owned(), others: apart, joined_by, one_study });
    }
    notes.extend(names.iter().zip(&judged).filter_map(|(name, pair)| moved(&pair.comparison, name)).next());
    notes.extend(undetected_drift(&judged, options.min_effect));
    let incomplete = verdicts::is_incomplete(&notes, first.label);
    let gate = options.fail_if_slower.map(|margin| gate(&mut judged, &losses, incomplete, margin));
    notes.extend(gate_of_undetected_drift(&judged, gate, options.fail_if_slower));
    let named = names.into_iter().zip(judged).chain(other_names.into_iter().zip(others));
    Ok(ManyComparison {
        sides: sides.iter().map(|(name, _)| name.clone()).collect(),
        metrics: named.map(|(against, pair)| AgainstFirst { against, metric: pair.comparison }).collect(),
        groups: grouped(&read, options),
        losses,
        one_run,
        gate,
        notes,
    })
}

/// Groups of sides that are not distinguishable, without a minimum effect; all pairs are one family of tests.
fn grouped(read: &[Read<'_>], options: &Options) -> Vec<Grouped> {
    if !(3..=MOST_SIDES).contains(&read.len()) {
        return Vec::new();
    }
    let (mut places, mut family) = (Vec::new(), Vec::new());
    for (a, one) in read.iter().enumerate() {
        for (b, other) in read.iter().enumerate().skip(a + 1) {
            // Two sides without a common condition are not compared; the first side has one in common with each.
            let pairs = prepared(*one, *other, options).map_or(Vec::new(), |found| found.pairs);
            for pair in pairs.into_iter().filter(|pair| pair.comparison.judged) {
                places.push((a, b));
                family.push(pair);
            }
        }
    }
    let compared = places.into_iter().zip(verdicts(family, 0.0));
    let compared: Vec<Compared> = compared.map(|((a, b), pair)| Compared { a, b, metric: pair.comparison }).collect();
    let names: Vec<&str> = read.iter().map(|side| side.label).collect();
    groups::of(&names, &compared)
}

/// Why a probe declared in advance adjusts nothing although nothing moves it: too few trials, or some without a
/// reading.
fn unprobed(pairs: &[Pair], probe: Option<Probe>, notes: &[Note]) -> Option<Note> {
    let none = pairs.iter().any(|pair| pair.comparison.judged && pair.all.probes.is_none());
    let refused = notes.iter().any(|note| matches!(note, Note::Refused(_)));
    probe.filter(|_| none && !refused).map(Note::Unprobed)
}

/// The disturbed attempts of a side's conditions; none if there are none.
fn disturbed(conditions: &[&ConditionTrials<'_>], side: Read<'_>) -> Option<Note> {
    let counted: Vec<&TrialRecord> = conditions.iter().flat_map(|condition| condition.disturbed()).collect();
    let aside: Vec<&TrialRecord> = conditions.iter().flat_map(|condition| condition.set_aside.clone()).collect();
    let programs = by_program(counted.iter().chain(&aside).map(|trial| &trial.disturbed_by));
    let most = programs.first().map(|most| MostDisturbing {
        program: most.program.to_owned(),
        attempts: most.attempts,
        cpus: most.cpus,
        others: programs.len() - 1,
    });
    (counted.len() + aside.len() > 0).then(|| Note::Disturbed {
        side: side.label.to_owned(),
        attempts: DisturbedSide {
            results: side.side.results.path.display().to_string(),
            counted: counted.len(),
            of: conditions.iter().map(|condition| condition.ok.len()).sum(),
            set_aside: aside.len(),
            program: most,
        },
    })
}

/// Notes in this order: disturbed trials, several modes (also stored in the pairs), trials left out, too few trials.
fn cautions(matched: &Matched<'_, '_>, pairs: &mut [Pair], sides: [Read<'_>; 2]) -> Vec<Note> {
    let all_a: Vec<_> = matched.iter().map(|(a, _)| *a).collect();
    let all_b: Vec<_> = matched.iter().map(|(_, b)| *b).collect();
    let of_sides = [(&all_a, sides[0]), (&all_b, sides[1])];
    let mut notes: Vec<Note> = of_sides.iter().filter_map(|(all, side)| disturbed(all, *side)).collect();
    let sides = || matched.iter().flat_map(|(a, b)| [(*a, sides[0].label), (*b, sides[1].label)]);
    let judged: BTreeSet<String> =
        pairs.iter().filter(|pair| pair.comparison.judged).map(|pair| pair.comparison.name.clone()).collect();
    let all: BTreeSet<String> = pairs.iter().map(|pair| pair.comparison.name.clone()).collect();
    let metrics: Vec<String> = all.into_iter().collect();
    let seen = [all_a, all_b].map(|side| modes::StudyModes::of(&side, &metrics, None));
    for pair in pairs.iter_mut() {
        let found = &mut pair.comparison;
        let of = |a: &ConditionTrials<'_>, b: &ConditionTrials<'_>| {
            a.name == found.condition.a && b.name == found.condition.b
        };
        let Some((a, b)) = matched.iter().find(|(a, b)| of(a, b)) else { continue };
        (found.modes_a, found.modes_b) = (seen[0].modes(a, &found.name), seen[1].modes(b, &found.name));
    }
    for (place, (side, label)) in sides().enumerate() {
        notes.extend(verdicts::of_losses(label, side.name, side.failed.len(), verdicts::lost(side)));
        notes.extend(verdicts::nothing_done(label, side));
        if let Some(level) = side.low_optimisation() {
            let (side, condition) = (label.to_owned(), side.name.to_owned());
            notes.push(Note::LowOptimisation { side, condition, level });
        }
        for name in &judged {
            let modes = seen[place % 2].count(side, name);
            if modes > 1 {
                let (condition, metric) = (side.name.to_owned(), name.clone());
                let note = Note::Modes { side: label.to_owned(), condition, metric, modes };
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    let judged = pairs.iter().filter(|pair| pair.comparison.judged);
    let few = |pair: &Pair| {
        let (a, b) = (pair.all.a.len(), pair.all.b.len());
        (a.min(b) < 2 || are_few([a, b])).then_some(a.min(b))
    };
    notes.extend(judged.filter_map(few).min().map(|trials| Note::TooFewTrials { trials }));
    notes
}
