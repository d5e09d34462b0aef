//! Turns an experiment into a study: each condition that its claims need, once, and one of them twice.

use super::table::study_text;
use crate::language::document::{Source, StudyError};
use crate::language::parse::{Overrides, parse};
use crate::language::spec::{Design, Factor, SIDE, Study};
use std::path::Path;
use tare_results::claim::{Experiment, Measure};
use tare_results::schema::Levels;
use tare_text::Value;
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum NarrowError {
    #[error("experiment {experiment}: there is no built-in study {study}")]
    NoStudy { experiment: String, study: String },
    /// A key that the experiment changes does not fit the study.
    #[error(transparent)]
    Study(#[from] StudyError),
    #[error("claim {claim}: {factor} = {level}: expected {expected}")]
    Level { claim: String, factor: String, level: String, expected: String },
}

/// The study of an experiment, with `blocks` blocks. `servers` is the folder of the builds, each in a subfolder with
/// its name. If claims compare means, the condition that most of them use as the base is measured twice in the same
/// blocks, to compare the machine with itself.
pub fn narrow(experiment: &Experiment, blocks: usize, servers: &Path) -> Result<Study, NarrowError> {
    let text = study_text(&experiment.study)
        .ok_or_else(|| NarrowError::NoStudy { experiment: experiment.name.clone(), study: experiment.study.clone() })?;
    let overrides = Overrides { sets: experiment.set.clone(), ..Overrides::default() };
    let mut study = parse(Source { origin: &experiment.study, text }, &overrides)?;
    for (name, keys) in &experiment.builds {
        let own = [("name".to_owned(), product(name).into()), ("binary".to_owned(), program(name, servers))];
        let further = keys.iter().map(|(key, value)| (key.clone(), Value::of_word(value)));
        study.builds.insert(name.clone(), own.into_iter().chain(further).collect());
    }
    let repeated = most_common_start(experiment);
    let conditions = levels_of(experiment).into_iter().map(|levels| condition(levels, "a"));
    study.conditions = conditions.chain(repeated.map(|levels| condition(levels, "b"))).collect();
    study.name.clone_from(&experiment.name);
    study.question = None;
    study.factors = Vec::new();
    study.design = Design::default();
    study.sampling.trials = blocks;
    study.sampling.target_half_width = None;
    check(&study, experiment)?;
    Ok(study)
}

fn check(study: &Study, experiment: &Experiment) -> Result<(), NarrowError> {
    for claim in &experiment.claims {
        for levels in std::iter::once(&claim.a).chain(&claim.b) {
            let mut settings = study.base.clone();
            for factor in condition(levels, "a") {
                let level = factor.levels.first().cloned().unwrap_or_else(|| "".into());
                study.apply(&mut settings, &factor.name, &level).map_err(|expected| NarrowError::Level {
                    claim: claim.name.clone(),
                    factor: factor.name.clone(),
                    level: level.to_string(),
                    expected,
                })?;
            }
        }
    }
    Ok(())
}

/// Every condition once, in the order of the claims.
fn levels_of(experiment: &Experiment) -> Vec<&Levels> {
    let mut all: Vec<&Levels> = Vec::new();
    for levels in experiment.claims.iter().flat_map(|claim| std::iter::once(&claim.a).chain(&claim.b)) {
        if !all.contains(&levels) {
            all.push(levels);
        }
    }
    all
}

fn most_common_start(experiment: &Experiment) -> Option<&Levels> {
    let starts = || experiment.claims.iter().filter(|claim| claim.measure == Measure::Ratio).map(|claim| &claim.a);
    let count = |levels: &Levels| starts().filter(|other| *other == levels).count();
    // The first of equally frequent ones.
    starts().rev().max_by_key(|levels| count(levels))
}

/// A condition's levels as factors. The build, placement or load comes first, because the other levels refine it.
fn condition(levels: &Levels, side: &str) -> Vec<Factor> {
    const FIRST: [&str; 4] = ["engine", "build", "workload", "placement"];
    let factor = |name: &str, level: Value| Factor { name: name.to_owned(), levels: vec![level] };
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut own: Vec<(&String, &String)> = levels.iter().collect();
    own.sort_by_key(|(name, _)| rank(name));
    let own = own.into_iter().map(|(name, level)| factor(name, Value::of_word(level)));
    std::iter::once(factor(SIDE, side.into())).chain(own).collect()
}

/// The engine of a build: the beginning of its name.
fn product(build: &str) -> &str {
    build.split_once('-').map_or(build, |(product, _)| product)
}

/// The server program of a build: the first existing one of its usual names.
fn program(build: &str, servers: &Path) -> Value {
    let bin = servers.join(build).join("bin");
    let names: &[&str] = match product(build) {
        "postgresql" => &["postgres"],
        "mariadb" => &["mariadbd", "mysqld"],
        _ => &["mysqld"],
    };
    let found = names.iter().map(|name| bin.join(name)).find(|path| path.exists());
    let path = found.unwrap_or_else(|| bin.join(names[0]));
    Value::Text(path.to_string_lossy().into_owned())
}
