//! Predicts what will be run and how long it takes: written before the first trial, and never changed afterwards.

use crate::cli::ab_together::by_turns;
use crate::cli::study_file::planned;
use crate::cli::{Exit, Problem};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Instant;
use tare_results::claim::{
    Cannot, Claim, Experiment, Measure, PREDICTIONS, PREDICTIONS_SCHEMA, Predicted, Predictions,
};
use tare_results::schema::Plan;
use tare_study::claims::{cannot, fitted, missing, narrow, too_old};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::Machine;

/// Fewest blocks with which every measure has an interval.
const FEWEST: usize = 4;
/// Fewest blocks for spreads: with four trials each, the ratio of two equal ones is known to a factor of four, which is
/// wider than any range.
const FEWEST_FOR_SPREADS: usize = 8;
/// Most blocks of an experiment, however much time is given.
const MOST: usize = 200;

/// The share of the given time that is planned for: trials may take longer than expected, and results are written.
pub(crate) const PLANNED: f64 = 0.9;

#[derive(Clone, Copy)]
pub(crate) struct On<'m> {
    /// The machine that is planned for: this one or a described one.
    pub machine: &'m Machine,
    pub place: Where,
    pub servers: &'m Path,
}

/// An experiment that can be run, with the parts of its duration.
struct Costed {
    predicted: Predicted,
    /// Seconds that do not depend on the number of blocks.
    fixed_s: f64,
    block_s: f64,
}

/// Every experiment with its number of blocks. If the time is too short for all, the first ones are run, each with the
/// fewest blocks that can decide something. All of the remaining time is shared among them, in proportion to the blocks
/// that they have by default.
pub(crate) fn all(experiments: Vec<Experiment>, on: On<'_>, within_s: Option<f64>) -> Result<Vec<Predicted>, Problem> {
    let begun = Instant::now();
    let mut costed = experiments.into_iter().map(|e| costed(e, on)).collect::<Result<Vec<_>, _>>()?;
    if let Some(within_s) = within_s {
        // Each experiment is planned again when it begins.
        fit(&mut costed, PLANNED * (within_s - 2.0 * begun.elapsed().as_secs_f64()).max(0.0));
    }
    Ok(costed
        .into_iter()
        .map(|Costed { mut predicted, fixed_s, block_s }| {
            // If left out: the shortest time that the experiment would take; 0 if it cannot be tested.
            let fewest = fewest(&predicted.experiment);
            predicted.least_s = fixed_s + block_s * fewest as f64;
            predicted.expected_s = fixed_s + block_s * predicted.blocks.max(fewest) as f64;
            predicted
        })
        .collect())
}

fn costed(experiment: Experiment, on: On<'_>) -> Result<Costed, Problem> {
    let experiment = fitted(experiment, on.machine);
    let mut predicted = Predicted { blocks: 0, expected_s: 0.0, least_s: 0.0, cannot: BTreeMap::new(), experiment };
    let experiment = &predicted.experiment;
    if let Some(why) = missing(experiment, on.machine, on.servers, on.place == Where::Here) {
        predicted.cannot = experiment.claims.iter().map(|claim| (claim.name.clone(), why.clone())).collect();
        return Ok(Costed { predicted, fixed_s: 0.0, block_s: 0.0 });
    }
    let (study, whole) = plan(experiment, FEWEST, on)?;
    predicted.cannot = match too_old(&experiment.needs, &study).filter(|_| on.place == Where::Here) {
        Some(why) => experiment.claims.iter().map(|claim| (claim.name.clone(), why.clone())).collect(),
        None => cannot(experiment, &whole),
    };
    let testable = testable(experiment, &predicted.cannot);
    if testable.claims.is_empty() {
        return Ok(Costed { predicted, fixed_s: 0.0, block_s: 0.0 });
    }
    let few_s = match predicted.cannot.is_empty() {
        true => whole.estimated_s,
        false => plan(&testable, FEWEST, on)?.1.estimated_s,
    };
    let twice_s = plan(&testable, 2 * FEWEST, on)?.1.estimated_s;
    let block_s = (twice_s - few_s) / FEWEST as f64;
    let fixed_s = (few_s - block_s * FEWEST as f64).max(0.0);
    predicted.blocks = experiment.blocks.max(fewest(experiment));
    Ok(Costed { predicted, fixed_s, block_s })
}

/// The least time in which a claim can be decided.
#[derive(Debug)]
pub(crate) struct Shortest {
    pub claim: String,
    /// A time that may be given for it, seconds.
    pub within_s: f64,
}

/// If no experiment fits into the given time: the claim of the shortest one that takes least, tested alone. None if no
/// claim can be tested here.
pub(crate) fn too_short(predicted: &[Predicted], within_s: Option<f64>, on: On<'_>) -> Option<Shortest> {
    within_s.filter(|_| predicted.iter().all(|own| own.blocks == 0))?;
    let is_testable = |own: &&Predicted| own.cannot.len() < own.experiment.claims.len();
    let first = predicted.iter().filter(is_testable).min_by(|a, b| a.least_s.total_cmp(&b.least_s))?;
    let alone = |claim: &Claim| {
        let begun = Instant::now();
        let experiment = Experiment { claims: vec![claim.clone()], ..first.experiment.clone() };
        let least_s = plan(&experiment, fewest(&experiment), on).ok()?.1.estimated_s;
        // Its cost is found by three plans, twice; a second more than that leaves room for a busy machine.
        let planning_s = 6.0 * begun.elapsed().as_secs_f64();
        Some(Shortest { claim: claim.name.clone(), within_s: (least_s / PLANNED + planning_s + 1.0).ceil() })
    };
    let all = testable(&first.experiment, &first.cannot).claims;
    all.iter().filter_map(alone).min_by(|a, b| a.within_s.total_cmp(&b.within_s))
}

/// Fewest blocks that can decide something about the claims of an experiment.
fn fewest(experiment: &Experiment) -> usize {
    let is_spread = |claim: &Claim| {
        matches!(claim.measure, Measure::SpreadRatio | Measure::LargestSpreadRatio | Measure::BetweenCov)
    };
    if experiment.claims.iter().any(is_spread) { FEWEST_FOR_SPREADS } else { FEWEST }
}

fn fit(costed: &mut [Costed], within_s: f64) {
    let mut left_s = within_s;
    for own in costed.iter_mut().filter(|own| own.predicted.blocks > 0) {
        let least_s = own.fixed_s + own.block_s * fewest(&own.predicted.experiment) as f64;
        if least_s <= left_s {
            left_s -= least_s;
        } else {
            own.predicted.blocks = 0;
        }
    }
    // An experiment with all blocks that it may have leaves the rest of its share to the others.
    let mut growing: Vec<&mut Costed> = costed.iter_mut().filter(|own| own.predicted.blocks > 0).collect();
    loop {
        let further = |own: &Costed| {
            let experiment = &own.predicted.experiment;
            experiment.blocks.saturating_sub(fewest(experiment)).max(1) as f64
        };
        let whole_s: f64 = growing.iter().map(|own| own.block_s * further(own)).sum();
        let share = left_s / whole_s;
        let most = |own: &Costed| MOST - fewest(&own.predicted.experiment);
        let is_full = |own: &&mut Costed| further(own) * share >= most(own) as f64;
        let (full, rest): (Vec<_>, Vec<_>) = growing.into_iter().partition(is_full);
        if full.is_empty() {
            for own in rest {
                own.predicted.blocks = fewest(&own.predicted.experiment) + (further(own) * share) as usize;
            }
            return;
        }
        for own in full {
            left_s -= own.block_s * most(own) as f64;
            own.predicted.blocks = MOST;
        }
        growing = rest;
    }
}

/// An experiment with only those claims that can be tested.
pub(crate) fn testable(experiment: &Experiment, cannot: &BTreeMap<String, Cannot>) -> Experiment {
    let claims: Vec<Claim> =
        experiment.claims.iter().filter(|claim| !cannot.contains_key(&claim.name)).cloned().collect();
    Experiment { claims, ..experiment.clone() }
}

pub(crate) fn plan(experiment: &Experiment, blocks: usize, on: On<'_>) -> Result<(Study, Plan), Problem> {
    let study = narrow(experiment, blocks, on.servers).map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
    if !experiment.interleave {
        return planned(study, on.machine, on.place, true);
    }
    let (study, plan) = planned(by_turns(study)?, on.machine, on.place, true)?;
    let plan = settle::against_first(plan, blocks, &study, on.machine.pus.len());
    Ok((study, plan))
}

const ANEW: &str = "resume with the version of tare that began this run, or begin another with --out DIR";

pub(crate) fn read(bytes: &[u8]) -> Result<Predictions, Problem> {
    let predictions: Predictions = serde_json::from_slice(bytes)
        .map_err(|e| Problem::new(Exit::Usage, format!("cannot read {PREDICTIONS}: {e}")).advice(ANEW))?;
    if !(1..=PREDICTIONS_SCHEMA).contains(&predictions.schema) {
        let found = predictions.schema;
        return Err(Problem::new(Exit::Usage, format!("these predictions have schema {found}"))
            .expected(format!("1 to {PREDICTIONS_SCHEMA}"))
            .advice(ANEW));
    }
    // The name of each experiment also names its directory.
    let is_one_name = |name: &str| {
        let mut parts = Path::new(name).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
    };
    match predictions.experiments.iter().find(|one| !is_one_name(&one.experiment.name)) {
        Some(one) => {
            Err(Problem::new(Exit::Usage, format!("{:?} is not a valid name for an experiment", one.experiment.name))
                .expected("a name that can be used for a folder"))
        }
        None => Ok(predictions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costed(wanted: usize, fixed_s: f64, block_s: f64) -> Costed {
        let all = tare_study::claims::all().unwrap().experiments;
        let mut experiment = tare_study::claims::chosen(&all, "far-client").unwrap().remove(0);
        experiment.blocks = wanted;
        let predicted =
            Predicted { experiment, blocks: wanted, expected_s: 0.0, least_s: 0.0, cannot: BTreeMap::new() };
        Costed { predicted, fixed_s, block_s }
    }

    #[test]
    fn a_time_limit_is_never_exceeded_and_experiments_that_do_not_fit_are_omitted() {
        let blocks = |within_s: f64| {
            let mut all = [costed(10, 10.0, 10.0), costed(14, 5.0, 20.0), costed(8, 0.0, 1000.0), costed(6, 0.0, 2.0)];
            fit(&mut all, within_s);
            let spent_s: f64 = all
                .iter()
                .filter(|own| own.predicted.blocks > 0)
                .map(|own| own.fixed_s + own.block_s * own.predicted.blocks as f64)
                .sum();
            assert!(spent_s <= within_s, "{spent_s} s of {within_s}");
            all.map(|own| own.predicted.blocks)
        };
        assert_eq!(blocks(1e6), [200; 4]);
        // The third takes at least 4,000 s. The others get 1.7 times the 264 s that their blocks beyond the fewest take
        // by default.
        assert_eq!(blocks(600.0), [14, 21, 0, 7]);
        // At most 200 of the second; the others share the rest.
        assert_eq!(blocks(4143.0 + 90_000.0), [131, 200, 88, 46]);
        // At least 143 s for the three, and 60% of the 264 s that their further blocks would take.
        assert_eq!(blocks(300.0), [7, 9, 0, 5]);
        assert_eq!(blocks(55.0), [4, 0, 0, 0]);
        assert_eq!(blocks(1.0), [0, 0, 0, 0]);
    }

    #[test]
    fn spreads_have_twice_as_many_blocks_or_none() {
        let mut one = [costed(10, 0.0, 10.0)];
        one[0].predicted.experiment.claims[0].measure = Measure::SpreadRatio;
        let mut blocks = |within_s: f64| {
            one[0].predicted.blocks = 10;
            fit(&mut one, within_s);
            one[0].predicted.blocks
        };
        assert_eq!([blocks(79.0), blocks(80.0), blocks(100.0), blocks(1000.0)], [0, 8, 10, 100]);
    }

    #[test]
    fn an_experiment_whose_name_is_a_path_is_refused() {
        let named = |name: &str| {
            let mut predicted = costed(1, 0.0, 1.0).predicted;
            name.clone_into(&mut predicted.experiment.name);
            let servers = Path::new("/servers").to_owned();
            let (schema, written, tare) = (PREDICTIONS_SCHEMA, "now".to_owned(), "0".to_owned());
            let all = Predictions { schema, written, tare, servers, within_s: None, experiments: vec![predicted] };
            read(&serde_json::to_vec(&all).unwrap()).is_ok()
        };
        assert!(named("counters"));
        for elsewhere in ["../../victim", "/etc", "..", "", "a/b"] {
            assert!(!named(elsewhere), "{elsewhere}");
        }
    }
}
