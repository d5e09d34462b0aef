//! Effects of two-level factors, from conditions to the cells that tare-stats takes.

use super::collect::{self, Condition};
use super::reading::varying_factors;
use super::summarize::CONFIDENCE;
use super::summary::{Effect, Source, Sources};
use crate::results::metric;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use tare_stats::Interval;
use tare_stats::effects::{self, Cell};

/// A factor with its two levels: ratios compare the high one with the low one.
struct Factor {
    name: String,
    low: String,
    high: String,
}

/// Main effects and two-factor interactions on every metric; none unless every factor that varies has two levels.
pub(super) fn effects(conditions: &[Condition<'_>]) -> Vec<Effect> {
    let Some(factors) = factors(conditions) else { return Vec::new() };
    let names: Vec<String> = factors.iter().map(|factor| factor.name.clone()).collect();
    let metrics = collect::all_metrics(conditions);
    metrics.iter().flat_map(|metric| effects_on(conditions, &factors, &names, metric)).collect()
}

fn effects_on(conditions: &[Condition<'_>], factors: &[Factor], names: &[String], metric: &str) -> Vec<Effect> {
    // A metric that is zero or negative somewhere has no ratios.
    let Ok(found) = effects::effects(names, &cells(conditions, factors, metric), 2, CONFIDENCE) else {
        return Vec::new();
    };
    let levels = |term: &str| {
        let main = factors.iter().find(|factor| factor.name == term);
        main.map_or(String::new(), |factor| format!("{}/{}", factor.high, factor.low))
    };
    let low = |ci: Option<Interval>| ci.map(|ci| ci.low);
    let high = |ci: Option<Interval>| ci.map(|ci| ci.high);
    found
        .into_iter()
        .map(|effect| {
            let spread = effect.spread_ratio.as_ref();
            Effect {
                metric: metric.to_owned(),
                levels: levels(&effect.term),
                mean_ratio: effect.mean_ratio.value,
                ci_low: low(effect.mean_ratio.ci),
                ci_high: high(effect.mean_ratio.ci),
                // tare-stats gives the ratio of variances; its root is the ratio of CoVs, which is what people compare.
                spread_ratio: spread.map(|spread| spread.value.sqrt()),
                spread_ci_low: spread.and_then(|spread| low(spread.ci)).map(f64::sqrt),
                spread_ci_high: spread.and_then(|spread| high(spread.ci)).map(f64::sqrt),
                term: effect.term,
            }
        })
        .collect()
}

/// Which factor the spread between trials comes from, over all primary metrics together.
pub(super) fn sources(conditions: &[Condition<'_>]) -> Option<Sources> {
    let factors = factors(conditions)?;
    let names: Vec<String> = factors.iter().map(|factor| factor.name.clone()).collect();
    let metrics = collect::all_metrics(conditions);
    let primary: Vec<Vec<Cell>> = metrics
        .iter()
        .filter(|name| metric::describe(name).is_primary())
        .map(|name| cells(conditions, &factors, name))
        .collect();
    // Trials are matched between metrics by position: a metric that some trial lacks cannot take part.
    let shape = |cells: &Vec<Cell>| cells.iter().map(|cell| cell.trials.len()).collect::<Vec<_>>();
    let first = shape(primary.first()?);
    if primary.iter().any(|cells| shape(cells) != first) {
        return None;
    }
    let found = effects::sources(&names, &primary, CONFIDENCE).ok()?;
    let ranking = found
        .ranking
        .into_iter()
        .map(|source| {
            let factor = factors.iter().find(|factor| factor.name == source.factor);
            let level = factor.map_or("", |f| if source.noisy_level { &f.high } else { &f.low });
            Source {
                noisy_level: level.to_owned(),
                factor: source.factor,
                share: source.share,
                p_value: source.p_value,
                shown: source.shown,
            }
        })
        .collect();
    Some(Sources { ranking, unexplained: found.unexplained })
}

fn cells(conditions: &[Condition<'_>], factors: &[Factor], metric: &str) -> Vec<Cell> {
    conditions
        .iter()
        .map(|condition| Cell {
            levels: factors.iter().map(|factor| condition.levels.get(&factor.name) == Some(&factor.high)).collect(),
            trials: condition.with(metric).into_iter().map(|(_, mean)| mean).collect(),
        })
        .filter(|cell| !cell.trials.is_empty())
        .collect()
}

/// The factors that vary, when each has exactly two levels and every condition names one.
fn factors(conditions: &[Condition<'_>]) -> Option<Vec<Factor>> {
    let measured: Vec<&Condition<'_>> = conditions.iter().filter(|condition| !condition.ok.is_empty()).collect();
    let mut names = varying_factors(measured.iter().map(|condition| condition.levels));
    // In the order of the condition's name, which is the study's: terms read `aslr:ahi` as the study wrote them.
    let first = measured.first()?.name;
    names.sort_by_key(|name| first.find(&format!("{name}=")).unwrap_or(usize::MAX));
    let factors: Option<Vec<Factor>> = names
        .into_iter()
        .map(|name| {
            let levels: Option<BTreeSet<&String>> = measured.iter().map(|c| c.levels.get(&name)).collect();
            let mut levels: Vec<&String> = levels?.into_iter().collect();
            levels.sort_by(|a, b| low_first(a, b));
            match levels.as_slice() {
                [low, high] => Some(Factor { low: (*low).clone(), high: (*high).clone(), name }),
                _ => None,
            }
        })
        .collect();
    factors.filter(|factors| !factors.is_empty())
}

/// Off before on, numbers by size, else by name.
fn low_first(a: &str, b: &str) -> Ordering {
    const LOW: [&str; 5] = ["off", "false", "no", "none", "disabled"];
    let off = |level: &str| LOW.contains(&level);
    off(b).cmp(&off(a)).then_with(|| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_level_is_off_or_the_smaller_number() {
        for (low, high) in [("off", "on"), ("no", "yes"), ("4", "16"), ("float", "same-pu"), ("off", "a")] {
            assert_eq!(low_first(low, high), Ordering::Less, "{low} {high}");
            assert_eq!(low_first(high, low), Ordering::Greater, "{high} {low}");
        }
    }
}
