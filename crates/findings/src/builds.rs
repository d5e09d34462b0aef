//! Two builds side by side: the ratio at each point, which symbols and locks changed, and the kinds of loads by which
//! results are published, from the names of sysbench's workloads or from a file of statements.

use super::captures::{self, Profiled, mean_of, shares};
use super::collect::{self, ConditionTrials, by_block};
use super::confidence::{self, CONFIDENCE};
use super::{factors, rounding};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::schema::Levels;
use tare_results::{Results, factor, metric};
use tare_stats::Interval;
use tare_stats::blocks::{Condition, shared_p_values};
use tare_stats::ratio::{self, Arms, Design, Verdict};

/// One build compared with the first, with all other levels equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildComparison {
    /// The factor whose levels are compared: `build`, `binary`, or an option if the load is a factor too.
    pub factor: String,
    pub metric: String,
    pub a: String,
    pub b: String,
    pub levels: Levels,
    /// The kind of load, if the load is one of the other factors.
    #[serde(skip)]
    pub group: Option<Group>,
    pub ratio: f64,
    /// 95% interval of the ratio; null if a side has a single trial.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether B is faster, at the error rate of the answer over all points together.
    pub verdict: Verdict,
    /// Functions whose share of the samples changed most.
    pub symbols: Vec<Changed>,
    /// Locks whose share of the connections' time changed most.
    pub locks: Vec<Changed>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    pub name: String,
    pub a: f64,
    pub b: f64,
}

/// The factors whose levels are builds: named builds, or paths of server programs.
const BUILDS: [&str; 2] = ["build", "binary"];
const LISTED: usize = 8;

/// A pair of conditions that differ only in the build.
struct Pair<'c, 'r> {
    factor: &'c str,
    levels: Levels,
    names: [&'c str; 2],
    conditions: [&'c ConditionTrials<'r>; 2],
    trials: [Vec<f64>; 2],
    design: Design<'static>,
}

/// Compares every other build with the first one on `metric`, all tested together at the error rate `rate`; empty if no
/// factor is a build.
pub(super) fn builds(
    conditions: &[ConditionTrials<'_>],
    results: &Results,
    metric: Option<&str>,
    rate: f64,
) -> Vec<BuildComparison> {
    let Some(metric) = metric else { return Vec::new() };
    let base = planned_base(results);
    let pairs = pairs(conditions, base, metric);
    let groups = Groups::of_study(results);
    // As in the answer, a difference must also be shown without the disturbed trials.
    let clean: Vec<ConditionTrials<'_>> = conditions.iter().map(ConditionTrials::clean).collect();
    let is_disturbed = conditions.iter().any(|condition| !condition.disturbed().is_empty());
    let clean = if is_disturbed { self::pairs(&clean, base, metric) } else { Vec::new() };
    let without = judged(&clean, metric, rate);
    let holds = |pair: &Pair<'_, '_>, verdict: Verdict| {
        let same = |other: &Pair<'_, '_>| (&other.levels, other.names) == (&pair.levels, pair.names);
        !is_disturbed || clean.iter().zip(&without).any(|(other, (_, own))| same(other) && *own == verdict)
    };
    pairs
        .iter()
        .zip(judged(&pairs, metric, rate))
        .filter_map(|(pair, (found, verdict))| Some((pair, verdict, found.effect.ratio()?)))
        .map(|(pair, verdict, ratio)| BuildComparison {
            factor: pair.factor.to_owned(),
            metric: metric.to_owned(),
            a: pair.names[0].to_owned(),
            b: pair.names[1].to_owned(),
            group: factors::load_of(&pair.levels).map(|load| groups.of(load)),
            levels: pair.levels.clone(),
            ratio: ratio.value,
            ci: ratio.ci,
            verdict: if holds(pair, verdict) { verdict } else { Verdict::Inconclusive },
            symbols: changed(pair, results, Profiled::Symbols),
            locks: changed(pair, results, Profiled::Locks),
        })
        .collect()
}

/// The comparison and the verdict of each pair, all tested together; empty if a pair cannot be compared.
fn judged(pairs: &[Pair<'_, '_>], metric: &str, rate: f64) -> Vec<(ratio::Comparison, Verdict)> {
    let better = metric::describe(metric).better;
    let family: Vec<Arms<'_>> = pairs
        .iter()
        .map(|Pair { trials: [a, b], design, conditions, .. }| {
            let rounding = Some(rounding::of_sides(*conditions, metric));
            Arms { a, b, better, design: *design, rounding }
        })
        .collect();
    let Ok(judged) = ratio::compare(&family, 0.0, CONFIDENCE) else { return Vec::new() };
    let cell = |trials: &Vec<f64>| trials.iter().map(|value| value.ln()).enumerate().collect::<Condition>();
    let cells = pairs.iter().map(|pair| (pair.trials.each_ref().map(cell), pair.design == Design::Blocks));
    let shared = shared_p_values(&cells.collect::<Vec<_>>());
    let of = |(found, shared): (ratio::Comparison, f64)| {
        let is_shown = found.p_value.max(shared * pairs.len() as f64) <= rate;
        (found, if is_shown { found.verdict } else { Verdict::Inconclusive })
    };
    judged.into_iter().zip(shared).map(of).collect()
}

/// The levels of the first planned condition, whose build is the base even if it has no trial yet.
fn planned_base(results: &Results) -> Option<&Levels> {
    results.plan.as_ref()?.conditions.first().map(|condition| &condition.levels)
}

fn pairs<'c, 'r>(conditions: &'c [ConditionTrials<'r>], base: Option<&'c Levels>, metric: &str) -> Vec<Pair<'c, 'r>> {
    let option = option_by_load(conditions);
    let mut by_levels: BTreeMap<Levels, Vec<(&'c str, &'c ConditionTrials<'r>)>> = BTreeMap::new();
    let (mut first_build, mut compared) = (None, None);
    for condition in conditions {
        let mut named = BUILDS.into_iter().chain(option);
        let Some((factor, build)) = named.find_map(|factor| condition.levels.get_key_value(factor)) else { continue };
        first_build.get_or_insert(base.and_then(|levels| levels.get(factor)).unwrap_or(build).as_str());
        let mut others = condition.levels.clone();
        others.remove(factor);
        by_levels.entry(others).or_default().push((build, condition));
        compared.get_or_insert(factor.as_str());
    }
    let means = |condition: &ConditionTrials<'_>| condition.means(metric);
    let mut pairs = Vec::new();
    for (levels, mut group) in by_levels {
        // Without the base, as after Ctrl-C, others must not take its place in the table.
        let Some(place) = group.iter().position(|(build, _)| Some(*build) == first_build) else { continue };
        let (a, first) = group.remove(place);
        for (b, other) in group {
            let (trials, design) = match by_block(first, other, metric) {
                Some((a, b)) => ([a, b], Design::Blocks),
                None => ([means(first), means(other)], Design::Independent),
            };
            if trials.iter().all(|trials| trials.iter().sum::<f64>() > 0.0) {
                pairs.push(Pair {
                    factor: compared.unwrap_or_default(),
                    levels: levels.clone(),
                    names: [a, b],
                    conditions: [first, other],
                    trials,
                    design,
                });
            }
        }
    }
    pairs
}

/// The one option that varies together with the load; its values are compared like builds.
fn option_by_load<'c>(conditions: &'c [ConditionTrials<'_>]) -> Option<&'c str> {
    let levels = || conditions.iter().map(|condition| condition.levels);
    let varying = factors::varying_factors(levels());
    let mut options = levels().flat_map(|of| of.keys()).filter(|name| factor::option(name).is_some());
    let first = options.next()?;
    let alone = options.all(|name| name == first) && varying.len() == 2;
    (alone && varying.iter().any(|factor| factor::LOADS.contains(&factor.as_str()))).then_some(first.as_str())
}

fn changed(pair: &Pair<'_, '_>, results: &Results, what: Profiled) -> Vec<Changed> {
    let [before, after] = pair.conditions.map(|c| shares(&captures::of(c, results), what));
    if before.is_empty() || after.is_empty() {
        return Vec::new();
    }
    let (before, after) = (mean_of(&before), mean_of(&after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let share = |shares: &BTreeMap<String, f64>, name: &String| shares.get(name).copied().unwrap_or(0.0);
    let mut changed: Vec<Changed> = names
        .into_iter()
        .map(|name| Changed { name: name.clone(), a: share(&before, name), b: share(&after, name) })
        .collect();
    changed.sort_by(|x, y| (y.b - y.a).abs().total_cmp(&(x.b - x.a).abs()));
    changed.truncate(LISTED);
    changed
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::Display)]
#[serde(rename_all(serialize = "snake_case", deserialize = "kebab-case"))]
#[strum(serialize_all = "lowercase")]
pub enum Group {
    Point,
    /// Ranges whose rows are read unchanged.
    Range,
    /// Ranges whose sums, counts or sorted rows are read.
    #[strum(serialize = "aggregated range")]
    AggregatedRange,
    Write,
    /// Everything else, including mixtures.
    #[serde(rename(deserialize = "mixed"))]
    #[strum(serialize = "mixed")]
    Other,
}

impl Group {
    fn of_workload(load: &str) -> Self {
        match load {
            "point_select" | "select_random_points" => Self::Point,
            "select_random_ranges" => Self::AggregatedRange,
            "write_only" | "update_index" | "update_non_index" | "insert" | "delete" | "bulk_insert" => Self::Write,
            _ => Self::Other,
        }
    }
}

pub(super) struct Groups(BTreeMap<String, Group>);

/// The parts of a study's file of statements that define groups.
#[derive(Deserialize)]
struct Statements {
    transaction: Vec<Transaction>,
}

#[derive(Deserialize)]
struct Transaction {
    name: String,
    group: Option<Group>,
}

impl Groups {
    pub(crate) fn of_study(results: &Results) -> Self {
        let statements = collect::study(results).and_then(|table| table.get("workload")?.get("statements")?.as_str());
        let statements: Option<Statements> = statements.and_then(|text| toml::from_str(text).ok());
        let named = statements.into_iter().flat_map(|file| file.transaction);
        Self(named.filter_map(|one| Some((one.name, one.group?))).collect())
    }

    pub(crate) fn of(&self, load: &str) -> Group {
        self.0.get(load).copied().unwrap_or_else(|| Group::of_workload(load))
    }
}
