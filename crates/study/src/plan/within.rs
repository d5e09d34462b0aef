//! Cuts a plan to a time, and keeps a record of what was cut.
//!
//! Samples and warm-up can be shortened, conditions can share a warm server, the middle rungs of a long ladder of
//! threads can be left out (its ends stay, and halves are halved again), and the number of blocks can be reduced, or
//! raised if blocks have become cheap. Of all plans that fit, the one that shows the smallest change for the study's
//! own question is chosen. A block stays complete, so that all remaining conditions are compared with each other.

use super::design::{self, Condition};
use super::estimate::Costs;
use super::limits::is_wanted;
use super::{estimate, looks, race, resolve, rungs};
use crate::language::settings::Settings;
use crate::language::spec::{Factor, Study, WARMUP_RUNS};
use crate::language::values::from_values;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;
use tare_results::factor::LOADS;
use tare_results::question::Question;
use tare_results::schema::{Plan, PlannedCondition, Rungs, Within};
use tare_stats::blocks::TWO_TRIALS;
use tare_stats::pooled::smallest_shown;
use tare_text::{count, duration, duration_at_most, percent};

/// With fewer blocks nothing is distinguishable from luck.
const FEWEST_BLOCKS: usize = 2;
/// Limit on the blocks that are proposed because servers are shared.
const MOST_BLOCKS: usize = 10;
/// From this many blocks on all conditions are taken to have one variance, as in [`tare_stats::blocks`].
const POOLED_BLOCKS: f64 = 5.0;
/// Numbers of rungs of threads to which a ladder may be reduced.
const RUNGS: [usize; 4] = [usize::MAX, 7, 5, 3];
/// Fractions of its length to which a sample may be shortened.
const SHORTER: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// No sample, and no warm-up, is shortened below these, seconds.
const SHORTEST_S: f64 = 10.0;
const SHORTEST_WARMUP_S: f64 = 2.0;
/// Least number of runs of a load that counts them; the second if servers are compared, where each counts once.
const FEWEST_SAMPLES: usize = 3;
const FEWEST_OF_A_SERVER: usize = 1;
/// The key with the time limit of a warm-up that ends by time.
const WARMUP_LIMIT: &str = "warmup_limit_s";
/// Factors whose levels any server can run one after the other.
const CLIENTS: [&str; 2] = ["threads", "client"];
/// Further factors of this kind if no load changes the data.
const READERS: [&str; 2] = ["workload", "distribution"];
/// Assumed differences between servers, and between samples of a minute on one server, as fractions: from many
/// studies. Every figure that depends on them says so.
const SERVERS_DIFFER: f64 = 0.02;
const SAMPLES_DIFFER: f64 = 0.01;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TooShort {
    #[error(
        "the shortest useful run takes {} ({} of that for the data), but the limit is {}",
        duration_at_most(*least_s), duration_at_most(*data_s), duration(*requested_s)
    )]
    Least {
        least_s: f64,
        /// The part of it for creating the data, seconds.
        data_s: f64,
        requested_s: f64,
    },
    /// A cut study cannot be planned.
    #[error("{0}")]
    Plan(String),
}

/// The study and its plan cut to `sampling.within_s`, up to its first look; unchanged if no time is given. A plan that
/// fits is not cut, and has looks too. `plan` makes the plan of a study.
pub fn fit(
    study: Study,
    whole: Plan,
    cpus: usize,
    plan: impl Fn(&Study) -> Result<Plan, String>,
) -> Result<(Study, Plan), TooShort> {
    let Some(requested_s) = study.sampling.within_s else { return Ok((study, whole)) };
    let (study, whole) = with_budget(study, whole, requested_s, &plan)?;
    let cut = |levels, rungs| Within {
        requested_s,
        whole_s: whole.estimated_s,
        whole_trials: whole.trials.len(),
        levels,
        rungs,
        ..Within::default()
    };
    if whole.estimated_s <= requested_s {
        let looked_at = looks::begun(&study, Plan { within: Some(cut(BTreeMap::new(), None)), ..whole });
        return Ok((study, looked_at));
    }
    let mut conditions = design::conditions(&study).map_err(TooShort::Plan)?;
    let names: Names = conditions.iter().zip(&whole.conditions).map(|(c, known)| (c.name.clone(), known)).collect();
    rename(&mut conditions, &names);
    let trials_s = estimate::trials_s(&whole.trials, &conditions, &study.sampling, cpus);
    let data_s = (whole.estimated_s - trials_s).max(0.0);
    let (mut fitting, least_s) = fitting(&study, (&whole, &names), &conditions, data_s, cpus)?;
    // A race has more trials of its best conditions than any plan that is made beforehand, and with a server for each
    // condition none shares another's luck.
    let is_alone = |study: &Study| race::is_for(study, &whole) && study.design.ladder.is_none();
    fitting.sort_by(|a, b| is_alone(&b.1).cmp(&is_alone(&a.1)).then(a.0.total_cmp(&b.0)));
    for (_, candidate) in fitting {
        let made = plan(&candidate).map_err(TooShort::Plan)?;
        let cut_conditions = conditions_of(&candidate, &names)?;
        let before = kept(&whole, &cut_conditions).iter().filter(|c| c.realizable).count();
        // If conditions turn out not to be able to share a server, they are not left out for that.
        if made.estimated_s > requested_s || made.realizable().count() < before {
            continue;
        }
        let mut levels = left_out(&study, &candidate);
        let rule = rungs::rule(&study, &candidate, levels.keys());
        if let Some(rule) = &rule {
            levels.remove(&rule.factor);
        }
        let notes = notes(&study, &candidate, (&whole, &made), &levels, rule.as_ref());
        let notes = notes.into_iter().chain(made.notes.clone()).collect();
        let is_climbed = rule.is_some();
        let made = Plan { within: Some(cut(levels, rule)), notes, ..made };
        if !is_climbed {
            let looked_at = looks::begun(&candidate, race::of_question(&candidate, made, requested_s - data_s));
            return Ok((candidate, looked_at));
        }
        let wide = Study { factors: study.factors, ..candidate };
        let all = plan(&wide).map_err(TooShort::Plan)?.conditions;
        let first = made.realizable().map(|c| c.name.clone()).collect();
        let climbed = rungs::begun(&wide, Plan { conditions: all, ..made }, &first);
        return Ok((wide, climbed));
    }
    Err(TooShort::Least { least_s, data_s, requested_s })
}

/// If a pilot chooses the counts itself, the time is its budget.
fn with_budget(
    mut study: Study,
    whole: Plan,
    requested_s: f64,
    plan: impl Fn(&Study) -> Result<Plan, String>,
) -> Result<(Study, Plan), TooShort> {
    if study.sampling.target_half_width.is_none() || whole.estimated_s <= requested_s {
        return Ok((study, whole));
    }
    study.sampling.budget_s = study.sampling.budget_s.min((requested_s - whole.data_s).max(1.0));
    let whole = plan(&study).map_err(TooShort::Plan)?;
    match whole.estimated_s <= requested_s {
        true => Ok((study, whole)),
        false => Err(TooShort::Least { least_s: whole.estimated_s, data_s: whole.data_s, requested_s }),
    }
}

/// The study's conditions by name, with their names in the plan: builds and commands are named by their differences.
type Names<'p> = HashMap<String, &'p PlannedCondition>;

fn rename(conditions: &mut [Condition], names: &Names<'_>) {
    for condition in conditions {
        if let Some(known) = names.get(&condition.name) {
            condition.name.clone_from(&known.name);
        }
    }
}

fn conditions_of(study: &Study, names: &Names<'_>) -> Result<Vec<Condition>, TooShort> {
    let mut conditions = design::conditions(study).map_err(TooShort::Plan)?;
    rename(&mut conditions, names);
    Ok(conditions)
}

/// Candidates that fit, each with the smallest change that it shows; and the time of the shortest candidate, seconds.
fn fitting(
    study: &Study,
    (whole, names): (&Plan, &Names<'_>),
    conditions: &[Condition],
    data_s: f64,
    cpus: usize,
) -> Result<(Vec<(f64, Study)>, f64), TooShort> {
    let mut least_s = f64::INFINITY;
    let mut fitting = Vec::new();
    for Alike { blocks, studies } in candidates(study, conditions).into_iter().take_while(|_| is_wanted()) {
        let made = studies.iter().map(|study| conditions_of(study, names));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let known = studies
            .iter()
            .zip(&made)
            .map(|(study, conditions)| (study, kept(whole, conditions), Costs::of(conditions, &study.sampling, cpus)));
        let known: Vec<_> = known.collect();
        for (blocks, (study, kept, costs)) in blocks.flat_map(|blocks| known.iter().map(move |of| (blocks, of))) {
            let mut candidate = Study::clone(study);
            candidate.sampling.trials = blocks;
            let expected_s = data_s + costs.trials_s(&resolve::scheduled(&candidate, kept));
            least_s = least_s.min(expected_s);
            if study.sampling.within_s.is_none_or(|requested_s| expected_s <= requested_s)
                && let Some(smallest) = smallest(&candidate, kept)
            {
                fitting.push((smallest, candidate));
            }
        }
    }
    Ok((fitting, least_s))
}

/// Studies with the same conditions, and the range of their numbers of blocks.
struct Alike {
    blocks: RangeInclusive<usize>,
    /// The study unchanged, and with warm-ups limited to what is sufficient.
    studies: Vec<Study>,
}

fn candidates(study: &Study, conditions: &[Condition]) -> Vec<Alike> {
    let shared = shared(study, conditions);
    let in_runs = study.base.workload.load.load().warms_up_in_runs();
    let enough: &[bool] = if study.enough.is_empty() || !in_runs { &[false] } else { &[false, true] };
    let has_more = |rungs: usize| study.factors.iter().any(|f| f.name == "threads" && f.levels.len() > rungs);
    let rungs = RUNGS.into_iter().filter(|rungs| *rungs == usize::MAX || has_more(*rungs));
    let shapes: Vec<_> = rungs.flat_map(|rungs| SHORTER.map(|part| (rungs, part))).collect();
    let mut all = Vec::new();
    for ladder in [study.design.ladder.clone()].into_iter().chain(shared.map(Some)) {
        // Blocks of shared servers are cheap, and each server adds one value of luck.
        let most = if ladder == study.design.ladder { study.sampling.trials } else { MOST_BLOCKS };
        let blocks = FEWEST_BLOCKS..=most.max(study.sampling.trials).max(FEWEST_BLOCKS);
        for (rungs, part) in shapes.iter().copied() {
            let smaller = |enough: &bool| {
                let mut smaller = with_rungs(study, rungs);
                smaller.design.ladder.clone_from(&ladder);
                shorten(&mut smaller, part);
                smaller.design.warms_up_enough = *enough;
                smaller
            };
            all.push(Alike { blocks: blocks.clone(), studies: enough.iter().map(smaller).collect() });
        }
    }
    all
}

/// The factors whose levels may share a server here; none if no factor's may, if the study sets a ladder itself, or if
/// a pilot chooses its counts.
fn shared(study: &Study, conditions: &[Condition]) -> Option<String> {
    if study.design.ladder.is_some() || study.sampling.target_half_width.is_some() {
        return None;
    }
    let reads = conditions.iter().all(|condition| !condition.settings.workload.load.load().writes());
    let may = |name: &str| CLIENTS.contains(&name) || (reads && READERS.contains(&name));
    let mut names: Vec<&str> = Vec::new();
    for factor in study.factors.iter().chain(study.conditions.iter().flatten()) {
        if may(&factor.name) && !names.contains(&factor.name.as_str()) {
            names.push(&factor.name);
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}

fn shorten(study: &mut Study, part: f64) {
    let in_runs = study.base.workload.load.load().warms_up_in_runs();
    let sampling = &mut study.sampling;
    if in_runs {
        let by_server = study.question == Some(Question::Spread);
        let fewest = if by_server { FEWEST_OF_A_SERVER } else { FEWEST_SAMPLES }.min(sampling.samples);
        sampling.samples = ((sampling.samples as f64 * part).round() as usize).max(fewest);
        return;
    }
    let shorter = |seconds: f64, shortest: f64| (seconds * part).max(shortest.min(seconds));
    sampling.sample_s = shorter(sampling.sample_s, SHORTEST_S);
    sampling.warmup_s = shorter(sampling.warmup_s, SHORTEST_WARMUP_S);
    // If the data are read into memory first, that has already done what a warm-up that ends by time is for.
    if !study.base.workload.load.load().is_to_be_resident() {
        return;
    }
    for (_, limit_s) in study.load_keys.iter_mut().filter(|(key, _)| key == WARMUP_LIMIT) {
        if let Some(seconds) = limit_s.number() {
            *limit_s = shorter(seconds, SHORTEST_S).into();
            // Cannot fail: it was a number of seconds before, and a smaller one is valid too.
            let _ = study.base.workload.load.load_mut().set(WARMUP_LIMIT, limit_s);
        }
    }
}

/// The study with at most `most` numbers of threads.
fn with_rungs(study: &Study, most: usize) -> Study {
    let mut study = study.clone();
    for factor in study.factors.iter_mut().filter(|factor| factor.name == "threads") {
        let kept: BTreeSet<usize> = first_rungs(factor.levels.len(), most).into_iter().collect();
        let levels = std::mem::take(&mut factor.levels).into_iter().enumerate();
        factor.levels = levels.filter(|(place, _)| kept.contains(place)).map(|(_, level)| level).collect();
    }
    study
}

/// The ends of a ladder, then the middle between them, and so on.
fn first_rungs(rungs: usize, most: usize) -> Vec<usize> {
    if rungs <= most {
        return (0..rungs).collect();
    }
    let mut kept = vec![0, rungs - 1];
    while kept.len() < most {
        kept.sort_unstable();
        let widest = kept.windows(2).max_by_key(|pair| pair[1] - pair[0]).map(|pair| (pair[0] + pair[1]).div_ceil(2));
        match widest.filter(|middle| !kept.contains(middle)) {
            Some(middle) => kept.push(middle),
            None => break,
        }
    }
    kept.sort_unstable();
    kept
}

fn kept(whole: &Plan, conditions: &[Condition]) -> Vec<PlannedCondition> {
    let names: BTreeSet<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
    whole.conditions.iter().filter(|c| names.contains(c.name.as_str())).cloned().collect()
}

fn left_out(whole: &Study, cut: &Study) -> BTreeMap<String, Vec<String>> {
    let missing = |factor: &Factor| {
        let kept = cut.factors.iter().find(|other| other.name == factor.name);
        factor.levels.iter().filter(|level| kept.is_none_or(|kept| !kept.has(level))).map(ToString::to_string).collect()
    };
    let all = whole.factors.iter().map(|factor| (factor.name.clone(), missing(factor)));
    all.filter(|(_, levels): &(_, Vec<String>)| !levels.is_empty()).collect()
}

/// Notes about what was cut and its cost, shown before the run starts.
fn notes(
    whole: &Study,
    cut: &Study,
    (all, made): (&Plan, &Plan),
    levels: &BTreeMap<String, Vec<String>>,
    rungs: Option<&Rungs>,
) -> Vec<String> {
    let (before, after) = (&whole.sampling, &cut.sampling);
    let mut changes = vec![format!("{} instead of {}", count(made.trials.len(), "trial"), all.trials.len())];
    let mut changed = |is: bool, what: String| changes.extend(is.then_some(what));
    // Where rungs are chosen anew, a condition is in some blocks only.
    let times = if rungs.is_some() { "blocks" } else { "per condition" };
    changed(before.trials != after.trials, format!("{} {times} instead of {}", after.trials, before.trials));
    changed(
        before.sample_s != after.sample_s,
        format!("samples of {:.0} s instead of {:.0} s", after.sample_s, before.sample_s),
    );
    changed(
        before.samples != after.samples,
        format!("{} per trial instead of {}", count(after.samples, "sample"), before.samples),
    );
    let shared = cut.design.ladder.as_ref().filter(|_| cut.design.ladder != whole.design.ladder);
    changed(
        shared.is_some(),
        format!(
            "one warm server per block for all levels of {}, which then share its luck, and no captures",
            shared.map_or("", |ladder| ladder)
        ),
    );
    for (factor, levels) in levels {
        changed(true, format!("{factor} {} left out", levels.join(", ")));
    }
    if let Some(Rungs { factor, at_once, .. }) = rungs {
        let of = whole.factors.iter().find(|known| known.name == *factor).map_or(0, |known| known.levels.len());
        let stage = rungs::STAGE;
        changed(
            true,
            format!("{at_once} of {of} {factor} per block, every {stage} blocks those around the best so far"),
        );
    }
    let warm = |study: &Study| study.load_keys.iter().find(|(key, _)| key == WARMUP_LIMIT).map(|(_, v)| v.to_string());
    if let (Some(was), Some(is)) = (warm(whole), warm(cut))
        && was != is
    {
        changed(true, format!("{is} s of warm-up instead of {was} s"));
    }
    for entry in enough_words(cut, &made.conditions) {
        changed(true, entry);
    }
    let shortened = format!("shortened to fit {}: {}", duration_at_most(made.estimated_s), changes.join("; "));
    std::iter::once(shortened).chain(power((whole, all), (cut, made))).collect()
}

/// What the cut plan and the whole one show; none of a single condition, which is compared with nothing.
fn power((whole, all): (&Study, &Plan), (cut, made): (&Study, &Plan)) -> Option<String> {
    let compares = made.realizable().count() > 1;
    compares.then(|| {
        format!(
            "if servers differ by {} and samples of a minute by {}, this shows {} in four of five runs (the whole \
             study {})",
            percent(SERVERS_DIFFER),
            percent(SAMPLES_DIFFER),
            shown(cut, made),
            shown(whole, all)
        )
    })
}

/// The warm-ups that were limited to what is sufficient, in words, for settings that a condition here has.
fn enough_words(cut: &Study, conditions: &[PlannedCondition]) -> Vec<String> {
    let settings: Vec<Settings> =
        conditions.iter().filter(|c| c.realizable).filter_map(|c| from_values(&c.settings).ok()).collect();
    let is_met = |entry: &&Vec<Factor>| settings.iter().any(|settings| design::is_for(entry, settings));
    let entries = cut.enough.iter().filter(|_| cut.design.warms_up_enough).filter(is_met);
    let words = |entry: &Vec<Factor>| {
        let (runs, of): (Vec<&Factor>, Vec<&Factor>) = entry.iter().partition(|factor| factor.name == WARMUP_RUNS);
        let word = |factor: &&Factor| {
            let levels: Vec<String> = factor.levels.iter().map(ToString::to_string).collect();
            format!("{}={}", factor.name, levels.join(","))
        };
        let of: Vec<String> = of.iter().map(word).collect();
        let all = if of.is_empty() { "all settings".to_owned() } else { of.join(" ") };
        let runs = runs.first()?.levels.first()?.number()?;
        Some(format!("at most {} of warm-up with {all}", count(runs as usize, "run")))
    };
    entries.filter_map(words).collect()
}

/// The smallest change that is detected with 80% probability, in words.
fn shown(study: &Study, plan: &Plan) -> String {
    match (smallest(study, &plan.conditions), &study.question) {
        (None, _) => "nothing".to_owned(),
        (Some(change), _) if change > 9.0 => "no difference below 10x".to_owned(),
        (Some(change), Some(Question::Scaling)) => format!("a step of {} or more", percent(change)),
        (Some(change), Some(Question::Spread)) => format!("a spread {:.1} times as large or larger", 1.0 + change),
        (Some(change), _) => format!("a difference of {} or more", percent(change)),
    }
}

/// The smallest change as a fraction; none from a single block. Its tests share the probability of a false alarm.
fn smallest(study: &Study, conditions: &[PlannedCondition]) -> Option<f64> {
    const ANSWER: f64 = 0.02;
    let blocks = study.sampling.trials as f64;
    let realizable: Vec<&PlannedCondition> = conditions.iter().filter(|c| c.realizable).collect();
    let numbers = |factor: &str| realizable.iter().filter_map(|c| c.levels.get(factor)).collect::<BTreeSet<_>>().len();
    let count = realizable.len() as f64;
    let in_runs = study.base.workload.load.load().warms_up_in_runs();
    let measured_s = study.sampling.samples as f64 * if in_runs { 60.0 } else { study.sampling.sample_s };
    let (servers, samples) = (SERVERS_DIFFER.powi(2), SAMPLES_DIFFER.powi(2) * 60.0 / measured_s.max(1.0));
    let own = servers + samples;
    let over = ["nodes", "caches", "threads"].into_iter().map(|over| (over, numbers(over))).find(|(_, n)| *n > 1);
    let (variance, df, tests) = match (&study.question, over) {
        (Some(Question::Spread), _) => {
            // The logarithm of the ratio of two standard deviations, with half of the conditions on either side.
            let df = (count / 2.0).floor() * (blocks - 1.0);
            let factors = study.factors.len().max(1) as f64;
            (1.0 / df, if df >= 1.0 { f64::from(u32::MAX) } else { 0.0 }, factors)
        }
        (Some(Question::Scaling), Some((over, rungs))) => {
            let loads = numbers("workload").max(1) as f64;
            let of_factor = |c: &PlannedCondition| {
                c.levels.iter().filter(|(name, _)| *name != over).map(|(_, level)| level.clone()).collect()
            };
            let all: BTreeSet<Vec<String>> = realizable.iter().map(|c| of_factor(c)).collect();
            let ladders = all.len() as f64 / loads;
            let shares = study.design.ladder.is_some() && ladders > 1.0;
            let tests = 2.0 * loads * (rungs - 1) as f64;
            match shares {
                true => (2.0 * (servers + samples / ladders) / blocks, blocks - 1.0, tests),
                false => (2.0 * own / (blocks * ladders), ladders * (blocks - 1.0), tests),
            }
        }
        _ => {
            // Each load with conditions to compare is answered separately.
            let loads = LOADS.map(numbers).into_iter().max().unwrap_or(0) as f64;
            let by_load = study.question == Some(Question::Effect) && loads > 1.0 && count >= 2.0 * loads;
            let (loads, compared) = if by_load { (loads, count / loads) } else { (1.0, count) };
            let df = (blocks - 1.0) * if blocks >= POOLED_BLOCKS { (compared - 1.0).max(1.0) } else { 1.0 };
            let few = if blocks < 3.0 { TWO_TRIALS } else { 1.0 };
            (2.0 * own / blocks, df, few * loads * compared * (compared - 1.0) / 2.0)
        }
    };
    (df >= 1.0).then(|| smallest_shown(variance.sqrt(), df, ANSWER / tests.max(1.0)))
}

#[cfg(test)]
#[path = "within_tests.rs"]
mod tests;
