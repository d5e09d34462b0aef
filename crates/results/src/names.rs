//! Sanitizes names from files (conditions, levels, metrics, threads, versions and times) to one line of plain text
//! each, so that tables, pictures, logs of CI systems and other formats need not do it.

use super::schema::{Environment, Levels, Plan, Race, SampleRecord, Settle, TrialRecord};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tare_text::shown_name;

pub(super) fn of_trial(trial: &mut TrialRecord) {
    plain(&mut trial.condition);
    plain(&mut trial.started_at);
    trial.server_version.iter_mut().for_each(plain);
    trial.ran_on.iter_mut().for_each(|ran_on| plain(&mut ran_on.host));
    levels(&mut trial.levels);
    trial.samples.iter_mut().chain(&mut trial.dropped).for_each(of_sample);
    keys(&mut trial.warm_up);
    keys(&mut trial.plans);
    trial.client_programs = trial.client_programs.iter().map(|sha1| shown_name(sha1).into_owned()).collect();
}

fn of_sample(sample: &mut SampleRecord) {
    plain(&mut sample.started_at);
    keys(&mut sample.metrics);
    keys(&mut sample.covariates);
    keys(&mut sample.histograms);
    sample.threads.iter_mut().for_each(|thread| plain(&mut thread.name));
}

pub(super) fn of_plan(plan: &mut Plan) {
    plain(&mut plan.study);
    for condition in &mut plan.conditions {
        plain(&mut condition.name);
        levels(&mut condition.levels);
    }
    plan.factors.iter_mut().for_each(plain);
    plan.trials.iter_mut().for_each(|trial| plain(&mut trial.condition));
    if let Some(Settle { a, b, metric, controls, duet, .. }) = &mut plan.settle {
        let duet = duet.iter_mut().flat_map(|duet| [&mut duet.a, &mut duet.b]);
        [a, b].into_iter().chain(duet).chain(metric).chain(controls).for_each(plain);
    }
    if let Some(Race { candidates, metric, .. }) = &mut plan.race {
        candidates.iter_mut().chain(metric).for_each(plain);
    }
}

pub(super) fn of_environment(environment: &mut Environment) {
    let Environment { tare_version, kernel, cpu_model, hypervisor, os, .. } = environment;
    [tare_version, kernel, cpu_model, os].into_iter().chain(hypervisor).for_each(plain);
}

fn plain(name: &mut String) {
    if let Cow::Owned(other) = shown_name(name) {
        *name = other;
    }
}

fn levels(levels: &mut Levels) {
    keys(levels);
    levels.values_mut().for_each(plain);
}

fn keys<V>(map: &mut BTreeMap<String, V>) {
    if map.keys().all(|name| matches!(shown_name(name), Cow::Borrowed(_))) {
        return;
    }
    *map = std::mem::take(map).into_iter().map(|(name, value)| (shown_name(&name).into_owned(), value)).collect();
}

/// Parses `aslr=on ahi=off` into levels; empty if any word is not of that form.
pub fn levels_of(condition: &str) -> Levels {
    let mut levels = Levels::new();
    for word in condition.split_whitespace() {
        match word.split_once('=') {
            Some((factor, level)) if !factor.is_empty() && !level.is_empty() => {
                levels.insert(factor.to_owned(), level.to_owned());
            }
            _ => return Levels::new(),
        }
    }
    levels
}

/// The factors of conditions in the order in which their names have them: of a CSV file, and of a plan from before
/// plans had [`Plan::factors`].
pub(super) fn factors_in<'c>(conditions: impl Iterator<Item = (&'c str, &'c Levels)>) -> Vec<String> {
    let mut found: Vec<&String> = Vec::new();
    for (name, levels) in conditions {
        // A level may have blanks and other factors' names, as a command has, so a factor is a word before `=`.
        let words = format!(" {name}");
        let place = |factor: &str| words.find(&format!(" {factor}=")).unwrap_or(usize::MAX);
        let mut new: Vec<&String> = levels.keys().filter(|factor| !found.contains(factor)).collect();
        new.sort_by_key(|factor| place(factor));
        found.extend(new);
    }
    found.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::Rule;
    use crate::schema::{Duet, PlannedTrial};

    #[test]
    fn every_name_of_a_record_is_one_line_of_plain_text() {
        let hostile = "a\n::stop-commands::x\u{1b}[2J";
        let planned = PlannedTrial { trial: 0, block: 0, condition: hostile.into(), lifetime: None };
        let levels = Levels::from([(hostile.into(), hostile.into())]);
        let mut trial = TrialRecord::new(&planned, 1, levels, String::new());
        trial.started_at = hostile.into();
        trial.samples.push(SampleRecord {
            elapsed_s: 0.0,
            started_at: hostile.into(),
            metrics: BTreeMap::from([(hostile.into(), 1.0)]),
            covariates: BTreeMap::from([(hostile.into(), 1.0)]),
            ..SampleRecord::default()
        });
        of_trial(&mut trial);
        let shown = "a\\u{a}::stop-commands::x\\u{1b}[2J";
        assert_eq!([&trial.condition, &trial.started_at, &trial.samples[0].started_at], [shown; 3]);
        assert_eq!(trial.levels, Levels::from([(shown.into(), shown.into())]));
        assert_eq!(trial.samples[0].metrics, BTreeMap::from([(shown.into(), 1.0)]));
        assert_eq!(trial.samples[0].covariates, BTreeMap::from([(shown.into(), 1.0)]));
    }

    #[test]
    fn names_in_the_rule_of_a_plan_are_sanitized_like_its_conditions() {
        let hostile = "a\n::stop-commands::x";
        let shown = "a\\u{a}::stop-commands::x";
        let sides = [hostile.to_owned(), hostile.to_owned()];
        let duet = Some(Duet { a: hostile.into(), b: hostile.into() });
        let rule = Settle::between(sides, Rule::Anytime, 1);
        let rule = Settle { metric: Some(hostile.into()), controls: vec![hostile.into()], duet, ..rule };
        let mut plan = Plan { settle: Some(rule), ..Plan::default() };
        of_plan(&mut plan);
        let rule = plan.settle.unwrap();
        let duet = rule.duet.unwrap();
        assert_eq!([&rule.a, &rule.b, &duet.a, &duet.b, &rule.controls[0], &rule.metric.unwrap()], [shown; 6]);
    }

    #[test]
    fn a_condition_of_words_with_equal_signs_is_its_levels() {
        let levels = levels_of("aslr=on  ahi=off");
        assert_eq!(levels.get("aslr").map(String::as_str), Some("on"));
        assert_eq!(levels.get("ahi").map(String::as_str), Some("off"));
        assert!(levels_of("plain name").is_empty());
        assert!(levels_of("a=1 plain").is_empty());
        assert_eq!(levels_of("options=x=1").get("options").map(String::as_str), Some("x=1"));
    }

    #[test]
    fn factors_keep_the_order_of_the_names_even_if_one_ends_like_another() {
        let (first, second) = ("max_rows=1 command=./x --rows 2 rows=3", "rows=1 added=1");
        let levels = |factors: &[&str]| factors.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let of: [Levels; 2] = [levels(&["command", "max_rows", "rows"]), levels(&["added", "rows"])];
        let found = factors_in([(first, &of[0]), (second, &of[1])].into_iter());
        assert_eq!(found, ["max_rows", "command", "rows", "added"]);
    }
}
