//! Combines factors and their levels into conditions.

use super::limits;
use crate::language::fields;
use crate::language::settings::Settings;
use crate::language::spec::{DesignKind, Factor, Study, WARMUP_RUNS};
use tare_results::factor;
use tare_results::schema::Levels;
use tare_text::Value;

/// One combination of levels, and the resulting settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// `factor=level` words in the order of the study.
    pub name: String,
    pub levels: Levels,
    pub settings: Settings,
}

/// All conditions of a study in its order. A study without factors has one, called `base`.
///
/// # Errors
/// What was expected, if a level is invalid; a parsed study has been checked for that.
pub fn conditions(study: &Study) -> Result<Vec<Condition>, String> {
    let combinations: Vec<Vec<(String, Value)>> = if study.conditions.is_empty() {
        match study.design.kind {
            DesignKind::FullFactorial => full(&study.factors),
            DesignKind::OneAtATime => one_at_a_time(&study.factors),
        }
    } else {
        study.entries().iter().flat_map(|factors| full(factors)).collect()
    };
    combinations.into_iter().map(|levels| condition(study, &levels)).collect()
}

pub(super) fn factors(study: &Study) -> Vec<String> {
    let mut names = Vec::new();
    for factor in study.entries().into_iter().flatten() {
        if !names.contains(&factor.name) {
            names.push(factor.name);
        }
    }
    names
}

fn condition(study: &Study, levels: &[(String, Value)]) -> Result<Condition, String> {
    limits::check_wanted()?;
    let mut settings = study.base.clone();
    // A named placement or build, or a workload, is applied as a whole; single keys refine it, wherever they are.
    let (whole, parts): (Vec<_>, Vec<_>) =
        levels.iter().partition(|(name, _)| matches!(name.as_str(), "placement" | "workload" | "build"));
    for (name, level) in whole.into_iter().chain(parts) {
        study.apply(&mut settings, name, level)?;
    }
    if study.design.warms_up_enough {
        warm_up_enough(study, &mut settings)?;
    }
    let words: Vec<String> = levels.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let name = if words.is_empty() { "base".to_owned() } else { words.join(" ") };
    Ok(Condition {
        name,
        levels: levels.iter().map(|(name, level)| (name.clone(), level.to_string())).collect(),
        settings,
    })
}

/// Limits the warm-up runs to what the study declares sufficient for such settings.
fn warm_up_enough(study: &Study, settings: &mut Settings) -> Result<(), String> {
    for entry in &study.enough {
        let own_runs = value(settings, WARMUP_RUNS).and_then(|runs| runs.number());
        let is_for = is_for(entry, settings);
        for enough in entry.iter().filter(|factor| factor.name == WARMUP_RUNS).flat_map(|factor| &factor.levels) {
            if is_for && enough.number() < own_runs {
                study.apply(settings, WARMUP_RUNS, enough)?;
            }
        }
    }
    Ok(())
}

/// Whether an entry of [`Study::enough`] applies to these settings.
pub(super) fn is_for(entry: &[Factor], settings: &Settings) -> bool {
    let mut chosen = entry.iter().filter(|factor| factor.name != WARMUP_RUNS);
    chosen.all(|factor| value(settings, &factor.name).is_some_and(|level| factor.has(&level)))
}

fn value(settings: &Settings, name: &str) -> Option<Value> {
    match factor::option(name) {
        Some(option) => settings.engine.options.get(option).map(|value| Value::of_word(value)),
        None => fields::factor(name).and_then(|field| field.get(settings)),
    }
}

fn full(factors: &[Factor]) -> Vec<Vec<(String, Value)>> {
    factors.iter().fold(vec![Vec::new()], |combinations, factor| {
        combinations
            .iter()
            .flat_map(|combination| {
                factor.levels.iter().map(move |level| {
                    let mut longer = combination.clone();
                    longer.push((factor.name.clone(), level.clone()));
                    longer
                })
            })
            .collect()
    })
}

/// The base (first level of each factor), then each other level alone.
fn one_at_a_time(factors: &[Factor]) -> Vec<Vec<(String, Value)>> {
    let base: Vec<(String, Value)> =
        factors.iter().filter_map(|f| Some((f.name.clone(), f.levels.first()?.clone()))).collect();
    let mut all = vec![base.clone()];
    for (i, factor) in factors.iter().enumerate() {
        for level in factor.levels.iter().skip(1) {
            let mut changed = base.clone();
            changed[i].1.clone_from(level);
            all.push(changed);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(name: &str, levels: &[&str]) -> Factor {
        Factor { name: name.into(), levels: levels.iter().map(|l| (*l).into()).collect() }
    }

    fn words(combination: &[(String, Value)]) -> String {
        combination.iter().map(|(n, l)| format!("{n}={l}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_full_factorial_has_every_combination_once() {
        let all = full(&[factor("a", &["1", "2"]), factor("b", &["x", "y", "z"])]);
        let names: Vec<String> = all.iter().map(|c| words(c)).collect();
        assert_eq!(names, ["a=1 b=x", "a=1 b=y", "a=1 b=z", "a=2 b=x", "a=2 b=y", "a=2 b=z"]);
    }

    #[test]
    fn one_at_a_time_changes_one_factor_from_the_base() {
        let all = one_at_a_time(&[factor("a", &["1", "2"]), factor("b", &["x", "y", "z"])]);
        let names: Vec<String> = all.iter().map(|c| words(c)).collect();
        assert_eq!(names, ["a=1 b=x", "a=2 b=x", "a=1 b=y", "a=1 b=z"]);
    }

    #[test]
    fn no_factors_make_one_condition() {
        assert_eq!(full(&[]), vec![Vec::new()]);
        assert_eq!(one_at_a_time(&[]), vec![Vec::new()]);
    }
}
