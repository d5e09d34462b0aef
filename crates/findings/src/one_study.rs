//! The study that measures two runs in one session: that of the first, with the key in which they differ as a factor.

use super::collect::ConditionTrials;
use std::collections::{BTreeMap, BTreeSet};
use tare_results::store::STUDY;
use tare_results::{Results, factor};
use tare_text::Value;

pub(super) const OPTIONS: &str = "engine.options.";
pub(super) const CAPTURE: &str = "capture.";
/// Sections of a study that say what is recorded and how often, and not what is measured.
const UNMEASURED: [&str; 2] = [CAPTURE, "sampling."];

/// One study for the conditions of several runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneStudy {
    /// The file of the first run's study.
    pub study: String,
    /// The key of a study in which the runs differ.
    pub key: String,
    /// Its value in each run, that of the first run first.
    pub levels: Vec<String>,
}

impl OneStudy {
    /// Arguments after `tare run`, the study first.
    pub fn arguments(&self) -> Vec<String> {
        let set = format!("factors.{}={}", factor_of(&self.key), self.levels.join(","));
        vec![self.study.clone(), "--set".to_owned(), set]
    }

    /// The study that measures a further run too; none if that differs from the first one in another key.
    pub(super) fn with(mut self, other: Self) -> Option<Self> {
        let same = self.study == other.study && self.key == other.key;
        let new = other.levels.into_iter().find(|level| !self.levels.contains(level));
        self.levels.extend(new);
        same.then_some(self)
    }
}

/// The factor that varies a key of a study.
pub(super) fn factor_of(key: &str) -> String {
    match key.strip_prefix(OPTIONS) {
        Some(option) => factor::of_option(option),
        None => key.split_once('.').map_or(key, |(_, name)| name).to_owned(),
    }
}

/// The file of a run's study; none if the results have no such file.
pub(super) fn study_of(results: &Results) -> Option<String> {
    results.study_toml.as_ref().map(|_| results.path.join(STUDY).display().to_string())
}

type Settings = BTreeMap<String, Value>;

fn settings<'r>(results: &'r Results, condition: &ConditionTrials<'_>) -> Option<&'r Settings> {
    let planned = results.plan.as_ref()?.conditions.iter().find(|planned| planned.name == condition.name);
    planned.map(|planned| &planned.settings)
}

/// The keys with another value in the other settings.
pub(super) fn differing<'s>(one: &'s Settings, other: &'s Settings) -> BTreeSet<&'s String> {
    one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key)).collect()
}

/// The one study for these pairs of conditions of two runs; none if a pair differs in no key, in several, or otherwise
/// than the pair before it, and if the first run has no file of its study.
pub(super) fn of(
    [one, other]: [&Results; 2],
    pairs: &[(&ConditionTrials<'_>, &ConditionTrials<'_>)],
) -> Option<OneStudy> {
    let study = study_of(one)?;
    let differ = |(a, b): &(&ConditionTrials<'_>, &ConditionTrials<'_>)| {
        let (a, b) = (settings(one, a)?, settings(other, b)?);
        let measured = |key: &&String| !UNMEASURED.iter().any(|section| key.starts_with(section));
        let keys: Vec<&String> = differing(a, b).into_iter().filter(measured).collect();
        let [key] = keys.as_slice() else { return None };
        // A list of levels is separated by commas.
        let levels = [a.get(*key)?.to_string(), b.get(*key)?.to_string()];
        levels.iter().all(|level| !level.contains(',')).then(|| ((*key).clone(), levels))
    };
    let mut found: Vec<(String, [String; 2])> = pairs.iter().map(differ).collect::<Option<_>>()?;
    found.dedup();
    let [(key, levels)] = <[_; 1]>::try_from(found).ok()?;
    Some(OneStudy { study, key, levels: levels.to_vec() })
}
