//! A plan cut to a time: what the question needs least goes first, and what went is kept with the plan.
//!
//! In this order, until it fits: samples get shorter, conditions share a warm server where they can, the middle rungs of
//! a long ladder of threads are left out (its ends stay, halves are halved again), and blocks get fewer. A block stays
//! whole, so that whatever is left compares all that it measures.

use super::design::{self, Condition};
use super::{estimate, ladder, resolve};
use crate::language::spec::{Factor, Study};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::question::Question;
use tare_results::schema::{Plan, PlannedCondition, Within};
use tare_stats::pooled::smallest_shown;
use tare_text::percent;

/// Blocks below which nothing can be told from luck.
const FEWEST_BLOCKS: usize = 2;
/// Rungs of threads that a ladder may come down to.
const RUNGS: [usize; 4] = [usize::MAX, 7, 5, 3];
/// What a sample may come down to, as a part of its length.
const SHORTER: [f64; 4] = [1.0, 0.5, 0.25, 0.125];
/// Seconds below which no sample and no warm-up comes by that.
const SHORTEST_S: f64 = 10.0;
const SHORTEST_WARMUP_S: f64 = 2.0;
/// Runs of a load that counts them, at least.
const FEWEST_SAMPLES: usize = 3;
/// Factors whose levels any server can have one after the other.
const CLIENTS: [&str; 2] = ["threads", "client"];
/// Those too where no load changes the data.
const READERS: [&str; 2] = ["workload", "distribution"];
/// What servers are taken to differ by, and samples of a minute on one of them: what many studies have shown, and what
/// is said with every figure that rests on it.
const SERVERS_DIFFER: f64 = 0.02;
const SAMPLES_DIFFER: f64 = 0.01;

/// Why a time is too short.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TooShort {
    /// Nothing that answers anything fits.
    #[error(
        "the least that answers anything takes {}, {} of that for the data, and {} were given",
        minutes(*least_s), minutes(*data_s), minutes(*asked_s)
    )]
    Least {
        /// What the smallest plan takes, seconds.
        least_s: f64,
        /// The part of it for making the data, seconds.
        data_s: f64,
        /// What was given, seconds.
        asked_s: f64,
    },
    /// A cut study cannot be planned.
    #[error("{0}")]
    Plan(String),
}

fn minutes(seconds: f64) -> String {
    format!("{:.0} min", (seconds / 60.0).ceil())
}

/// The study and its plan cut to `sampling.within_s`; as they are where they fit, or no time is given. `plan` makes the
/// plan of a study.
///
/// # Errors
/// [`TooShort`].
pub fn fit(
    study: Study,
    whole: Plan,
    cpus: usize,
    plan: impl Fn(&Study) -> Result<Plan, String>,
) -> Result<(Study, Plan), TooShort> {
    let Some(asked_s) = study.sampling.within_s else { return Ok((study, whole)) };
    let cut = |levels| Within {
        asked_s,
        whole_s: whole.estimated_s,
        whole_trials: whole.trials.len(),
        levels,
        stopped: 0,
    };
    if whole.estimated_s <= asked_s {
        let within = Some(cut(BTreeMap::new()));
        return Ok((study, Plan { within, ..whole }));
    }
    let conditions = design::conditions(&study).map_err(TooShort::Plan)?;
    let trials_s = estimate::trials_s(&whole.trials, &conditions, &study.sampling, cpus);
    let data_s = (whole.estimated_s - trials_s).max(0.0);
    let mut least_s = f64::INFINITY;
    for candidate in candidates(&study, &conditions) {
        let cut_conditions = design::conditions(&candidate).map_err(TooShort::Plan)?;
        let expected_s = data_s + expected_s(&candidate, &whole, &cut_conditions, cpus);
        least_s = least_s.min(expected_s);
        if expected_s > asked_s {
            continue;
        }
        let made = plan(&candidate).map_err(TooShort::Plan)?;
        let before = realizable(&whole, &cut_conditions);
        // Where conditions turn out not to be able to share a server, they are not left out for it.
        if made.estimated_s > asked_s || made.conditions.iter().filter(|c| c.realizable).count() < before {
            continue;
        }
        let levels = left_out(&study, &candidate);
        let notes = notes(&study, &candidate, &whole, &made, &levels);
        let notes = notes.into_iter().chain(made.notes.clone()).collect();
        return Ok((candidate, Plan { within: Some(cut(levels)), notes, ..made }));
    }
    Err(TooShort::Least { least_s, data_s, asked_s })
}

/// Smaller and smaller studies, in the order in which they are preferred.
fn candidates(study: &Study, conditions: &[Condition]) -> impl Iterator<Item = Study> {
    let own = study.sampling.trials;
    let mut blocks: Vec<usize> = [own, 7, 5, 4, 3, FEWEST_BLOCKS].into_iter().filter(|n| *n <= own.max(2)).collect();
    blocks.dedup();
    let shared = shared(study, conditions);
    let ladders: Vec<Option<String>> = [study.design.ladder.clone()].into_iter().chain(shared.map(Some)).collect();
    let study = study.clone();
    blocks.into_iter().flat_map(move |trials| {
        let (study, ladders) = (study.clone(), ladders.clone());
        ladders.into_iter().flat_map(move |ladder| {
            let study = study.clone();
            RUNGS.into_iter().flat_map(move |rungs| {
                let (study, ladder) = (study.clone(), ladder.clone());
                SHORTER.into_iter().map(move |part| {
                    let mut smaller = with_rungs(&study, rungs);
                    smaller.sampling.trials = trials;
                    smaller.design.ladder.clone_from(&ladder);
                    shorten(&mut smaller, part);
                    smaller
                })
            })
        })
    })
}

/// The factors whose levels may share a server here; none where no factor's may, or the study says so itself.
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
        let fewest = FEWEST_SAMPLES.min(sampling.samples);
        sampling.samples = ((sampling.samples as f64 * part).ceil() as usize).max(fewest);
        return;
    }
    let shorter = |seconds: f64, shortest: f64| (seconds * part).max(shortest.min(seconds));
    sampling.sample_s = shorter(sampling.sample_s, SHORTEST_S);
    sampling.warmup_s = shorter(sampling.warmup_s, SHORTEST_WARMUP_S);
}

/// At most so many numbers of threads, where these are not what the study is about alone.
fn with_rungs(study: &Study, most: usize) -> Study {
    let mut study = study.clone();
    for factor in study.factors.iter_mut().filter(|factor| factor.name == "threads") {
        let kept: BTreeSet<usize> = first_rungs(factor.levels.len(), most).into_iter().collect();
        let levels = std::mem::take(&mut factor.levels).into_iter().enumerate();
        factor.levels = levels.filter(|(place, _)| kept.contains(place)).map(|(_, level)| level).collect();
    }
    study
}

/// The ends of a ladder, then the middle of what lies between, and so on.
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

fn realizable(whole: &Plan, conditions: &[Condition]) -> usize {
    let names: BTreeSet<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
    whole.conditions.iter().filter(|c| c.realizable && names.contains(c.name.as_str())).count()
}

/// Seconds of the trials of a smaller study, without a plan of its own.
fn expected_s(study: &Study, whole: &Plan, conditions: &[Condition], cpus: usize) -> f64 {
    let names: BTreeSet<&str> = conditions.iter().map(|condition| condition.name.as_str()).collect();
    let kept = whole.conditions.iter().filter(|c| names.contains(c.name.as_str()));
    let kept: Vec<PlannedCondition> = kept.cloned().collect();
    estimate::trials_s(&resolve::scheduled(study, &kept), conditions, &study.sampling, cpus)
}

fn left_out(whole: &Study, cut: &Study) -> BTreeMap<String, Vec<String>> {
    let missing = |factor: &Factor| {
        let kept = cut.factors.iter().find(|other| other.name == factor.name);
        factor.levels.iter().filter(|level| kept.is_none_or(|kept| !kept.has(level))).map(ToString::to_string).collect()
    };
    let all = whole.factors.iter().map(|factor| (factor.name.clone(), missing(factor)));
    all.filter(|(_, levels): &(_, Vec<String>)| !levels.is_empty()).collect()
}

/// What was cut and what that costs, in words for people before it starts.
fn notes(whole: &Study, cut: &Study, all: &Plan, made: &Plan, levels: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let (before, after) = (&whole.sampling, &cut.sampling);
    let mut changes = vec![format!("{} trials in place of {}", made.trials.len(), all.trials.len())];
    let mut changed = |is: bool, what: String| changes.extend(is.then_some(what));
    changed(before.trials != after.trials, format!("{} a condition in place of {}", after.trials, before.trials));
    changed(
        before.sample_s != after.sample_s,
        format!("samples of {:.0} s in place of {:.0} s", after.sample_s, before.sample_s),
    );
    changed(
        before.samples != after.samples,
        format!("{} samples a trial in place of {}", after.samples, before.samples),
    );
    let shared = cut.design.ladder.as_ref().filter(|_| cut.design.ladder != whole.design.ladder);
    changed(
        shared.is_some(),
        format!(
            "one warm server a block for all levels of {}, which then share its luck, and no captures",
            shared.map_or("", |ladder| ladder)
        ),
    );
    for (factor, levels) in levels {
        changed(true, format!("{factor} {} left out", levels.join(", ")));
    }
    let power = format!(
        "if servers differ by {} and samples of a minute by {}, this shows {} (the whole study {})",
        percent(SERVERS_DIFFER),
        percent(SAMPLES_DIFFER),
        shown(cut, made),
        shown(whole, all)
    );
    vec![format!("cut to fit {}: {}", minutes(made.estimated_s), changes.join("; ")), power]
}

/// The smallest change that is shown four times in five.
fn shown(study: &Study, plan: &Plan) -> String {
    let what = match study.question {
        Some(Question::Scaling) => "a step of",
        _ => "a difference of",
    };
    match smallest(study, plan) {
        Some(change) => format!("{what} {} or more", percent(change)),
        None => "nothing".to_owned(),
    }
}

/// As a part of the whole; none from a single block. The answer's chance of a false alarm is spread over the steps of a
/// ladder or the conditions.
pub fn smallest(study: &Study, plan: &Plan) -> Option<f64> {
    const ANSWER: f64 = 0.02;
    const OFTEN: f64 = 0.8;
    let blocks = study.sampling.trials as f64;
    let realizable: Vec<&PlannedCondition> = plan.conditions.iter().filter(|c| c.realizable).collect();
    let numbers = |factor: &str| realizable.iter().filter_map(|c| c.levels.get(factor)).collect::<BTreeSet<_>>().len();
    let sample_s = study.sampling.sample_s * study.sampling.samples as f64;
    let (servers, samples) = (SERVERS_DIFFER.powi(2), SAMPLES_DIFFER.powi(2) * 60.0 / sample_s.max(1.0));
    let over = ["nodes", "caches", "threads"].into_iter().map(|over| (over, numbers(over))).find(|(_, n)| *n > 1);
    let (ladders, tests) = match (&study.question, over) {
        (Some(Question::Scaling), Some((over, rungs))) => {
            let loads = numbers("workload").max(1);
            let of_factor = |c: &PlannedCondition| c.levels.iter().filter(|(name, _)| *name != over).map(|(_, l)| l.clone()).collect();
            let all: BTreeSet<Vec<String>> = realizable.iter().map(|c| of_factor(c)).collect();
            (all.len() as f64 / loads as f64, 4 * loads * (rungs - 1))
        }
        _ => (1.0, realizable.len().saturating_sub(1).max(1)),
    };
    let shares = study.design.ladder.as_ref().is_some_and(|own| ladder::factors(own).any(|factor| factor == "threads"));
    let (variance, df) = match shares && ladders > 1.0 {
        true => (2.0 * (servers + samples / ladders) / blocks, blocks - 1.0),
        false => (2.0 * (servers + samples) / (blocks * ladders), ladders * (blocks - 1.0)),
    };
    (df >= 1.0).then(|| smallest_shown(variance.sqrt(), df, ANSWER / tests as f64, OFTEN))
}
