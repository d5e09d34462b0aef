//! The machines of a study that ran on several: how they differ, and which of them deviates from the others.
//!
//! Comparisons of conditions need none of this, because a block never crosses machines.

use super::collect::{ConditionTrials, host};
use super::composite::Composite;
use super::confidence::{self, CONFIDENCE};
use super::differences::{Difference, What};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tare_results::Results;
use tare_results::schema::{Environment, TrialRecord};
use tare_stats::machines::{self, Odd};
use tare_stats::{Groups, Interval};
use tare_topology::{Change, Fingerprint};

/// Probability of naming a machine although all are alike, over all machines together: one half of the error rate for
/// levels, one for spreads.
const ALPHA: f64 = (1.0 - CONFIDENCE) / 2.0;
/// The correlation of the levels of neighbouring blocks that is possible: machines drift with 0.8 and more. It does not
/// make the spreads within neighbouring blocks alike.
const ALIKE: f64 = 0.85;

/// The machines that shared a study. A block never crosses machines, so comparisons of conditions do not contain the
/// differences between machines.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts {
    pub rows: Vec<HostRow>,
    /// Coefficient of variation between machines, without the variation within them; null below two blocks per
    /// machine.
    pub between_cov: Option<f64>,
    /// Coefficient of variation between the blocks of one machine.
    pub within_cov: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostRow {
    pub name: String,
    pub trials: usize,
    pub blocks: usize,
    /// The primary metrics on this machine over those of the other machines, same conditions.
    pub ratio: Option<f64>,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Mean spread of the trials of a block without the effects of conditions, as a fraction.
    pub spread: Option<f64>,
    /// Shown to be faster or slower than the others, at 95% over all machines.
    pub odd_level: bool,
    /// Shown to be steadier or less steady than the others, at 95% over all machines.
    pub odd_spread: bool,
    /// Its level would be shown to differ if its blocks were independent, which they do not show.
    #[serde(skip)]
    pub open_level: bool,
    /// What differs from the first machine: its parts, then its names and settings.
    #[serde(skip)]
    pub changes: Vec<Change>,
    #[serde(skip)]
    pub differences: Vec<Difference>,
}

#[derive(Default)]
struct Host {
    trials: usize,
    /// Mean logarithm of each complete block, without the effects of conditions.
    levels: Vec<f64>,
    /// Standard deviation within each complete block, without the effects of conditions.
    spreads: Vec<f64>,
}

/// The machines side by side; none for a single machine.
pub(super) fn hosts(conditions: &[ConditionTrials<'_>], composite: &Composite, results: &Results) -> Option<Hosts> {
    let found = by_host(conditions, composite);
    if found.len() < 2 {
        return None;
    }
    let levels: Vec<Vec<f64>> = found.values().map(|host| host.levels.clone()).collect();
    let compared = Groups::new(&levels).ok().and_then(|levels| machines::compare(levels, CONFIDENCE));
    let outlying = |values: &[Vec<f64>], alike: f64| {
        Groups::new(values).map_or_else(|_| Odd::default(), |groups| machines::odd(groups, ALPHA, alike))
    };
    let odd_levels = outlying(&levels, ALIKE);
    let spreads: Vec<Vec<f64>> =
        found.values().map(|host| host.spreads.iter().filter(|s| **s > 0.0).map(|s| s.ln()).collect()).collect();
    let odd_spreads = outlying(&spreads, 0.0);
    let first = results.machines.values().next();
    let rows = found.iter().enumerate().map(|(index, (name, host))| {
        let difference = compared.as_ref().map(|all| &all.differences[index]);
        let both = first.zip(results.machines.get(*name));
        let changes =
            |(a, b): (&Environment, &Environment)| Fingerprint::of(&a.machine).changes(&Fingerprint::of(&b.machine));
        HostRow {
            name: (*name).to_owned(),
            trials: host.trials,
            blocks: host.levels.len(),
            ratio: difference.map(|d| d.value.exp()).filter(|ratio| ratio.is_finite()),
            ci: difference.and_then(|d| d.ci).map(|ci| ci.map(f64::exp)),
            spread: tare_stats::descriptive::mean(&host.spreads),
            odd_level: odd_levels.shown.contains(&index),
            odd_spread: odd_spreads.shown.contains(&index),
            open_level: odd_levels.open == Some(index),
            changes: both.map(changes).unwrap_or_default(),
            differences: both.map(differences).unwrap_or_default(),
        }
    });
    Some(Hosts {
        rows: rows.collect(),
        between_cov: compared.as_ref().map(|all| all.between),
        within_cov: compared.as_ref().map(|all| all.within),
    })
}

fn by_host<'a>(conditions: &[ConditionTrials<'a>], composite: &Composite) -> BTreeMap<&'a str, Host> {
    let mut blocks: BTreeMap<(&str, usize), Vec<f64>> = BTreeMap::new();
    let mut hosts: BTreeMap<&str, Host> = BTreeMap::new();
    for (place, (condition, cell)) in conditions.iter().zip(&composite.cells).enumerate() {
        let centre = cell.iter().map(|(_, ln)| ln).sum::<f64>() / cell.len().max(1) as f64;
        for (trial, (block, ln)) in composite.trials(place, condition) {
            hosts.entry(host(trial)).or_default().trials += 1;
            blocks.entry((host(trial), block)).or_default().push(ln - centre);
        }
    }
    for ((name, _), left) in blocks.into_iter().filter(|(_, left)| left.len() == conditions.len()) {
        let host = hosts.entry(name).or_default();
        host.levels.extend(tare_stats::descriptive::mean(&left));
        host.spreads.extend(tare_stats::descriptive::std_dev(&left));
    }
    hosts
}

/// Values of one metric without the differences between machines, so that these do not add to the spread between
/// trials. Unchanged for a single machine, or if a value is not positive.
pub(super) fn without_machines<'v>(
    condition: &ConditionTrials<'_>,
    metric: &str,
    values: &'v [Vec<f64>],
) -> Cow<'v, [Vec<f64>]> {
    let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let trials = condition.with(metric);
    for (trial, mean) in &trials {
        let sum = sums.entry(host(trial)).or_default();
        *sum = (sum.0 + mean, sum.1 + 1.0);
    }
    if sums.len() < 2 || values.iter().flatten().any(|v| *v <= 0.0) {
        return Cow::Borrowed(values);
    }
    let all = sums.values().map(|(sum, _)| sum).sum::<f64>() / trials.len() as f64;
    let scale = |trial: &TrialRecord| sums.get(host(trial)).map_or(1.0, |(sum, n)| all / (sum / n));
    let scaled =
        |(samples, (trial, _)): (&Vec<f64>, &(&TrialRecord, f64))| samples.iter().map(|v| v * scale(trial)).collect();
    values.iter().zip(&trials).map(scaled).collect::<Vec<_>>().into()
}

/// Names and settings of a first machine that differ on a second one.
fn differences((first, second): (&Environment, &Environment)) -> Vec<Difference> {
    let differ = |what: What, a: &str, b: &str| (a != b).then(|| Difference { what, a: a.to_owned(), b: b.to_owned() });
    let names = [("CPU", &first.cpu_model, &second.cpu_model), ("kernel", &first.kernel, &second.kernel)];
    let names = names.into_iter().filter_map(|(what, a, b)| differ(What::Machine(Cow::Borrowed(what)), a, b));
    let settings = first.settings.iter().filter_map(|(name, value)| {
        differ(What::Setting(name.clone()), value, second.settings.get(name).map_or("", String::as_str))
    });
    names.chain(settings).filter(|difference| !difference.what.is_load()).collect()
}
