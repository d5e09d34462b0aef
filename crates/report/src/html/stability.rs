//! The spread of each query, its causes, and every trial of it; its plans, and its warm-up.

use super::document::Head::{L, R};
use super::document::{either, row, scroll, table};
use super::given::Page;
use super::scaling::HOLLOW;
use super::tables;

use crate::charts::dots::{self, Query, QueryDot};
use crate::charts::heat::{self, Figures, Heat};
use crate::charts::ratios::{self, ForestLine};
use crate::figures::{chance, figure};
use crate::tables as shared;
use crate::words::letter;
use maud::{Markup, html};
use tare_findings::collect::{self, ConditionTrials};
use tare_findings::effects::Effect;
use tare_findings::factors::{Term, TermFactor};
use tare_findings::plans::QueryPlans;
use tare_findings::state::is_disturbed;
use tare_findings::warm_up::WarmUp;
use tare_results::metric::{self, short};
use tare_text::percent;

/// Maximum dots of the plot of every query, so that the page stays below one megabyte.
const DOTS: usize = 20_000;
/// Maximum lines of a forest plot of single metrics.
const LINES: usize = 150;

type Ratio = (f64, Option<tare_stats::Interval>, bool);

/// The metrics that a study is about, if there are several.
fn primary(page: &Page<'_>) -> Vec<String> {
    let mut names = collect::all_metrics(&page.conditions);
    names.retain(|name| metric::describe(name).is_primary());
    names
}

/// The heat map, and the table of average and largest spread over the queries, as in ["Improving the Stability of MySQL
/// Single-Threaded Benchmarks"](https://oysteing.blogspot.com/2017/01/).
pub(super) fn spread(page: &Page<'_>) -> Option<Markup> {
    let names = primary(page);
    let conditions = &page.summary.conditions;
    let spreads = shared::spreads(page.summary);
    if names.len() < 2 || spreads.is_empty() {
        return None;
    }
    let cov = |name: &String| conditions.iter().map(|c| page.summary.metric(&c.name, name)?.between_cov).collect();
    let map = Heat {
        title: "Spread between trials of each query under each condition".into(),
        note: "Coefficient of variation of the trial means: how much a restart changes a query. The stronger the shade, the less steady."
            .into(),
        rows: names.iter().map(|name| short(name)).collect(),
        columns: (0..conditions.len()).map(letter).collect(),
        values: names.iter().map(cov).collect(),
        figures: Figures::Spread,
        ..Heat::default()
    };
    let cell = |value: Option<f64>| value.map_or("–".to_owned(), percent);
    Some(html! {
        p.note { (map.note) }
        (scroll("Heat map of spread", &heat::draw(&map)))
        (scroll("Table of spread", &html! {
            table {
                caption { "Over the queries. Max-min: largest less smallest trial mean, as a share of the smallest." }
                thead { tr {
                    th.l.c scope="col" { "" } th.l scope="col" { "condition" } th scope="col" { "max-min," br; "average" }
                    th scope="col" { "max-min," br; "largest" } th.l.c scope="col" { "of" }
                    th scope="col" { "between," br; "average" } th scope="col" { "between," br; "largest" }
                    th scope="col" { "within," br; "average" } th scope="col" { "within," br; "largest" }
                } }
                tbody { @for (condition, spread) in spreads { tr data-c=(condition.name) {
                    td.l.c { (conditions.iter().position(|other| std::ptr::eq(other, condition)).map(letter).unwrap_or_default()) }
                    th scope="row" { (page.swatch(&condition.name)) (condition.name) }
                    td { (percent(spread.range_average)) } td { (percent(spread.range_largest)) }
                    td.l.c { (short(&spread.range_largest_metric)) }
                    td { (percent(spread.between_cov_average)) } td { (percent(spread.between_cov_largest)) }
                    td { (cell(spread.within_cov_average)) } td { (cell(spread.within_cov_largest)) }
                } } }
            }
        }))
    })
}

/// Forest plots of the effects on spread and mean, other associations with the spread, and the table.
pub(super) fn effects(page: &Page<'_>) -> Option<Markup> {
    let table = tables::effects(page)?;
    let names = primary(page);
    let of = |effect: &&Effect| {
        names.contains(&effect.metric) || Some(&effect.metric) == page.summary.headline_metric.as_ref()
    };
    let effects: Vec<&Effect> = page.summary.effects.iter().filter(of).collect();
    let several = names.len() > 1;
    // Only main effects compare levels. A level may itself contain the colon of an interaction, as in aslr=layout:3.
    let terms = |interactions: bool| {
        let mut terms: Vec<&Term> = Vec::new();
        for effect in effects.iter().filter(|effect| effect.levels.is_empty() == interactions) {
            if !terms.contains(&&effect.term) {
                terms.push(&effect.term);
            }
        }
        terms
    };
    let (mains, interactions) = (terms(false), terms(true));
    let lines = |terms: &[&Term], side: &dyn Fn(&Effect) -> Option<Ratio>| -> Vec<ForestLine> {
        let lines = terms.iter().flat_map(|term| effects.iter().filter(move |effect| effect.term == **term));
        let line = |effect: &&Effect| {
            let (ratio, ci, shown) = side(effect)?;
            let levels = if effect.levels.is_empty() { String::new() } else { format!(" {}", effect.levels) };
            let metric = if several { format!(", {}", short(&effect.metric)) } else { String::new() };
            // In `aslr=off off/on` the level would be repeated.
            let factor = effect.term.main().map_or_else(|| effect.term.to_string(), TermFactor::factor);
            Some(ForestLine { label: format!("{factor}{levels}{metric}"), ratio, ci, strong: !several, shown })
        };
        lines.filter_map(line).take(LINES).collect()
    };
    let mean = |effect: &Effect| Some((effect.mean_ratio, effect.ci, effect.shown));
    let spread = |effect: &Effect| Some((effect.spread_ratio?, effect.spread_ci, effect.spread_shown));
    Some(html! {
        (together(page))
        @if page.summary.spread_sources.is_none() { p.note { (MARKS) } }
        (fold(!several, "On the mean", "ratio of means, first level against second; 1x is no effect", &lines(&mains, &mean)))
        (fold(!several, "On the spread", "ratio of the coefficients of variation between trials; 1x is no effect", &lines(&mains, &spread)))
        (fold(false, "Interactions, on the mean", "ratio; 1x is no interaction", &lines(&interactions, &mean)))
        (fold(false, "Interactions, on the spread", "ratio; 1x is no interaction", &lines(&interactions, &spread)))
        (causes(page))
        @let long = page.summary.effects.len() > 40;
        details class=[long.then_some("screen-only")] open[!long] { summary { "Table of effects" } (table) }
    })
}

const MARKS: &str = "A dot: shown, with all factors tested together; a bar across the interval: not shown.";

fn fold(open: bool, title: &str, what: &str, lines: &[ForestLine]) -> Markup {
    html! {
        @if !lines.is_empty() {
            details open[open] {
                summary { (title) }
                @let [wide, slim] = ratios::draw_comparisons(title, what, lines);
                (either(&format!("Forest plot: {title}"), &wide, &slim))
            }
        }
    }
}

/// Each factor's effect on the spread over all queries together, and its share.
fn together(page: &Page<'_>) -> Markup {
    let Some(sources) = &page.summary.spread_sources else { return html! {} };
    let lines: Vec<ForestLine> = sources
        .ranking
        .iter()
        .map(|source| {
            let share = if source.shown { format!(", {}", percent(source.share)) } else { String::new() };
            ForestLine {
                label: format!("{} {}/{}{share}", source.term.factor(), source.noisy_level, source.quiet_level),
                ratio: source.spread_ratio,
                ci: source.spread_ci,
                strong: true,
                shown: source.shown,
            }
        })
        .collect();
    let [wide, slim] =
        ratios::draw_comparisons("Sources of spread", "ratio of the coefficients of variation between trials", &lines);
    html! {
        h3 { "What makes restarts differ" }
        p.note {
            "How much more trials vary at the first level than at the second, over all primary metrics together. The percentage "
            "is the factor's share of the variance between trials; " (percent(sources.unexplained)) " is unexplained. " (MARKS)
        }
        (either("Forest plot of sources of spread", &wide, &slim))
    }
}

fn causes(page: &Page<'_>) -> Markup {
    let causes = &page.summary.residual_causes;
    html! {
        @if !causes.is_empty() {
            h3 { "The remaining spread within conditions correlates with" }
            ul { @for cause in causes {
                li { (cause.covariate) ": " (percent(cause.share)) " of it (p " (chance(cause.p_value)) ", adjusted)" }
            } }
        }
    }
}

pub(super) fn queries(page: &Page<'_>) -> Option<Markup> {
    let names = primary(page);
    let dots = names.len() * page.results.trials.len();
    if names.len() < 2 || dots > DOTS {
        return None;
    }
    let queries: Vec<Query> = names
        .iter()
        .filter_map(|name| {
            let all: Vec<f64> = page.conditions.iter().flat_map(|condition| condition.means(name)).collect();
            let centre = all.iter().sum::<f64>() / all.len().max(1) as f64;
            let of = |condition: &ConditionTrials<'_>| {
                let trials = condition.with(name).into_iter();
                trials
                    .map(|(trial, mean)| QueryDot { value: mean / centre - 1.0, disturbed: is_disturbed(trial) })
                    .collect()
            };
            (centre > 0.0).then(|| Query {
                label: short(name),
                conditions: page.conditions.iter().map(|c| (page.mark(c.name), of(c))).collect(),
            })
        })
        .collect();
    let any_disturbed = queries.iter().flat_map(|q| &q.conditions).flat_map(|(_, dots)| dots).any(|dot| dot.disturbed);
    let [wide, slim] = dots::draw_queries(&queries);
    Some(html! {
        p.note {
            "A dot is a trial. Dots close together in a row are a steady query; rows that are apart are an effect."
            @if any_disturbed { (HOLLOW) }
        }
        (either("Dot plot of every query", &wide, &slim))
        @if page.has_marks() {
            ul.legend {
                @for condition in &page.conditions {
                    li data-c=(condition.name) { (page.swatch(condition.name)) (condition.name) }
                }
            }
        } @else {
            p.note { "The rows of a query are the conditions in the order of their table." }
        }
    })
}

/// Every query with more than one plan: which trials ran with which, and the plans themselves.
pub(super) fn plans(page: &Page<'_>) -> Option<Markup> {
    let plans = &page.summary.plans;
    (!plans.is_empty()).then(|| {
        html! {
            p.note {
                "As the server reported (EXPLAIN) after the measured executions, without its estimates. Where one condition "
                "has several, the plan contributes to the differences between its trials."
            }
            @for query in plans { (plans_of(query)) }
        }
    })
}

fn plans_of(query: &QueryPlans) -> Markup {
    let unit = metric::describe(&query.metric).unit;
    let name = short(&query.metric);
    html! {
        details open[!query.changed_within.is_empty()] {
            summary {
                (name) ": " (query.plans.len()) " plans"
                @if !query.changed_within.is_empty() { ", changed between trials of one condition" }
            }
            (table(&format!("Plans of {name}"), &[L("condition"), L("plan"), R("trials"), R("mean")], query.plans.iter()
                .flat_map(|plan| plan.conditions.iter().map(|(condition, of)| row![
                    condition, plan.name, of.trials.len(), figure(of.mean, unit)
                ]))))
            @for plan in &query.plans {
                h3 { "Plan " (plan.name) }
                pre tabindex="0" { (plan.text) }
            }
        }
    }
}

/// Maximum conditions drawn; `tare show --json` has all.
const CONDITIONS: usize = 24;

/// One heat map per condition: queries by executions.
pub(super) fn warm_up(page: &Page<'_>) -> Option<Markup> {
    let all = &page.summary.warm_up;
    if all.is_empty() {
        return None;
    }
    let conditions: Vec<&str> = page.summary.conditions.iter().map(|condition| condition.name.as_str()).collect();
    let of = |name: &str| all.iter().filter(|warm| warm.condition == name).collect::<Vec<_>>();
    let drawn = conditions.iter().map(|name| (*name, of(name))).filter(|(_, found)| !found.is_empty());
    Some(html! {
        p.note {
            "Executions in their order, before the measured ones and against the mean of those: +80% took 1.8 times as long. "
            "Means over trials."
        }
        @for (place, (condition, found)) in drawn.take(CONDITIONS).enumerate() {
            details open[place == 0] {
                summary { (page.swatch(condition)) (condition) }
                (scroll(&format!("Warm-up under {condition}"), &warm_up_map(condition, &found)))
            }
        }
    })
}

fn warm_up_map(condition: &str, found: &[&WarmUp]) -> Markup {
    let runs = found.iter().map(|warm| warm.ratios.len()).max().unwrap_or(0);
    let not_shown = |(row, warm): (usize, &&WarmUp)| {
        let runs = warm.shown.iter().enumerate().filter(|(_, shown)| !**shown);
        runs.map(|(run, _)| (row, run)).collect::<Vec<_>>()
    };
    heat::draw(&Heat {
        title: format!("Executions of each query before the measured ones, {condition}"),
        rows: found.iter().map(|warm| short(&warm.metric)).collect(),
        columns: (1..=runs).map(|run| run.to_string()).collect(),
        values: found.iter().map(|warm| (0..runs).map(|run| Some(warm.ratios.get(run)? - 1.0)).collect()).collect(),
        unshown: found.iter().enumerate().flat_map(not_shown).collect(),
        figures: Figures::Change,
        ..Heat::default()
    })
}
