//! The table of conditions, and the further metrics.

use super::names::Names;
use super::rows::{lined, titled};
use super::spread::left_out;
use super::style::{Style, fits};
use super::text::{heading, plain, wrap};
use crate::words::{best_first, better_word, letter};
use std::collections::{BTreeMap, BTreeSet};
use tare_findings::figures::{Scale, half_width, percent};
use tare_findings::level_words::words_of;
use tare_findings::mode::Middle;
use tare_findings::summary::{ConditionSummary, MetricSummary, Summary};
use tare_results::metric::{Better, describe, sort_key};
use tare_results::schema::Levels;
use tare_stats::Interval;

/// Cells of the little picture of where the interval and the trials lie.
const STRIP: usize = 16;

type Row<'a> = (&'a ConditionSummary, Option<&'a MetricSummary>);

/// One row a condition, best first. What does not fit the terminal is left out from the right: the picture, the ends,
/// the spread inside trials; the names, the mean and the spread between trials always stay.
pub(super) fn headline(summary: &Summary, style: Style) -> Option<String> {
    let name = summary.headline_metric.as_deref()?;
    let mut conditions = sorted(summary, name);
    let several_loads = conditions.iter().any(|(condition, _)| summary.own_threads(condition).is_some());
    let metrics = conditions.iter().filter_map(|(_, metric)| *metric);
    let largest = metrics.clone().map(|metric| metric.max.abs()).fold(0.0, f64::max);
    let first = metrics.clone().next()?;
    let scale = Scale::new(&first.unit, largest, 4);
    let columns = Columns {
        names: Names::of(summary),
        states: States::of(summary),
        top: metrics.map(|metric| metric.max).fold(0.0, f64::max),
        scale,
    };
    let better = better_word(first.better);
    let known: Vec<_> = conditions.iter().filter_map(|(condition, metric)| Some((*condition, (*metric)?))).collect();
    let hides = style.statistic.map_or(String::new(), |statistic| style.warn(&statistic.hides(&known, style)));
    let hidden = style.shorten(&mut conditions);
    let natural = Style { width: None, ..style };
    let tables = (0..=3).map(|left_out| columns.table(&conditions, left_out, natural));
    let text = tables.into_iter().find(|text| fits(text, style)).unwrap_or_else(|| match style.width {
        Some(width) if width < NARROW => columns.stacked(&conditions, style),
        _ => columns.table(&conditions, 3, style),
    });
    let unit = if columns.scale.unit.is_empty() { String::new() } else { format!(", {}", columns.scale.unit) };
    let order = best_first(several_loads);
    let words = format!("{name}{unit} ({better}; {order}; intervals over trials)");
    Some(titled(style, &words, &(text + &left_out(hidden) + &hides)))
}

/// Columns below which a row is several lines, the name on one of its own.
const NARROW: u16 = 60;

/// The conditions, best first by a metric.
fn sorted<'s>(summary: &'s Summary, name: &str) -> Vec<Row<'s>> {
    let mut conditions: Vec<Row<'_>> =
        summary.conditions.iter().map(|c| (c, c.metrics.iter().find(|metric| metric.name == name))).collect();
    let better = conditions.iter().find_map(|(_, metric)| *metric).map_or(Better::Higher, |metric| metric.better);
    conditions.sort_by(|a, b| order(a.1, b.1, better));
    // Those with a load of their own stand below the others, whose figures are no measure for them.
    conditions.sort_by_cached_key(|(condition, _)| summary.own_threads(condition));
    conditions
}

struct Columns {
    names: Names,
    states: States,
    scale: Scale,
    top: f64,
}

impl Columns {
    fn table(&self, conditions: &[Row<'_>], left_out: usize, style: Style) -> String {
        let ruler = format!("0{:─>width$}", self.scale.number(self.top), width = STRIP - 1);
        let mut head = self.names.heads();
        head.extend(self.states.heads().into_iter().map(str::to_owned));
        let figures = ["mean ± 95%", "between", "within", "min", "max", &ruler];
        let kept = &figures[..[6, 5, 3, 2][left_out]];
        head.push(kept[0].to_owned());
        head.extend(style.statistic.map(|statistic| statistic.head().to_owned()));
        head.extend(kept[1..].iter().map(|head| (*head).to_owned()));
        let heads: Vec<&str> = head.iter().map(String::as_str).collect();
        let row = |(condition, metric): &Row<'_>| {
            let mut cells = self.names.cells(condition);
            cells.extend(self.states.cells(condition));
            let mut figures = figures_of(*metric, &self.scale, self.top).into_iter().take(kept.len());
            cells.extend(figures.next());
            let statistic = style.statistic.zip(*metric).map(|(statistic, metric)| statistic.cell(metric, &self.scale));
            cells.extend(statistic);
            cells.extend(figures);
            cells
        };
        lined(style, &heads, self.names.columns(), conditions.iter().map(row))
    }

    /// For narrow terminals: a condition's name, and below it its mean, its spread and its trials.
    fn stacked(&self, conditions: &[Row<'_>], style: Style) -> String {
        let one = |(condition, metric): &Row<'_>| {
            let name = wrap(style, "", "  ", &plain(&condition.name));
            let Some(metric) = metric else { return format!("{name}  no usable trial\n") };
            let middle = self.scale.middle(metric.middle()).join(" or ");
            let between = metric.between_cov.map_or(String::new(), |cov| format!("; between {}", percent(cov)));
            let statistic = style.statistic.map_or(String::new(), |statistic| {
                format!("; {} {}", statistic.head(), statistic.cell(metric, &self.scale))
            });
            let trials: Vec<String> = self
                .states
                .heads()
                .into_iter()
                .zip(self.states.cells(condition))
                .map(|(head, n)| format!("{n} {head}"))
                .collect();
            name + &wrap(style, "  ", "  ", &format!("{middle}{statistic}{between}; {}", trials.join(", ")))
        };
        conditions.iter().map(one).collect()
    }
}

fn order(a: Option<&MetricSummary>, b: Option<&MetricSummary>, better: Better) -> std::cmp::Ordering {
    match (a, b) {
        (Some(a), Some(b)) if better == Better::Higher => b.mean.total_cmp(&a.mean),
        (Some(a), Some(b)) => a.mean.total_cmp(&b.mean),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Which columns say how trials ended: as many as there is something to say.
#[derive(Clone, Copy)]
struct States {
    disturbed: bool,
    failed: bool,
}

impl States {
    fn of(summary: &Summary) -> Self {
        Self {
            disturbed: summary.conditions.iter().any(|condition| condition.disturbed_trials > 0),
            failed: summary.conditions.iter().any(|condition| condition.failed_trials > 0),
        }
    }

    fn heads(self) -> Vec<&'static str> {
        let clean = if self.disturbed || self.failed { "clean" } else { "trials" };
        let others = [(self.disturbed, "disturbed"), (self.failed, "failed")];
        std::iter::once(clean).chain(others.into_iter().filter(|(any, _)| *any).map(|(_, head)| head)).collect()
    }

    /// Disturbed attempts that were put aside are no trials; they are among the warnings.
    fn cells(self, condition: &ConditionSummary) -> Vec<String> {
        let others = [(self.disturbed, condition.disturbed_trials), (self.failed, condition.failed_trials)];
        let others = others.into_iter().filter(|(any, _)| *any).map(|(_, n)| n.to_string());
        std::iter::once(condition.clean_trials.to_string()).chain(others).collect()
    }
}

fn figures_of(metric: Option<&MetricSummary>, scale: &Scale, top: f64) -> Vec<String> {
    let Some(metric) = metric else { return vec!["no usable trial".to_owned()] };
    let cov = |cov: Option<f64>| cov.map_or("-".to_owned(), percent);
    let middle = scale.middle(metric.middle()).join("\n");
    vec![
        middle,
        cov(metric.between_cov),
        cov(metric.within_cov),
        scale.number(metric.min),
        scale.number(metric.max),
        strip(metric, top),
    ]
}

/// `····├─●─┤····`: range of the trials as dots, interval as a line, mean as a ball; modes as balls without a line.
/// Where neither stands for the trials, their ends are balls.
fn strip(metric: &MetricSummary, top: f64) -> String {
    if top <= 0.0 || metric.min < 0.0 {
        return String::new();
    }
    let cell = |value: f64| ((value / top * (STRIP - 1) as f64).round().max(0.0) as usize).min(STRIP - 1);
    let mut cells = vec![' '; STRIP];
    cells[cell(metric.min)..=cell(metric.max)].fill('·');
    if let Some(Interval { low, high }) = metric.interval() {
        cells[cell(low)..=cell(high)].fill('─');
    }
    match metric.middle() {
        Middle::Mean(mean, _) => cells[cell(mean)] = '●',
        Middle::Modes(modes) => modes.iter().for_each(|mode| cells[cell(mode.mean)] = '●'),
        Middle::Range(least, most) => [least, most].into_iter().for_each(|end| cells[cell(end)] = '●'),
    }
    cells.into_iter().collect()
}

/// Means of the other metrics: a metric a row, conditions as columns, or below it where these do not fit. Conditions go
/// by letter where there is no room for their names.
pub(super) fn others(summary: &Summary, style: Style) -> Option<String> {
    let headline = summary.headline_metric.as_deref()?;
    let mut names: Vec<&str> = summary.conditions.iter().flat_map(|c| &c.metrics).map(|m| m.name.as_str()).collect();
    names.sort_by_key(|name| sort_key(name));
    names.dedup();
    names.retain(|name| *name != headline);
    let details = names.iter().filter(|name| describe(name).is_detail()).count();
    names.retain(|name| !describe(name).is_detail());
    if names.is_empty() {
        return None;
    }
    let known = |metric: &MetricSummary| metric.ci.is_none_or(|ci| ci.width() / 2.0 <= metric.mean.abs());
    let all_known = summary.conditions.iter().flat_map(|c| &c.metrics).all(known);
    let unknown = if all_known { "" } else { "; ±? where that is more than the mean: not known from so few trials" };
    let has_none = summary.conditions.iter().flat_map(|c| &c.metrics).any(|metric| !metric.has_mean());
    let of_modes = if has_none { "; a range where the mean describes no trial" } else { "" };
    let more = if details > 0 { format!("; {details} more in the report and with --json") } else { String::new() };
    let mut text = heading(
        style,
        &format!("other metrics, means over trials (± half of the 95% interval{unknown}{of_modes}){more}"),
    ) + "\n";
    // In the order of the table above; of many the same ones.
    let mut conditions: Vec<&ConditionSummary> = sorted(summary, headline).into_iter().map(|row| row.0).collect();
    let hidden = style.shorten(&mut conditions);
    let all: Vec<Vec<String>> = names.iter().map(|name| other_row(name, headline, &conditions)).collect();
    let table = |columns: &[String]| {
        let heads: Vec<&str> = ["metric", "unit"].into_iter().chain(columns.iter().map(String::as_str)).collect();
        let natural = Style { width: None, ..style };
        Some(lined(natural, &heads, 2, all.iter().cloned())).filter(|table| fits(table, style))
    };
    let names = short_names(&conditions);
    // One below the other, a name may have several words.
    let stacked: Vec<String> = names.iter().map(|name| name.replace(' ', "\n")).collect();
    let letters: Vec<String> = (0..conditions.len()).map(letter).collect();
    let named = names.iter().all(|name| name.chars().count() <= SHORT) && names.len() <= FEW;
    let with_names = if style.width.is_some() || named { table(&stacked) } else { None };
    if let Some(table) = with_names {
        text.push_str(&table);
    } else if named {
        text.extend(all.iter().map(|row| flowed(row, &names, style)));
    } else {
        for (letter, condition) in letters.iter().zip(&conditions) {
            text.push_str(&wrap(style, &format!("  {letter} = "), "      ", &plain(&condition.name)));
        }
        text.push_str(&table(&letters).unwrap_or_else(|| all.iter().map(|row| flowed(row, &letters, style)).collect()));
    }
    Some(text + &left_out(hidden))
}

/// Conditions, and letters of a name, up to which names stand alongside figures where they have no column.
const FEW: usize = 8;
const SHORT: usize = 28;

/// What only some of the conditions have. Of the one factor that all have, where there is one, the level alone.
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

/// A metric whose conditions do not fit next to each other: its name and unit, and below them as many conditions a line
/// as fit, each with its name or letter.
fn flowed(row: &[String], columns: &[String], style: Style) -> String {
    let [name, unit, cells @ ..] = row else { return String::new() };
    let cells: Vec<String> = columns.iter().zip(cells).map(|(column, cell)| format!("{column} {cell}")).collect();
    let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
    let each = (style.prose().saturating_sub(2) / (widest + 2)).max(1);
    let line = |cells: &[String]| {
        if widest + 2 > style.prose() {
            return cells.iter().map(|cell| wrap(style, "  ", "    ", cell)).collect();
        }
        let padded: String = cells.iter().map(|cell| format!("  {cell:widest$}")).collect();
        format!("{}\n", padded.trim_end())
    };
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    format!("{name}{unit}\n{}", cells.chunks(each).map(line).collect::<String>())
}

/// One metric over all conditions. Where no mean of the headline stands for the trials, a range does.
fn other_row(name: &str, headline: &str, chunk: &[&ConditionSummary]) -> Vec<String> {
    let by_condition: BTreeMap<&str, &MetricSummary> = chunk
        .iter()
        .filter_map(|c| Some((c.name.as_str(), c.metrics.iter().find(|metric| metric.name == name)?)))
        .collect();
    let largest = by_condition.values().map(|metric| metric.mean.abs()).fold(0.0, f64::max);
    let unit = by_condition.values().next().map_or("", |metric| metric.unit.as_str());
    let smallest = by_condition.values().map(|metric| metric.mean.abs()).fold(f64::INFINITY, f64::min);
    // One more digit where the smallest value of the row would else show only two.
    let scale = Scale::new(unit, largest, if smallest < largest / 2.0 { 4 } else { 3 });
    let mut cells = vec![plain(name), scale.unit.clone()];
    cells.extend(chunk.iter().map(|condition| {
        by_condition.get(condition.name.as_str()).map_or("-".to_owned(), |metric| {
            if !metric.has_mean() {
                return scale.middle(metric.middle()).join(" or ");
            }
            if condition.metrics.iter().any(|metric| metric.name == headline && !metric.has_mean()) {
                return format!("{} to {}", scale.number(metric.min), scale.number(metric.max));
            }
            let half = metric.ci.map(|ci| ci.width() / 2.0 / metric.mean.abs());
            match half.filter(|half| half.is_finite()) {
                Some(half) => format!("{} {}", scale.number(metric.mean), half_width(half)),
                None => scale.number(metric.mean),
            }
        })
    }));
    cells
}
