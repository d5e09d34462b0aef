//! Two sets of results, or two conditions, against each other: B / A of every metric, and what a gate makes of it.

use super::collect::{self, Condition};
use super::differences::{self, Difference};
use super::modes;
use super::summarize::CONFIDENCE;
use crate::results::Results;
use crate::results::metric::{self, Better};
use serde::{Deserialize, Serialize};
use tare_stats::ratio::{self, Arms};

/// What to compare and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Smallest change of interest, as a fraction: smaller ones count as equal.
    pub min_effect: f64,
    /// Gate: largest slowdown that passes, as a fraction. None is no gate.
    pub fail_if_slower: Option<f64>,
    /// Metrics that the gate judges; empty is every primary one, or every one where there is no primary.
    pub judged: Vec<String>,
}

/// One side: results, and of them all conditions or one.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The results.
    pub results: &'a Results,
    /// One condition of them; none is all.
    pub condition: Option<&'a str>,
}

/// Why two results cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No condition of that name.
    #[error("there is no condition `{name}`")]
    NoCondition {
        /// The name asked for.
        name: String,
        /// Names there are.
        known: Vec<String>,
    },
    /// Several conditions a side and none of the same name.
    #[error("no condition has the same name on both sides")]
    NothingShared {
        /// Conditions of A.
        a: Vec<String>,
        /// Conditions of B.
        b: Vec<String>,
    },
    /// Conditions pair up, but no metric is in both.
    #[error("no metric was measured on both sides")]
    NoMetric,
    /// The metric to judge was not measured.
    #[error("metric `{name}` was not measured on both sides")]
    NoSuchMetric {
        /// Its name.
        name: String,
        /// Metrics that were.
        known: Vec<String>,
    },
}

/// What a comparison came to, from B's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B is better by more than the minimum effect.
    Faster,
    /// B is worse by more than the minimum effect.
    Slower,
    /// The difference is smaller than the minimum effect.
    Equivalent,
    /// The trials do not tell.
    Inconclusive,
}

/// What the gate came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// No judged metric can be slower than allowed, at 95%.
    Passed,
    /// A judged metric is slower than allowed.
    Failed,
    /// The trials do not tell.
    Inconclusive,
}

/// One metric of one pair of conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    /// Metric.
    pub name: String,
    /// Condition in A and B; both names where they differ.
    pub condition: String,
    /// Unit.
    pub unit: String,
    /// Better direction.
    pub better: Better,
    /// Mean over trials in A.
    pub mean_a: f64,
    /// Mean over trials in B.
    pub mean_b: f64,
    /// Trials in A.
    pub trials_a: usize,
    /// Trials in B.
    pub trials_b: usize,
    /// B / A of the means; null when A's mean is zero.
    pub ratio: Option<f64>,
    /// 95% interval of this ratio alone; null with a single trial on a side.
    pub ci_low: Option<f64>,
    /// Its upper end.
    pub ci_high: Option<f64>,
    /// At 95% over all judged metrics together (Holm), or over all others together.
    pub verdict: Verdict,
    /// Whether the gate looks at it.
    pub judged: bool,
}

/// The whole comparison. `metrics` is the contract of `tare compare --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is different in how the two were made.
    pub differences: Vec<Difference>,
    /// Judged metrics first.
    pub metrics: Vec<MetricComparison>,
    /// None without a gate.
    pub gate: Option<Gate>,
    /// What to know before believing it.
    pub notes: Vec<String>,
}

/// The trial means of one metric on both sides.
struct Pair {
    comparison: MetricComparison,
    a: Vec<f64>,
    b: Vec<f64>,
}

/// Compares B with A.
///
/// # Errors
/// [`CompareError`] when conditions or metrics do not match.
pub fn compare(a: Side<'_>, b: Side<'_>, options: &Options) -> Result<Comparison, CompareError> {
    let (of_a, of_b) = (conditions(a)?, conditions(b)?);
    let matched = matched(&of_a, &of_b)?;
    let mut notes = unmatched(&of_a, &of_b, &matched);
    let mut pairs: Vec<Pair> = matched.iter().flat_map(|(a, b)| metrics_of(a, b)).collect();
    judge(&mut pairs, &options.judged)?;
    notes.extend(cautions(&matched, &pairs));
    let (judged, others): (Vec<Pair>, Vec<Pair>) = pairs.into_iter().partition(|pair| pair.comparison.judged);
    let judged = verdicts(judged, options.min_effect);
    let gate = options.fail_if_slower.map(|margin| gate(&judged, margin));
    let metrics = judged.into_iter().chain(verdicts(others, options.min_effect)).map(|pair| pair.comparison).collect();
    let mut differences = differences::between(a.results, b.results);
    if let [(one, other)] = matched.as_slice() {
        differences.splice(0..0, differences::of_levels(one.levels, other.levels));
    }
    Ok(Comparison { differences, metrics, gate, notes })
}

fn conditions(side: Side<'_>) -> Result<Vec<Condition<'_>>, CompareError> {
    let all = collect::conditions(side.results);
    let Some(name) = side.condition else { return Ok(all) };
    let known = all.iter().map(|condition| condition.name.to_owned()).collect();
    match all.into_iter().find(|condition| condition.name == name) {
        Some(condition) => Ok(vec![condition]),
        None => Err(CompareError::NoCondition { name: name.to_owned(), known }),
    }
}

type Matched<'c, 'r> = Vec<(&'c Condition<'r>, &'c Condition<'r>)>;

/// One condition a side pairs whatever the names; several pair by name.
fn matched<'c, 'r>(a: &'c [Condition<'r>], b: &'c [Condition<'r>]) -> Result<Matched<'c, 'r>, CompareError> {
    if let ([one], [other]) = (a, b) {
        return Ok(vec![(one, other)]);
    }
    let matched: Matched<'c, 'r> =
        a.iter().filter_map(|one| Some((one, b.iter().find(|other| other.name == one.name)?))).collect();
    let names = |side: &[Condition<'_>]| side.iter().map(|condition| condition.name.to_owned()).collect();
    if matched.is_empty() { Err(CompareError::NothingShared { a: names(a), b: names(b) }) } else { Ok(matched) }
}

fn unmatched(a: &[Condition<'_>], b: &[Condition<'_>], matched: &Matched<'_, '_>) -> Vec<String> {
    let only = |side: &[Condition<'_>], label: &str| -> Vec<String> {
        side.iter()
            .filter(|condition| !matched.iter().any(|(a, b)| a.name == condition.name || b.name == condition.name))
            .map(|condition| format!("{} is only in {label} and is not compared", condition.name))
            .collect()
    };
    [only(a, "A"), only(b, "B")].concat()
}

fn metrics_of(a: &Condition<'_>, b: &Condition<'_>) -> Vec<Pair> {
    let condition = if a.name == b.name { a.name.to_owned() } else { format!("{} -> {}", a.name, b.name) };
    let in_b = b.metrics();
    let shared = a.metrics().into_iter().filter(|name| in_b.contains(name));
    shared
        .map(|name| {
            let means = |side: &Condition<'_>| side.with(&name).into_iter().map(|(_, mean)| mean).collect::<Vec<f64>>();
            let (a, b) = (means(a), means(b));
            let described = metric::describe(&name);
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
            let comparison = MetricComparison {
                condition: condition.clone(),
                unit: described.unit.to_owned(),
                better: described.better,
                mean_a: mean(&a),
                mean_b: mean(&b),
                trials_a: a.len(),
                trials_b: b.len(),
                ratio: None,
                ci_low: None,
                ci_high: None,
                verdict: Verdict::Inconclusive,
                judged: false,
                name,
            };
            Pair { comparison, a, b }
        })
        .collect()
}

/// Marks the metrics that the gate looks at.
fn judge(pairs: &mut [Pair], asked: &[String]) -> Result<(), CompareError> {
    let known: Vec<String> = pairs.iter().map(|pair| pair.comparison.name.clone()).collect();
    if known.is_empty() {
        return Err(CompareError::NoMetric);
    }
    if let Some(name) = asked.iter().find(|name| !known.contains(name)) {
        let mut known = known;
        known.sort_by_key(|name| metric::sort_key(name));
        known.dedup();
        return Err(CompareError::NoSuchMetric { name: name.clone(), known });
    }
    let any_primary = known.iter().any(|name| metric::describe(name).is_primary());
    for pair in pairs {
        let comparison = &mut pair.comparison;
        comparison.judged = if asked.is_empty() {
            !any_primary || metric::describe(&comparison.name).is_primary()
        } else {
            asked.contains(&comparison.name)
        };
    }
    Ok(())
}

fn arms(pair: &Pair) -> Arms<'_> {
    let better = match pair.comparison.better {
        Better::Higher => ratio::Better::Higher,
        Better::Lower => ratio::Better::Lower,
    };
    Arms { a: &pair.a, b: &pair.b, better }
}

/// Fills ratios, intervals and verdicts in, the pairs given being one family.
fn verdicts(mut pairs: Vec<Pair>, min_effect: f64) -> Vec<Pair> {
    // A metric that is zero in A has no ratio and stays inconclusive; it must not spoil the family.
    let usable: Vec<usize> =
        (0..pairs.len()).filter(|i| ratio::fieller(&pairs[*i].a, &pairs[*i].b, CONFIDENCE).is_ok()).collect();
    let family: Vec<Arms<'_>> = usable.iter().map(|i| arms(&pairs[*i])).collect();
    let outcomes = ratio::compare(&family, min_effect, CONFIDENCE).unwrap_or_default();
    for (index, outcome) in usable.into_iter().zip(outcomes) {
        let comparison = &mut pairs[index].comparison;
        comparison.ratio = Some(outcome.ratio.value);
        comparison.ci_low = outcome.ratio.ci.map(|ci| ci.low);
        comparison.ci_high = outcome.ratio.ci.map(|ci| ci.high);
        comparison.verdict = match outcome.verdict {
            ratio::Verdict::Faster => Verdict::Faster,
            ratio::Verdict::Slower => Verdict::Slower,
            ratio::Verdict::Equivalent => Verdict::Equivalent,
            ratio::Verdict::Inconclusive => Verdict::Inconclusive,
        };
    }
    pairs
}

/// Failed: some judged metric is shown to be slower by more than the margin, adjusted for their number. Passed: the
/// worse end of every judged interval lies within the margin; all must, so nothing needs adjusting. Else undecided.
fn gate(judged: &[Pair], margin: f64) -> Gate {
    let family: Vec<Arms<'_>> = judged.iter().filter(|pair| pair.comparison.ratio.is_some()).map(arms).collect();
    let outcomes = ratio::compare(&family, margin, CONFIDENCE).unwrap_or_default();
    if outcomes.iter().any(|outcome| outcome.verdict == ratio::Verdict::Slower) {
        return Gate::Failed;
    }
    let within = |pair: &Pair| match pair.comparison.better {
        Better::Higher => pair.comparison.ci_low.is_some_and(|low| low >= 1.0 / (1.0 + margin)),
        Better::Lower => pair.comparison.ci_high.is_some_and(|high| high <= 1.0 + margin),
    };
    if judged.iter().all(within) { Gate::Passed } else { Gate::Inconclusive }
}

/// Too few trials, two modes, and trials left out.
fn cautions(matched: &Matched<'_, '_>, pairs: &[Pair]) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, label) in matched.iter().flat_map(|(a, b)| [(*a, "A"), (*b, "B")]) {
        let left_out = side.failed.len() + side.contaminated.len();
        if left_out > 0 {
            notes.push(format!(
                "{label}, {}: {} failed and {} contaminated, not compared",
                side.name,
                side.failed.len(),
                side.contaminated.len()
            ));
        }
        for name in pairs.iter().filter(|pair| pair.comparison.judged).map(|pair| &pair.comparison.name) {
            let unit = metric::describe(name).unit;
            if !modes::find(side, name, unit, None).0.is_empty() {
                let note =
                    format!("{label}, {}: {name} has two modes; a ratio of means describes no trial of it", side.name);
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
    }
    let single = pairs.iter().any(|pair| pair.comparison.judged && pair.a.len().min(pair.b.len()) < 2);
    if single {
        notes.push("a side with a single trial has no interval: nothing can be concluded from it".to_owned());
    }
    notes
}
