//! Table of the metrics other than the headline metric.

use super::conditions::sorted;
use super::layout::{heading, lined, wrap, wrap_names};
use super::spread::left_out;
use super::style::{Style, fits, plain};
use crate::figures::{Scale, half_width};
use crate::words::letter;
use std::collections::{BTreeMap, BTreeSet};
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::factors::words_of;
use tare_findings::summary::Summary;
use tare_results::metric::{describe, is_further, sort_key};
use tare_results::schema::Levels;
use tare_results::unit::Unit;
use tare_text::count;

/// Means of the other metrics: one metric per row, with the conditions as columns, or below the metric if they do not
/// fit. Conditions are named by letters if there is no room for their names. With many conditions, or more than a few
/// metrics, only the number of metrics is printed, except with `--all`.
pub(super) fn others(summary: &Summary, style: Style) -> Option<String> {
    let headline = summary.headline_metric.as_deref()?;
    let mut names: Vec<&str> = summary.conditions.iter().flat_map(|c| &c.metrics).map(|m| m.name.as_str()).collect();
    names.sort_by_cached_key(|name| sort_key(name));
    names.dedup();
    names.retain(|name| *name != headline);
    let details = names.iter().filter(|name| describe(name).is_detail()).count();
    names.retain(|name| !describe(name).is_detail());
    let all = names.len();
    if all == 0 {
        return None;
    }
    // In the order of the table above, and shortened in the same way.
    let mut conditions: Vec<&ConditionSummary> = sorted(summary, headline).into_iter().map(|row| row.0).collect();
    if !style.all {
        keep_few(&mut names, headline, &conditions);
        if names.is_empty() || conditions.len() > FEW {
            let more = format!("{} of each condition, which tare show lists with --all", count(all, "other metric"));
            return Some(wrap(style, "", "  ", &more));
        }
    }
    let mut text = heading(style, &head(&names, &conditions, [all - names.len(), details])) + "\n";
    let hidden = style.shorten(&mut conditions);
    let columns: Vec<Column<'_>> = conditions.iter().map(|condition| Column::of(condition, headline)).collect();
    let all: Vec<Vec<String>> = names.iter().map(|name| other_row(name, &columns)).collect();
    let table = |columns: &[String]| {
        let heads: Vec<&str> = ["metric", "unit"].into_iter().chain(columns.iter().map(String::as_str)).collect();
        let natural = Style { width: None, ..style };
        Some(lined(natural, &heads, 2, all.iter().cloned())).filter(|table| fits(table, style))
    };
    let names = short_names(&conditions);
    // In column heads the words of a name are on separate lines.
    let stacked: Vec<String> = names.iter().map(|name| name.replace(' ', "\n")).collect();
    let letters: Vec<String> = (0..conditions.len()).map(letter).collect();
    let named = names.iter().all(|name| name.chars().count() <= SHORT) && names.len() <= FEW;
    let low = stacked.iter().all(|head| head.lines().count() <= LINES);
    let with_names = if style.width.is_some() && low || named { table(&stacked) } else { None };
    if let Some(table) = with_names {
        text.push_str(&table);
    } else if named {
        text.extend(all.iter().map(|row| flowed(row, &names, style)));
    } else {
        for (letter, condition) in letters.iter().zip(&conditions) {
            text.push_str(&wrap_names(style, &format!("  {letter} = "), "      ", &plain(&condition.name)));
        }
        text.push_str(&table(&letters).unwrap_or_else(|| all.iter().map(|row| flowed(row, &letters, style)).collect()));
    }
    Some(text + &left_out(hidden))
}

/// The heading: what the figures are, how many more there are with `--all`, and how many details.
fn head(names: &[&str], conditions: &[&ConditionSummary], [left_out, details]: [usize; 2]) -> String {
    let shown = || conditions.iter().flat_map(|c| &c.metrics).filter(|metric| names.contains(&metric.name.as_str()));
    let known = |metric: &MetricSummary| metric.ci.is_none_or(|ci| ci.width() / 2.0 <= metric.mean.abs());
    let unknown =
        if shown().all(known) { "" } else { "; ±? where that is more than the mean: not known from so few trials" };
    let of_modes =
        if shown().all(MetricSummary::has_mean) { "" } else { "; a range where the mean describes no trial" };
    let more = [(left_out, "in tare show with --all"), (details, "in the report and with --json")];
    let more = more.into_iter().filter(|(n, _)| *n > 0).map(|(n, place)| format!("; {n} more {place}"));
    let head = format!("other metrics, means over trials (± half of the 95% interval{unknown}{of_modes})");
    std::iter::once(head).chain(more).collect()
}

/// Maximum number of other metrics in a short answer, besides those that the study is about.
const ROWS: usize = 8;

/// Removes what a short answer does not need: all percentiles but one, metrics of a part of the load, and metrics with
/// the same figures as the headline metric.
fn keep_few(names: &mut Vec<&str>, headline: &str, conditions: &[&ConditionSummary]) {
    let mean = |condition: &ConditionSummary, name: &str| {
        condition.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.mean)
    };
    names.retain(|name| !is_further(name) && conditions.iter().any(|c| mean(c, name) != mean(c, headline)));
    let mut further = 0;
    names.retain(|name| {
        further += usize::from(!describe(name).is_primary());
        describe(name).is_primary() || further <= ROWS
    });
}

/// Up to this many conditions, and characters of a name, names are printed next to figures if they have no column.
const FEW: usize = 8;
const SHORT: usize = 28;
/// Maximum number of lines of a column head.
const LINES: usize = 5;

/// Levels that only some of the conditions have. If all conditions have one factor, its level alone.
fn short_names(conditions: &[&ConditionSummary]) -> Vec<String> {
    let in_all = |factor: &String, level: &String| conditions.iter().all(|c| c.levels.get(factor) == Some(level));
    let own = |condition: &ConditionSummary| -> Levels {
        let levels = condition.levels.iter().filter(|(factor, level)| !in_all(factor, level));
        levels.map(|(factor, level)| (factor.clone(), level.clone())).collect()
    };
    let own: Vec<Levels> = conditions.iter().map(|condition| own(condition)).collect();
    let mut of_all = own.iter().flat_map(Levels::keys).collect::<BTreeSet<_>>();
    of_all.retain(|factor| own.iter().all(|levels| levels.contains_key(*factor)));
    let one = of_all.pop_first().filter(|_| of_all.is_empty());
    let name = |(condition, levels): (&&ConditionSummary, &Levels)| {
        let (of_one, others): (Levels, Levels) =
            levels.clone().into_iter().partition(|(factor, _)| Some(factor) == one);
        let words: Vec<String> =
            of_one.into_values().chain(Some(words_of(&others))).filter(|words| !words.is_empty()).collect();
        plain(&if words.is_empty() { condition.name.clone() } else { words.join(" ") })
    };
    conditions.iter().zip(&own).map(name).collect()
}

const ABSENT: &str = "-";

/// A metric whose conditions do not fit next to each other: its name and unit, and below them as many conditions per
/// line as fit, each with its name or letter. Conditions without the metric are left out.
fn flowed(row: &[String], columns: &[String], style: Style) -> String {
    let [name, unit, cells @ ..] = row else { return String::new() };
    let known = columns.iter().zip(cells).filter(|(_, cell)| *cell != ABSENT);
    let cells: Vec<String> = known.map(|(column, cell)| format!("{column} {cell}")).collect();
    let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let each = (style.prose().saturating_sub(2) / (widest + 2)).max(1);
    let line = |cells: &[String]| {
        if widest + 2 > style.prose() {
            return cells.iter().map(|cell| wrap_names(style, "  ", "    ", cell)).collect();
        }
        let padded: String = cells.iter().map(|cell| format!("  {cell:widest$}")).collect();
        format!("{}\n", padded.trim_end())
    };
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    format!("{name}{unit}\n{}", cells.chunks(each).map(line).collect::<String>())
}

/// The metrics of a condition by name, because each row looks up one of possibly thousands.
struct Column<'s> {
    metrics: BTreeMap<&'s str, &'s MetricSummary>,
    /// Whether the mean of the headline metric does not describe its trials, so that ranges are printed.
    has_ranges: bool,
}

impl<'s> Column<'s> {
    fn of(condition: &'s ConditionSummary, headline: &str) -> Self {
        let metrics: BTreeMap<_, _> = condition.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect();
        Self { has_ranges: metrics.get(headline).is_some_and(|metric| !metric.has_mean()), metrics }
    }
}

fn other_row(name: &str, columns: &[Column<'_>]) -> Vec<String> {
    let values = || columns.iter().filter_map(|column| column.metrics.get(name));
    let largest = values().map(|metric| metric.mean.abs()).fold(0.0, f64::max);
    let unit = values().next().map_or(Unit::Plain, |metric| metric.unit);
    let smallest = values().map(|metric| metric.mean.abs()).fold(f64::INFINITY, f64::min);
    // One more digit if the smallest value of the row would otherwise have only two.
    let scale = Scale::new(unit, largest, if smallest < largest / 2.0 { 4 } else { 3 });
    let mut cells = vec![plain(name), scale.unit.clone()];
    cells.extend(columns.iter().map(|column| {
        column.metrics.get(name).map_or(ABSENT.to_owned(), |metric| {
            if !metric.has_mean() {
                return scale.middle(metric.middle()).join(" or ");
            }
            if column.has_ranges {
                let [least, most] = [metric.min, metric.max].map(|end| scale.value(end));
                return if least == most { least } else { format!("{least} to {most}") };
            }
            let half = metric.ci.map(|ci| ci.width() / 2.0 / metric.mean.abs());
            match half.filter(|half| half.is_finite()) {
                Some(half) => format!("{} {}", scale.value(metric.mean), half_width(half)),
                None => scale.value(metric.mean),
            }
        })
    }));
    cells
}
