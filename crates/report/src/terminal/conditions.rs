//! The tables of conditions: one row per condition, and client location by server location.

use super::layout::{lined, titled, wrap_names};
use super::spread::left_out;
use super::style::{Style, fits, plain};
use crate::figures::Scale;
use crate::tables;
use crate::words::{self, best_first, better_word};
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::mode::Middle;
use tare_findings::placement::{GridCell, PlacementGrid};
use tare_findings::summary::Summary;
use tare_results::metric::Better;
use tare_stats::Interval;
use tare_text::percent;

/// Characters of the small picture of the interval and the range of the trials.
const STRIP: usize = 16;

pub(super) type Row<'a> = (&'a ConditionSummary, Option<&'a MetricSummary>);

/// One row per condition, best first. Columns that do not fit the terminal are left out from the right: the picture,
/// the minimum and maximum, the spread within trials; the names, the mean and the spread between trials always stay.
pub(super) fn headline(summary: &Summary, style: Style) -> Option<String> {
    let name = summary.headline_metric.as_deref()?;
    let mut conditions = sorted(summary, name);
    let several_loads = conditions.iter().any(|(condition, _)| summary.own_threads(condition).is_some());
    let metrics = conditions.iter().filter_map(|(_, metric)| *metric);
    let first = metrics.clone().next()?;
    let scale = Scale::of_middles(first.unit, metrics.clone().map(MetricSummary::middle));
    let columns = Columns {
        names: ConditionNames::of(summary),
        states: States::of(summary),
        top: metrics.map(|metric| metric.max).fold(0.0, f64::max),
        scale,
    };
    let better = better_word(first.better);
    let known: Vec<_> = conditions.iter().filter_map(|(condition, metric)| Some((*condition, (*metric)?))).collect();
    let hides = style.statistic.map_or(String::new(), |statistic| style.warn(&statistic.hides(&known, style)));
    let hidden = style.shorten(&mut conditions);
    let natural = Style { width: None, ..style };
    let mut tables = (0..=3).map(|left_out| columns.table(&conditions, left_out, natural));
    let text = tables.find(|text| fits(text, style)).unwrap_or_else(|| match style.width {
        Some(width) if width < NARROW => columns.stacked(&conditions, style),
        _ => columns.table(&conditions, 3, style),
    });
    let order = best_first(several_loads);
    let words = format!("{} ({better}; {order}; intervals over trials)", columns.scale.with_unit(name));
    Some(titled(style, &words, &(text + &left_out(hidden) + &hides)))
}

/// On terminals with fewer columns, a row takes several lines, with the name on the first.
const NARROW: u16 = 60;

pub(super) fn sorted<'s>(summary: &'s Summary, name: &str) -> Vec<Row<'s>> {
    let mut conditions: Vec<Row<'_>> =
        summary.conditions.iter().map(|c| (c, c.metrics.iter().find(|metric| metric.name == name))).collect();
    let better = conditions.iter().find_map(|(_, metric)| *metric).map_or(Better::Higher, |metric| metric.better);
    conditions.sort_by(|a, b| order(a.1, b.1, better));
    // Conditions with their own number of threads come last, because their figures are not comparable with the others.
    conditions.sort_by_cached_key(|(condition, _)| summary.own_threads(condition));
    conditions
}

struct Columns {
    names: ConditionNames,
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

    /// For narrow terminals: the name of a condition, and below it its mean, spread and trials.
    fn stacked(&self, conditions: &[Row<'_>], style: Style) -> String {
        let one = |(condition, metric): &Row<'_>| {
            let name = wrap_names(style, "", "  ", &plain(&condition.name));
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
            name + &wrap_names(style, "  ", "  ", &format!("{middle}{statistic}{between}; {}", trials.join(", ")))
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

    /// Disturbed attempts that were repeated are not trials; they are among the warnings.
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
        scale.value(metric.min),
        scale.value(metric.max),
        strip(metric, top),
    ]
}

/// `····├─●─┤····`: range of the trials as dots, interval as a line, mean as a ball; modes as balls without a line. If
/// neither describes the trials, balls mark their minimum and maximum.
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

struct ConditionNames {
    /// Empty when conditions have their own names.
    factors: Vec<String>,
}

impl ConditionNames {
    /// One column per factor when the name of every condition consists of its levels, and all have the same factors.
    pub(crate) fn of(summary: &Summary) -> Self {
        let factors: Vec<String> =
            summary.conditions.first().map_or(Vec::new(), |c| c.levels.keys().cloned().collect());
        let plain = |condition: &ConditionSummary| {
            condition.levels.keys().eq(&factors) && tare_results::levels_of(&condition.name) == condition.levels
        };
        let factors = if summary.conditions.iter().all(plain) { factors } else { Vec::new() };
        Self { factors }
    }

    pub(crate) fn columns(&self) -> usize {
        self.factors.len().max(1)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        if self.factors.is_empty() {
            vec!["condition".to_owned()]
        } else {
            self.factors.iter().map(|f| plain(f)).collect()
        }
    }

    pub(crate) fn cells(&self, condition: &ConditionSummary) -> Vec<String> {
        if self.factors.is_empty() {
            return vec![plain(&condition.name)];
        }
        let level = |factor| condition.levels.get(factor).map_or(String::new(), |level| plain(level));
        self.factors.iter().map(level).collect()
    }
}

/// Client location by server location, in the form used by ["Benchmarking? Mind your
/// core."](https://mysqlonarm.github.io/Benchmarking-Mind-Your-Core/).
pub(super) fn grids(summary: &Summary, style: Style) -> Option<String> {
    let parts: Vec<String> = summary.placement_grids.iter().map(|grid| grid_table(grid, summary, style)).collect();
    (!parts.is_empty()).then(|| parts.join("\n"))
}

fn grid_table(grid: &PlacementGrid, summary: &Summary, style: Style) -> String {
    let scale = tables::scale_of(grid, summary);
    let servers: Vec<String> = grid.servers.iter().map(|server| plain(&words::place(server))).collect();
    let heads: Vec<&str> = std::iter::once("clients on").chain(servers.iter().map(String::as_str)).collect();
    let rows = grid.clients.iter().zip(&grid.cells).map(|(client, row)| {
        let figure = |found: &GridCell| grid_cell(found, grid, summary, &scale);
        let figures = row.iter().map(|found| found.as_ref().map_or("-".to_owned(), figure));
        std::iter::once(plain(&words::place(client))).chain(figures).collect()
    });
    let head = format!(
        "{}: clients by row, server by column{} (mean ± half of the 95% interval, or modes)",
        scale.with_unit(&grid.metric),
        plain(&words::at(&grid.levels))
    );
    titled(style, &head, &lined(style, &heads, 1, rows))
}

fn grid_cell(found: &GridCell, grid: &PlacementGrid, summary: &Summary, scale: &Scale) -> String {
    let metric = summary.metric(&found.condition, &grid.metric);
    metric.map_or(String::new(), |metric| scale.middle(metric.middle()).join("\n"))
}
