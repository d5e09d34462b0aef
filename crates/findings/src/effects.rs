//! Effects of factors: converts conditions into the cells that tare-stats takes.
//!
//! tare-stats handles factors with two levels. A factor with more levels becomes one indicator column for each level
//! except the first, so that every level is compared with the first one.

use super::collect::{self, ConditionTrials};
use super::composite::{Composite, Logarithms};
use super::confidence::{CONFIDENCE, FURTHER};
use super::factors::{Column, LADDERS_OVER, Term, columns};
use super::spread::{SpreadSource, SpreadSources};
use super::verdict::{Moved, MovedAlone};
use super::{confidence, rounding};
use serde::Serialize;
use tare_results::metric;
use tare_stats::Interval;
use tare_stats::blocks::{Analysis, Condition};
use tare_stats::descriptive::std_dev;
use tare_stats::effects::{self, Cell};
use tare_stats::multiple::{benjamini_yekutieli, holm};

/// Effect of a factor or an interaction on a metric's mean and on its spread between trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    pub metric: String,
    /// `aslr`, or `aslr:ahi` for an interaction; `allocator=jemalloc` for one level of a factor that has more than two.
    pub term: Term,
    /// The levels compared, `on/off`: ratios are first / second. Empty for an interaction.
    pub levels: String,
    /// Ratio of the mean at the first level to the mean at the second.
    pub mean_ratio: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Probability of such an effect on the mean if there is none, adjusted for all listed effects.
    pub p_value: Option<f64>,
    /// Whether the study shows it: the adjusted p-value is at most 5%.
    pub shown: bool,
    /// Ratio of the between-trial CoVs; null if there are too few trials.
    pub spread_ratio: Option<f64>,
    #[serde(flatten, serialize_with = "confidence::spread_ci")]
    pub spread_ci: Option<Interval>,
    pub spread_p_value: Option<f64>,
    pub spread_shown: bool,
}

/// Trials with a smaller standard deviation, in rounding errors, do not show how much they vary: at 2, rounding is a
/// quarter of their variance.
const ROUNDED: f64 = 2.0;

/// With more columns, interactions are not estimated: their number grows with the square.
const MOST_WITH_INTERACTIONS: usize = 12;

/// The cells of one response, with the blocks of their trials.
struct Response {
    cells: Vec<Cell>,
    blocks: Vec<Vec<usize>>,
    /// The standard deviation of the rounding error of a trial, as a part of its value.
    errors: Vec<f64>,
}

impl Response {
    fn new(
        conditions: &[ConditionTrials<'_>],
        columns: &[Column],
        trials: &[Vec<(usize, f64)>],
        errors: &[f64],
    ) -> Self {
        let has = |condition: &ConditionTrials<'_>| -> Vec<bool> {
            columns.iter().map(|column| condition.levels.get(&column.factor) == Some(&column.high)).collect()
        };
        let filled = || conditions.iter().zip(trials).filter(|(_, trials)| !trials.is_empty());
        let of_filled = errors.iter().zip(trials).filter(|(_, trials)| !trials.is_empty());
        let blocked = conditions.iter().all(|condition| condition.blocked);
        Self {
            cells: filled()
                .map(|(condition, trials)| Cell {
                    levels: has(condition),
                    trials: trials.iter().map(|(_, value)| *value).collect(),
                })
                .collect(),
            blocks: match blocked {
                true => filled().map(|(_, trials)| trials.iter().map(|(block, _)| *block).collect()).collect(),
                false => Vec::new(),
            },
            errors: of_filled.map(|(error, _)| *error).collect(),
        }
    }

    /// Whether the trials of a cell vary by no more than rounding may hide: their spread is then unknown, and that of
    /// a cell whose trials lie between two digits looks large next to it.
    fn hides_spread(&self) -> bool {
        let hides = |(cell, error): (&Cell, &f64)| {
            let logarithms: Vec<f64> = cell.trials.iter().map(|value| value.ln()).collect();
            std_dev(&logarithms).is_some_and(|spread| spread < ROUNDED * error)
        };
        self.cells.iter().zip(&self.errors).any(hides)
    }

    /// Effects on the response. A response with a value that is zero or negative has no ratios.
    fn effects(&self, columns: &[Column]) -> Vec<effects::Effect> {
        let order = if columns.len() > MOST_WITH_INTERACTIONS { 1 } else { 2 };
        let of_order =
            |order| effects::effects(columns.len(), &self.cells, &self.blocks, &self.errors, order, CONFIDENCE);
        let Ok(mut found) = of_order(order) else { return Vec::new() };
        if columns.iter().any(|column| column.of_many) {
            // With interactions in the model, a main effect is the effect at the middle of the other columns. If these
            // belong to a factor of many levels, the middle is not the average over its levels. Without interactions
            // it is.
            let Ok(mains) = of_order(1) else { return Vec::new() };
            found.retain(|effect| effect.factors.len() > 1);
            found.splice(0..0, mains);
        }
        // The effects of threads and nodes are described by scaling laws instead.
        let scales = |column: &Column| column.of_many && LADDERS_OVER.contains(&column.factor.as_str());
        found.retain(|effect| !effect.factors.iter().any(|index| scales(&columns[*index])));
        if self.hides_spread() {
            found.iter_mut().for_each(|effect| (effect.spread_ratio, effect.spread_p) = (None, None));
        }
        found
    }
}

/// Main effects and two-factor interactions on every metric. `rate` is the false discovery rate of the shown effects.
pub(super) fn effects(conditions: &[ConditionTrials<'_>], rate: f64) -> Vec<Effect> {
    let Some(columns) = columns(conditions) else { return Vec::new() };
    // Metrics that only explain others are left out, because every further test makes the other effects harder to
    // show.
    let metrics = collect::all_metrics(conditions).into_iter().filter(|name| !metric::describe(name).is_detail());
    let metrics: Vec<String> = metrics.collect();
    let mut found: Vec<Effect> = metrics.iter().flat_map(|metric| effects_on(conditions, &columns, metric)).collect();
    // The metrics that the study is about are one family of tests, those that explain them another. The false
    // discovery rate holds in each, whatever the dependence between metrics (Benjamini & Yekutieli 2001).
    for primary in [true, false] {
        let mut family: Vec<&mut Effect> =
            found.iter_mut().filter(|effect| metric::describe(&effect.metric).is_primary() == primary).collect();
        let of = |p: &dyn Fn(&Effect) -> Option<f64>, family: &[&mut Effect]| {
            benjamini_yekutieli(&family.iter().map(|effect| p(effect).unwrap_or(1.0)).collect::<Vec<_>>())
        };
        let means = of(&|effect| effect.p_value, &family);
        let spreads = of(&|effect| effect.spread_p_value, &family);
        for ((effect, mean), spread) in family.iter_mut().zip(means).zip(spreads) {
            effect.p_value = effect.p_value.map(|_| mean);
            effect.spread_p_value = effect.spread_p_value.map(|_| spread);
            effect.shown = mean <= rate;
            effect.spread_shown = spread <= FURTHER;
        }
    }
    found
}

fn effects_on(conditions: &[ConditionTrials<'_>], columns: &[Column], metric: &str) -> Vec<Effect> {
    let found = response(conditions, columns, metric).effects(columns);
    found.into_iter().map(|effect| described(effect, columns, metric)).collect()
}

pub(super) struct Mains {
    pub moved: Vec<Moved>,
    pub analysis: Option<Analysis>,
}

/// Main effects on all primary metrics together, for the headline: each is tested by least squares with blocks, and
/// the p-values are adjusted by Holm, with a false-alarm probability of `rate`. Empty if factors are confounded.
pub(super) fn main_effects(conditions: &[ConditionTrials<'_>], composite: &Composite, rate: f64) -> Mains {
    let Some(columns) = columns(conditions) else { return Mains { moved: Vec::new(), analysis: None } };
    let mains = mains_of(conditions, &columns, (&composite.cells, &composite.errors));
    let analysis = mains.first().map(|(_, effect)| effect.analysis);
    let adjusted = effects::adjusted_means(&mains.iter().map(|(_, effect)| effect).collect::<Vec<_>>());
    let moved = |((column, effect), adjusted): ((&Column, effects::Effect), f64)| Moved {
        term: Term(vec![column.term.clone()]),
        high: column.high_words.clone(),
        low: column.low_words.clone(),
        ratio: effect.mean_ratio.value,
        ci: effect.mean_ratio.ci,
        p_value: effect.mean_p.map(|_| adjusted),
        shown: adjusted <= rate,
    };
    Mains { moved: mains.into_iter().zip(adjusted).map(moved).collect(), analysis }
}

/// Main effects of every column on one response, given as logarithms.
fn mains_of<'c>(
    conditions: &[ConditionTrials<'_>],
    columns: &'c [Column],
    (cells, errors): (&[Condition], &[f64]),
) -> Vec<(&'c Column, effects::Effect)> {
    let ratios: Vec<Vec<(usize, f64)>> =
        cells.iter().map(|cell| cell.iter().map(|(block, ln)| (*block, ln.exp())).collect()).collect();
    let found = Response::new(conditions, columns, &ratios, errors).effects(columns);
    let main = |effect: effects::Effect| match effect.factors.as_slice() {
        [one] => Some((columns.get(*one)?, effect)),
        _ => None,
    };
    found.into_iter().filter_map(main).collect()
}

/// Which of several metrics a factor moves, all metrics and all factors tested together (Holm).
pub(super) fn moved_alone(conditions: &[ConditionTrials<'_>], metrics: &[Logarithms]) -> Vec<MovedAlone> {
    let Some(columns) = columns(conditions) else { return Vec::new() };
    let all: Vec<(&String, &Column, effects::Effect)> = metrics
        .iter()
        .flat_map(|Logarithms { metric, cells, errors }| {
            let found = mains_of(conditions, &columns, (cells, errors));
            found.into_iter().map(move |(column, effect)| (metric, column, effect))
        })
        .collect();
    let adjusted = holm(&all.iter().map(|(.., effect)| effect.largest_mean_p().unwrap_or(1.0)).collect::<Vec<_>>());
    let shown = all.iter().zip(adjusted).filter(|(_, adjusted)| *adjusted <= FURTHER);
    shown
        .map(|((metric, column, effect), _)| MovedAlone {
            metric: (*metric).clone(),
            by: Some(Term(vec![column.term.clone()])),
            high: column.high_words.clone(),
            low: column.low_words.clone(),
            ratio: effect.mean_ratio.value,
        })
        .collect()
}

fn described(effect: effects::Effect, columns: &[Column], metric: &str) -> Effect {
    let main = match effect.factors.as_slice() {
        [one] => columns.get(*one),
        _ => None,
    };
    let spread = effect.spread_ratio.as_ref();
    Effect {
        metric: metric.to_owned(),
        levels: main.map_or(String::new(), |column| format!("{}/{}", column.high_words, column.low_words)),
        mean_ratio: effect.mean_ratio.value,
        ci: effect.mean_ratio.ci,
        p_value: effect.largest_mean_p(),
        shown: false,
        // tare-stats gives the ratio of variances; its square root is the more familiar ratio of CoVs.
        spread_ratio: spread.map(|spread| spread.value.sqrt()),
        spread_ci: spread.and_then(|spread| spread.ci).map(|ci| ci.map(f64::sqrt)),
        spread_p_value: effect.spread_p,
        spread_shown: false,
        term: Term(effect.factors.iter().map(|index| columns[*index].term.clone()).collect()),
    }
}

/// Which factor causes the spread between trials, over all primary metrics together; `rate` is the probability of
/// naming a factor that causes none.
pub(super) fn sources(conditions: &[ConditionTrials<'_>], rate: f64) -> Option<SpreadSources> {
    let columns = columns(conditions)?;
    let found = found_sources(conditions, &columns, rate)?;
    let ranking: Vec<SpreadSource> = found
        .ranking
        .iter()
        .filter_map(|source| {
            let column = columns.get(source.factor)?;
            let (noisy, quiet) = if source.noisy_level {
                (&column.high_words, &column.low_words)
            } else {
                (&column.low_words, &column.high_words)
            };
            // From the ratio of variances, high to low level, to the ratio of CoVs, noisy to quiet level.
            let cov = |ratio: f64| if source.noisy_level { ratio.sqrt() } else { ratio.sqrt().recip() };
            Some(SpreadSource {
                term: column.term.clone(),
                noisy_is_high: source.noisy_level,
                noisy_level: noisy.clone(),
                quiet_level: quiet.clone(),
                spread_ratio: cov(source.spread_ratio.value),
                spread_ci: source.spread_ratio.ci.map(|ci| ci.map(cov)),
                share: source.share,
                p_value: source.p_value,
                shown: source.shown,
            })
        })
        .collect();
    let mut sources = SpreadSources { ranking, unexplained: found.unexplained };
    if columns.iter().any(|column| column.of_many) {
        share_anew(&mut sources, conditions, &columns, &found, rate);
    }
    Some(sources)
}

/// Computes the shares again with one level per factor, because a factor can be held at a single level only: of
/// several shown levels of a factor, the strongest takes part.
fn share_anew(
    sources: &mut SpreadSources,
    conditions: &[ConditionTrials<'_>],
    columns: &[Column],
    found: &effects::SpreadRanking,
    rate: f64,
) {
    let (mut kept, mut places): (Vec<Column>, Vec<usize>) = Default::default();
    for source in found.ranking.iter().filter(|source| source.shown) {
        let Some(column) = columns.get(source.factor) else { continue };
        if !kept.iter().any(|other| other.factor == column.factor) {
            kept.push(column.clone());
            places.push(source.factor);
        }
    }
    let has = |condition: &&ConditionTrials<'_>| {
        kept.iter().all(|c| condition.levels.get(&c.factor).is_some_and(|level| *level == c.low || *level == c.high))
    };
    let rest: Vec<ConditionTrials<'_>> = conditions.iter().filter(has).cloned().collect();
    let again = found_sources(&rest, &kept, rate).map_or(Vec::new(), |again| again.ranking);
    for (source, found) in sources.ranking.iter_mut().zip(&found.ranking) {
        source.share =
            again.iter().find(|other| places.get(other.factor) == Some(&found.factor)).map_or(0.0, |other| other.share);
    }
    sources.unexplained = 1.0 - sources.ranking.iter().map(|source| source.share).sum::<f64>();
}

/// Whether rounding hides how much the trials of a condition vary in this metric.
pub(super) fn hides_spread(conditions: &[ConditionTrials<'_>], metric: &str) -> bool {
    columns(conditions).is_some_and(|columns| response(conditions, &columns, metric).hides_spread())
}

fn response(conditions: &[ConditionTrials<'_>], columns: &[Column], metric: &str) -> Response {
    let trials: Vec<Vec<(usize, f64)>> = conditions.iter().map(|c| c.numbered(metric)).collect();
    Response::new(conditions, columns, &trials, &rounding::of_logarithms(conditions, metric))
}

fn found_sources(conditions: &[ConditionTrials<'_>], columns: &[Column], rate: f64) -> Option<effects::SpreadRanking> {
    let metrics = collect::all_metrics(conditions);
    let primary = metrics.iter().filter(|name| metric::describe(name).is_primary());
    let primary: Vec<Response> = primary.map(|name| response(conditions, columns, name)).collect();
    // Trials are matched between metrics by position, so every trial must have every metric.
    let shape = |response: &Response| response.cells.iter().map(|cell| cell.trials.len()).collect::<Vec<_>>();
    let first = primary.first()?;
    if primary.iter().any(|response| shape(response) != shape(first)) {
        return None;
    }
    let blocks = first.blocks.clone();
    let known = primary.into_iter().filter(|response| !response.hides_spread());
    let cells: Vec<Vec<Cell>> = known.map(|response| response.cells).collect();
    effects::sources_at(columns.len(), &cells, &blocks, CONFIDENCE, rate).ok()
}
