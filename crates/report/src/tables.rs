//! Tables as values: built here once, and drawn by the terminal, the page and the exports.

use crate::figures::{Scale, change, changes_of, figure, is_known, times, times_between, times_off_one};
use crate::terminal::plain;
use crate::words::find::shown_interval;
use crate::words::{between, build_verdict, hash, waits, why};
use std::collections::BTreeSet;
use tare_findings::builds::BuildComparison;
use tare_findings::captures::Grown;
use tare_findings::condition::{ConditionSummary, Spread};
use tare_findings::counters::{CounterCell, CounterTable};
use tare_findings::effects::Effect;
use tare_findings::factors::words_of;
use tare_findings::history::{MetricHistory, Segment};
use tare_findings::lines::LineSummary;
use tare_findings::placement::PlacementGrid;
use tare_findings::relative::{GroupRatios, RelativeCell, RelativeTable};
use tare_findings::scaling::Scaling;
use tare_findings::summary::Summary;
use tare_findings::time::{ConditionTime, Counted, EventSide};
use tare_findings::why::{EventChange, PartChange, Why};
use tare_results::metric;
use tare_results::steps::{self, Figure};
use tare_results::unit::Unit;
use tare_stats::{Estimate, Interval};
use tare_text::{decimal, percent};

#[derive(Clone, Copy)]
pub enum Head<'a> {
    /// A column of text, aligned left.
    L(&'a str),
    /// A column of figures, aligned right.
    R(&'a str),
}
use Head::{L, R};

/// The content of a cell; `None` if nothing was measured, for which each output has its own sign.
pub struct Cell(pub Option<String>);

impl<T: ToString> From<T> for Cell {
    fn from(value: T) -> Self {
        Self(Some(value.to_string()))
    }
}

pub struct Table<'a> {
    pub heads: Vec<Head<'a>>,
    pub rows: Vec<Vec<Cell>>,
}

macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(Cell::from($cell)),*] };
}

/// Both limits of an interval, each formatted by `end`.
fn interval(ci: Option<Interval>, end: impl Fn(f64) -> String) -> Cell {
    Cell(ci.map(|ci| between(Some(ci), "", end)))
}

pub(crate) fn builds(builds: &[BuildComparison]) -> Table<'_> {
    let row = |found: &BuildComparison| {
        let (ratio, verdict) = (times(found.ratio), build_verdict(found.verdict));
        vec![
            words_of(&found.levels).into(),
            (&found.b).into(),
            ratio.into(),
            Cell(found.ci.map(times_between)),
            verdict.into(),
        ]
    };
    let heads = vec![L("at"), L("build"), R("ratio"), R("95% interval"), L("verdict")];
    Table { heads, rows: builds.iter().map(row).collect() }
}

/// A value above its interval.
fn with_interval(value: f64, ci: Option<Interval>, decimals: usize) -> String {
    let number = |value: f64| decimal(value, decimals);
    let interval = ci.map_or(String::new(), |ci| format!("\n{} to {}", number(ci.low), number(ci.high)));
    number(value) + &interval
}

/// The scalability law of each ladder.
pub(crate) fn laws(laws: &[Scaling]) -> Table<'static> {
    let row = |law: &Scaling| {
        cells![
            &law.metric,
            &law.over,
            words_of(&law.levels),
            with_interval(law.lambda, law.lambda_ci, 1),
            with_interval(law.sigma, law.sigma_ci, 4),
            with_interval(law.kappa, law.kappa_ci, 6),
            law.peak.map_or("none".to_owned(), |peak| decimal(peak, 1)),
            if law.retrograde { "yes" } else { "no" },
        ]
    };
    let of_law = [R("base rate"), R("contention"), R("coherency"), R("peak at"), L("negative")];
    let heads = [L("metric"), L("over"), L("at")].into_iter().chain(of_law).collect();
    Table { heads, rows: laws.iter().map(row).collect() }
}

/// The gain of each step of a ladder and the prediction of its law, for the headline metric, with a head.
pub(crate) fn steps(summary: &Summary) -> Option<(String, Table<'static>)> {
    const UNKNOWN: &str = "?";
    let headline = summary.headline_metric.as_deref()?;
    let unit = metric::describe(headline).unit;
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut known = "";
    for law in summary.scaling.iter().filter(|law| law.metric == headline) {
        for step in &law.steps {
            let negative = if step.retrograde { "yes" } else { "" };
            let name = format!("{} to {} {}", step.from, step.to, law.over);
            let mut row = cells![words_of(&law.levels), name, times(step.ratio)];
            row.extend([Cell(step.ci.map(times_between)), negative.into()]);
            rows.push(row);
        }
        if let Some(predicted) = &law.prediction {
            let ends = match predicted.ci {
                Some(ci) if !is_known(predicted.value, ci) => {
                    known = "; ?: not known from so few trials";
                    UNKNOWN.into()
                }
                ci => interval(ci, |value| figure(value, unit)),
            };
            let name = format!("{} {}: predicted", predicted.n, law.over);
            let mut row = cells![words_of(&law.levels), name, figure(predicted.value, unit)];
            row.extend([ends, "".into()]);
            rows.push(row);
        }
    }
    let head = format!("steps of {headline} (gain: after / before; predictions were not measured{known})");
    let heads = vec![L("at"), L("step"), R("gain"), R("95% interval"), L("negative")];
    (!rows.is_empty()).then_some((head, Table { heads, rows }))
}

/// What the cells of [`load_steps`] are.
pub(crate) const LOAD_STEPS: &str =
    "means over trials; latencies of queries, or of writing statements where there are none";

/// One line per step and condition; `None` if no load has steps.
pub(crate) fn load_steps(summary: &Summary) -> Option<Table<'static>> {
    let steps = steps_in_order(summary.conditions.first()?);
    let line = |step: &str, condition: &ConditionSummary| {
        let mut row = vec![step.into(), (&condition.name).into()];
        row.extend(step_cells(condition, step));
        row
    };
    let rows = steps.iter().flat_map(|step| summary.conditions.iter().map(move |condition| line(step, condition)));
    let figures = ["rows/s", "queries/s", "s", "p99 ms", "longest ms", "server us/o", "missed"];
    let heads = [L("step"), L("condition")].into_iter().chain(figures.map(R)).collect();
    (!steps.is_empty()).then(|| Table { heads, rows: rows.collect() })
}

/// Every figure of a condition: its kind, the step or role it belongs to, and its mean.
fn step_figures(condition: &ConditionSummary) -> impl Iterator<Item = (Figure, &str, f64)> {
    condition.metrics.iter().filter_map(|metric| {
        let (figure, of) = steps::figure(&metric.name)?;
        Some((figure, of, metric.mean))
    })
}

/// The steps, in the order in which they began.
fn steps_in_order(condition: &ConditionSummary) -> Vec<String> {
    let begins = step_figures(condition).filter(|(figure, ..)| *figure == Figure::BeginS);
    let mut begins: Vec<(&str, f64)> = begins.map(|(_, step, begin_s)| (step, begin_s)).collect();
    begins.sort_by(|a, b| a.1.total_cmp(&b.1));
    begins.into_iter().map(|(step, _)| step.to_owned()).collect()
}

fn step_cells(condition: &ConditionSummary, step: &str) -> [Cell; 7] {
    // The name of a role contains no _.
    let in_step = |wanted: Figure| {
        step_figures(condition).filter(move |(figure, of, _)| {
            *figure == wanted && (*of == step || of.rsplit_once('_').is_some_and(|(of, _)| of == step))
        })
    };
    let largest = |figure| in_step(figure).max_by(|a, b| a.2.total_cmp(&b.2));
    let (rows, queries) = (largest(Figure::RowsPerS), largest(Figure::QueriesPerS));
    let latency = |figure: &str| {
        let (_, part, _) = queries.or(rows)?;
        let name = format!("latency_ms_{figure}_of_{part}");
        condition.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.mean)
    };
    let mean = |found: Option<(Figure, &str, f64)>| found.map(|(.., mean)| mean);
    let shown = |value: Option<f64>, digits: usize| Cell(value.map(|value| format!("{value:.digits$}")));
    [
        shown(mean(rows), 0),
        shown(mean(queries), 0),
        shown(mean(largest(Figure::ElapsedS)), 3),
        shown(latency("p99"), 3),
        shown(latency("max"), 3),
        shown(mean(largest(Figure::ServerCpuUs)), 1),
        Cell(mean(largest(Figure::MissedFraction)).map(|missed| format!("{:.1}%", 100.0 * missed))),
    ]
}

/// The spread of each condition over several metrics, the steadiest condition first.
pub(crate) fn spreads(summary: &Summary) -> Vec<(&ConditionSummary, &Spread)> {
    let all = summary.conditions.iter().filter_map(|condition| Some((condition, condition.spread.as_ref()?)));
    let mut rows: Vec<_> = all.filter(|(_, spread)| spread.metrics > 1).collect();
    rows.sort_by(|a, b| a.1.range_average.total_cmp(&b.1.range_average));
    rows
}

/// Shares that grow along a ladder; the heads are those of the name and of the share at both ends.
pub(crate) fn growth<'a>(heads: [&'a str; 3], grown: impl Iterator<Item = &'a Grown>) -> Table<'a> {
    let [what, first, last] = heads;
    // A difference of shares, and no change in percent of a share.
    let points = |share: f64| change(share).trim_end_matches('%').to_owned();
    let row = |of: &Grown| {
        let mut row = cells![&of.name, percent(of.first), percent(of.last), points(of.per_doubling)];
        row.push(interval(of.ci, points));
        row
    };
    let heads = vec![L(what), R(first), R(last), R("points each doubling"), R("95% interval")];
    Table { heads, rows: grown.map(row).collect() }
}

/// The parts of the difference from A's time per transaction to B's. Shares are only given if the difference is shown.
pub(crate) fn waterfall(found: &Why) -> Table<'static> {
    let [a, b] = found.sides.each_ref().map(|side| side.us_per_transaction);
    let scale = Scale::new(Unit::Us, a.max(b), 4);
    let signed = |us: f64| format!("{}{}", if us > 0.0 { "+" } else { "" }, scale.number(us));
    let has_shares = found.own().shown;
    let row = |name: &str, [a, b]: [f64; 2], (us, ci): (f64, Option<Interval>), shown: bool, share: Option<f64>| {
        let star = if shown { " *" } else { "" };
        let mut row = cells![name, scale.number(a), scale.number(b), signed(us) + star];
        row.push(interval(ci, signed));
        row.extend(has_shares.then(|| Cell(share.map(why::signed))));
        row
    };
    let of_part = |part: &PartChange| {
        row(&why::part(&part.part), [part.a_us, part.b_us], (part.us, part.ci), part.shown, part.share)
    };
    let mut rows: Vec<Vec<Cell>> = found.parts.iter().chain([&found.not_explained]).map(of_part).collect();
    let whole = found.difference;
    rows.push(row("all", [a, b], (whole.us, whole.ci), whole.shown, found.undisturbed.is_none().then_some(1.0)));
    if let Some(own) = found.undisturbed {
        rows.push(row("without other programs", found.own_us(), (own.us, own.ci), own.shown, Some(1.0)));
    }
    let mut heads = vec![L("part"), R("A"), R("B"), R("B - A"), R("95% interval")];
    heads.extend(has_shares.then_some(R("share")));
    Table { heads, rows }
}

pub(crate) fn event_changes<'a>(changes: &[&EventChange]) -> Table<'a> {
    let row = |change: &&EventChange| {
        let scale = Scale::new(Unit::Plain, change.a.abs().max(change.b.abs()), 3);
        let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, scale.figure(value));
        let mut row = cells![
            why::side(change.event.side),
            why::counted(&change.event.what),
            scale.figure(change.a),
            scale.figure(change.b),
            signed(change.difference)
        ];
        row.push(interval(change.ci, signed));
        row
    };
    let heads = vec![L("side"), L("event"), R("A"), R("B"), R("B - A"), R("95% interval")];
    Table { heads, rows: changes.iter().map(row).collect() }
}

/// Events of each condition, one row per side (client and server).
pub(crate) fn events<'a>(times: impl Iterator<Item = &'a ConditionTime>) -> Table<'a> {
    let times: Vec<&ConditionTime> = times.filter(|time| !time.events.is_empty()).collect();
    let all: BTreeSet<&Counted> = times.iter().flat_map(|time| &time.events).map(|mean| &mean.event.what).collect();
    let row = |time: &ConditionTime, side: EventSide| {
        let of = |what: &&Counted| {
            let found = time.events.iter().find(|mean| mean.event.side == side && mean.event.what == **what);
            Cell(found.map(|mean| figure(mean.value, Unit::Plain)))
        };
        cells![&time.name, why::side(side)].into_iter().chain(all.iter().map(of)).collect::<Vec<Cell>>()
    };
    let sides = |time: &&ConditionTime| [EventSide::Client, EventSide::Server].map(|side| row(time, side));
    let names = all.iter().map(|what| R(why::counted(what)));
    let heads = [L("condition"), L("side")].into_iter().chain(names).collect();
    Table { heads, rows: times.iter().flat_map(sides).collect() }
}

/// Cache lines that cores take from each other; `of` is the head of the first column.
pub(crate) fn lines<'a>(of: &'a str, lines: impl Iterator<Item = (&'a str, &'a LineSummary)>) -> Table<'a> {
    let row = |(belongs, line): (&str, &LineSummary)| {
        let found = format!("{} of {}", line.counts.found(), line.counts.loads);
        let (written, read) = (waits::uses_of_line(&line.written_by), waits::uses_of_line(&line.read_by));
        cells![belongs, &line.name, found, line.counts.found_remote, written, read, waits::sharing(line)]
    };
    let heads = vec![L(of), L("line"), R("loads that found it elsewhere"), R("on another node")];
    let heads = heads.into_iter().chain([L("written by"), L("read by"), L("sharing")]).collect();
    Table { heads, rows: lines.map(row).collect() }
}

pub(crate) fn counters(table: &CounterTable) -> Table<'_> {
    let heads = std::iter::once("threads").chain(table.strategies.iter().map(String::as_str)).map(R).collect();
    let seconds = |cell: &Option<CounterCell>| Cell(cell.as_ref().map(|cell| digits(cell.seconds)));
    let rows = table.threads.iter().zip(&table.cells);
    let rows = rows.map(|(threads, row)| std::iter::once(threads.into()).chain(row.iter().map(seconds)).collect());
    Table { heads, rows: rows.collect() }
}

/// Effects of two-level factors on the mean and on the spread, preceded by the metric if there are several.
pub(crate) fn effects<'e>(effects: impl Iterator<Item = &'e Effect>, several: bool) -> Table<'static> {
    let star = |shown: bool| if shown { " *" } else { "" };
    let row = |effect: &Effect| {
        let mut row = Vec::new();
        row.extend(several.then(|| (&effect.metric).into()));
        let mean = if effect.shown { times_off_one(effect.mean_ratio) } else { times(effect.mean_ratio) };
        row.extend(cells![&effect.term, &effect.levels, mean + star(effect.shown)]);
        row.push(Cell(shown_interval(effect.ci).map(times_between)));
        row.push(Cell(effect.spread_ratio.map(|ratio| times(ratio) + star(effect.spread_shown))));
        row.push(Cell(shown_interval(effect.spread_ci).map(times_between)));
        row
    };
    let mut heads = Vec::new();
    heads.extend(several.then_some(L("metric")));
    heads.extend([L("factor"), L("levels"), R("mean"), R("95% interval"), R("spread"), R("95% interval")]);
    Table { heads, rows: effects.map(row).collect() }
}

pub(crate) fn segments(line: &MetricHistory) -> Table<'static> {
    let largest = line.segments.iter().map(|segment| segment.mean.abs()).fold(0.0, f64::max);
    let scale = Scale::new(line.unit, largest, 4);
    let ratio = |found: Option<Estimate>| found.map_or("-".to_owned(), |found| change(found.value - 1.0));
    let interval = |found: Option<Estimate>| found.and_then(|of| of.ci).map_or("-".to_owned(), changes_of);
    let commits = line.changes.iter().any(|change| change.commits.is_some());
    let uncertain = line.changes.iter().any(|change| !change.place.is_certain());
    let run = |place: usize| line.points.get(place).map_or("", |point| point.run.as_str());
    let mut heads = vec![L("from"), R("runs"), R("mean"), R("change"), R("95% interval"), R("since first")];
    heads.extend(uncertain.then_some(R("between (95%)")));
    heads.extend(commits.then_some(R("commits")));
    let row = |(place, segment): (usize, &Segment)| {
        let change = place.checked_sub(1).and_then(|place| line.changes.get(place));
        let step = change.map(|found| found.ratio);
        let mut row = cells![
            plain(run(segment.runs.start)),
            segment.runs.len(),
            scale.figure(segment.mean),
            ratio(step),
            interval(step)
        ];
        row.push(ratio(segment.against_first).into());
        let ends = change.map(|change| change.place.ends());
        let ends = ends.map_or("-".to_owned(), |(before, after)| format!("{}..{}", run(before), run(after)));
        row.extend(uncertain.then(|| plain(&ends).into()));
        let range = change.and_then(|change| change.commits.as_ref());
        let range = range.map_or("-".to_owned(), |(last, first)| format!("{}..{}", hash(last), hash(first)));
        row.extend(commits.then(|| range.into()));
        row
    };
    Table { heads, rows: line.segments.iter().enumerate().map(row).collect() }
}

pub(crate) fn load_groups(table: &RelativeTable) -> Table<'_> {
    let row = |of: &GroupRatios| {
        let figures = [of.mean, of.least, of.most].map(|ratio| format!("{ratio:.2}"));
        let named = cells![of.group, &of.column, of.loads];
        named.into_iter().chain(figures.into_iter().map(Cell::from)).collect()
    };
    let heads = vec![L("group"), L(&table.factor), R("loads"), R("mean"), R("least"), R("most")];
    Table { heads, rows: table.groups.iter().map(row).collect() }
}

/// Four digits, or two decimals, or two digits of a small value.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 100.0 => 1,
        size if !(1e-9..0.1).contains(&size) => 2,
        size => (1.0 - size.log10().floor()) as usize,
    };
    decimal(value, decimals)
}

/// The cost of an operation for the server: one row per load and build, with heads for CPU time, for CPU time relative
/// to the base, and for the six other quantities.
pub(crate) fn costs<'a>(table: &'a RelativeTable, heads: [&'a str; 8]) -> Table<'a> {
    let figure = |value: Option<f64>| Cell(value.map(digits));
    let mut rows = Vec::new();
    for row in &table.rows {
        let base_us = row.cells.first().and_then(|cell| cell.as_ref()?.cost.cpu_us).filter(|us| *us > 0.0);
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            let Some(RelativeCell { cost, .. }) = cell else { continue };
            let of_base = cost.cpu_us.zip(base_us).map(|(us, base_us)| us / base_us);
            let kilobytes = [cost.read_bytes, cost.written_bytes].map(|bytes| bytes.map(|bytes| bytes / 1000.0));
            let counts = [cost.cpu_us, of_base, cost.switches, cost.reads, cost.writes, cost.flushes];
            let named = cells![row.name(), column];
            rows.push(named.into_iter().chain(counts.into_iter().chain(kilobytes).map(figure)).collect());
        }
    }
    Table { heads: [L("load"), L(&table.factor)].into_iter().chain(heads.map(R)).collect(), rows }
}

/// One scale for all means of a grid.
pub(crate) fn scale_of(grid: &PlacementGrid, summary: &Summary) -> Scale {
    let cells = || grid.cells.iter().flatten().flatten();
    let largest = cells().map(|cell| cell.mean.abs()).fold(0.0, f64::max);
    let unit = cells().find_map(|cell| Some(summary.metric(&cell.condition, &grid.metric)?.unit));
    Scale::new(unit.unwrap_or_default(), largest, 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_of_any_size_fits_its_column() {
        let ci = Some(Interval { low: -1e299, high: 3e300 });
        assert_eq!(with_interval(1e300, ci, 1), "1.00e300\n-1.00e299 to 3.00e300");
        assert_eq!(with_interval(0.02671, None, 4), "0.0267");
    }

    #[test]
    fn a_small_figure_keeps_two_digits_next_to_large_ones() {
        assert_eq!(
            [12_345.0, 521.25, 2.0, 0.25, 0.004, 0.0, 1e300].map(digits),
            ["12345", "521.2", "2.00", "0.25", "0.0040", "0.00", "1.00e300"]
        );
    }

    #[test]
    fn a_share_that_grows_does_so_by_points() {
        let ci = Some(Interval { low: 0.05, high: 0.07 });
        let grown =
            Grown { name: "spin_lock".to_owned(), first: 0.02, last: 0.14, per_doubling: 0.06, ci, shown: true };
        let table = growth(["functions", "first", "last"], std::iter::once(&grown));
        let row: Vec<String> = table.rows[0].iter().filter_map(|cell| cell.0.clone()).collect();
        assert_eq!(row[..4], ["spin_lock", "2.0%", "14%", "+6.0"]);
        assert!(!row[4].contains('%') && matches!(table.heads[3], R(head) if head.contains("points")), "{row:?}");
    }
}
