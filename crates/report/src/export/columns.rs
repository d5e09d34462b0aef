//! The columns of all tables: each with its meaning, the type of its values and where they come from. `docs/export.md`
//! is generated from them.

use std::borrow::Cow;
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::relative::{Cost, RelativeCell, RelativeRow};
use tare_results::covariate::Covariate;
use tare_results::metric;
use tare_results::schema::{Levels, SampleRecord, ScheduleRecord, ThreadRecord, TrialRecord};
use tare_stats::ratio::Verdict;

/// The subject of a row; which fields are set depends on the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TidyRow<'a> {
    pub condition: &'a str,
    pub levels: &'a Levels,
    pub trial: Option<&'a TrialRecord>,
    /// Whether the tables of `tare show` include the trial.
    pub analysed: bool,
    /// Why it failed, in its row of the table of values.
    pub failed: Option<&'a str>,
    pub sample: Option<&'a SampleRecord>,
    pub value: Option<(&'a str, f64)>,
    pub thread: Option<&'a ThreadRecord>,
    /// Its row and cell in the table of builds by loads.
    pub relative: Option<(&'a RelativeRow, &'a RelativeCell)>,
    pub summary: Option<(&'a ConditionSummary, &'a MetricSummary)>,
}

/// A column: name, type and description, and its value in a row.
pub(crate) struct Column {
    name: &'static str,
    kind: Kind,
    help: &'static str,
    pub get: for<'a> fn(&TidyRow<'a>) -> Cell<'a>,
}

impl Column {
    pub(crate) fn field(&self) -> Field {
        Field { name: Cow::Borrowed(self.name), kind: self.kind, help: self.help }
    }
}

type Get = for<'a> fn(&TidyRow<'a>) -> Cell<'a>;

const fn column(name: &'static str, kind: Kind, help: &'static str, get: Get) -> Column {
    Column { name, kind, help, get }
}

pub(crate) fn factor_column(factor: &str) -> String {
    format!("factor_{factor}")
}

/// A column that only some rows have: for a trial, a thread or a summary.
macro_rules! column {
    ($of:ident, $name:literal, $kind:ident, $help:literal, $cell:expr) => {
        column($name, Kind::$kind, $help, |row| of(row.$of, $cell))
    };
}

pub(crate) const CONDITION: &[Column] =
    &[column("condition", Kind::Text, "name of the condition", |row| Cell::text(row.condition))];

/// Trial and attempt, which identify a trial in every table.
pub(crate) const TRIAL: &[Column] = &[
    column!(trial, "trial", Whole, "number of the trial in the plan, from 0", |t| Cell::whole(t.trial)),
    column!(trial, "attempt", Whole, "1 for the first attempt at the trial", |t| Cell::whole(t.attempt)),
    column("analysed", Kind::Flag, "whether the tables of `tare show` contain it", |row| Cell::Flag(row.analysed)),
];

pub(crate) const ENDED: &[Column] = &[
    column!(trial, "block", Whole, "pass over all conditions that it belongs to, from 0", |t| Cell::whole(t.block)),
    column!(trial, "outcome", Text, "ok, failed, or disturbed: set aside for another attempt", |t| {
        Cell::text(t.outcome.to_string())
    }),
    column!(trial, "reason", Text, "why it failed, or what disturbed it", |t| of(t.reason.as_deref(), Cell::text)),
    column!(trial, "started_at", Text, "start, RFC 3339 in UTC", |t| Cell::text(&t.started_at)),
    column!(trial, "elapsed_s", Number, "whole length with start, warm-up and stop of the server, seconds", |t| {
        Cell::number(Some(t.elapsed_s))
    }),
    column!(trial, "samples", Whole, "measured runs in it", |t| Cell::whole(t.sample_count())),
    column!(trial, "server_version", Text, "version that the server itself reports", |t| of(
        t.server_version.as_deref(),
        Cell::text
    )),
    column!(trial, "host", Text, "name of the machine that it ran on", |t| of(t.ran_on.as_ref(), |on| Cell::text(
        &on.host
    ))),
];

/// The mark of a trial that counts although it was disturbed.
pub(crate) const DISTURBED: &[Column] =
    &[column("disturbed", Kind::Text, "what disturbed the trial; empty where nothing did", |row| {
        of(row.trial.filter(|_| row.failed.is_none()).and_then(|t| t.reason.as_deref()), Cell::text)
    })];

/// The mark of a failed trial, which has one row without a value.
pub(crate) const FAILED: &[Column] =
    &[column("failed", Kind::Text, "why the trial failed; empty where it gave values", |row| {
        of(row.failed, Cell::text)
    })];

pub(crate) const SAMPLE: &[Column] =
    &[column("sample", Kind::Whole, "number in the trial, from 0", |row| of(row.sample, |s| Cell::whole(s.sample)))];

pub(crate) const SAMPLE_TIME: &[Column] = &[
    column!(sample, "sample_started_at", Text, "start of the sample, RFC 3339 in UTC", |s| Cell::text(&s.started_at)),
    column!(sample, "sample_elapsed_s", Number, "length of the sample, seconds", |s| Cell::number(Some(s.elapsed_s))),
];

pub(crate) const METRIC: &[Column] =
    &[column("metric", Kind::Text, "name of the metric", |row| of(row.value, |(name, _)| Cell::text(name)))];

pub(crate) const METRIC_UNIT: &[Column] = &[
    column("unit", Kind::Text, "unit of the value", |row| {
        of(name(row), |name| Cell::text(metric::describe(name).unit.name()))
    }),
    column("better", Kind::Text, "higher or lower: which way the metric improves", |row| {
        of(name(row), |name| Cell::text(better(metric::describe(name).better)))
    }),
];

pub(crate) const VALUE: &[Column] =
    &[column("value", Kind::Number, "the value, unrounded", |row| Cell::number(row.value.map(|(_, value)| value)))];

/// The value that represents a trial, where it is not the mean of its samples.
pub(crate) const VALUE_OF_TRIAL: Column = column(
    "value",
    Kind::Number,
    "the value, unrounded; a percentile of several samples is that of all their transactions, once per trial",
    |row| Cell::number(row.value.map(|(_, value)| value)),
);

pub(crate) const COVARIATE: &[Column] = &[
    column("covariate", Kind::Text, "name of the covariate", |row| of(row.value, |(name, _)| Cell::text(name))),
    column("unit", Kind::Text, "unit of the value; none for counts", |row| {
        of(row.value.and_then(|(name, _)| Covariate::of(name)), |known| Cell::text(known.unit.name()))
    }),
];

pub(crate) const THREAD: &[Column] = &[
    column!(thread, "class", Text, "client, connection (serves a client) or background", |t| {
        Cell::text(t.class.to_string())
    }),
    column("pair", Kind::Whole, "number of its connection: client and connection of one number are a pair", |row| {
        of(row.thread.and_then(|t| t.pair), Cell::whole)
    }),
    column!(thread, "pid", Whole, "its process", |t| Cell::whole(t.pid)),
    column!(thread, "tid", Whole, "thread ID of the kernel", |t| Cell::whole(t.tid)),
    column!(thread, "name", Text, "the kernel's name of the thread", |t| Cell::text(&t.name)),
    column!(thread, "allowed_cpus", Text, "CPUs it was allowed to run on, as read back from the kernel", |t| {
        Cell::text(t.allowed_cpus.to_string())
    }),
    column("seen_cpus", Kind::Text, "CPU:observations, joined by spaces", |row| of(row.thread, seen)),
    column!(thread, "migrations", Whole, "moves between CPUs", |t| Cell::whole(t.migrations)),
    column!(thread, "voluntary_switches", Whole, "voluntary context switches", |t| Cell::whole(t.voluntary_switches)),
    column!(thread, "involuntary_switches", Whole, "involuntary context switches", |t| Cell::whole(
        t.involuntary_switches
    )),
    column!(thread, "user_s", Number, "user CPU time, seconds", |t| Cell::number(Some(t.user_s))),
    column!(thread, "system_s", Number, "system CPU time, seconds", |t| Cell::number(Some(t.system_s))),
    column("ran_s", Kind::Number, "time on a CPU, seconds; where the kernel reports it", |row| {
        schedule(row, |s| s.ran_s)
    }),
    column("waited_s", Kind::Number, "time runnable without a CPU, seconds", |row| schedule(row, |s| s.waited_s)),
    column("slept_s", Kind::Number, "time neither running nor runnable, seconds", |row| schedule(row, |s| s.slept_s)),
];

pub(crate) const SUMMARY: &[Column] = &[
    column!(summary, "trials", Whole, "trials analysed", |(_, m)| Cell::whole(m.trials)),
    column!(summary, "clean_trials", Whole, "trials of the condition that nothing disturbed", |(c, _)| {
        Cell::whole(c.clean_trials)
    }),
    column!(summary, "failed_trials", Whole, "trials of which an attempt failed and none gave a result", |(c, _)| {
        Cell::whole(c.failed_trials)
    }),
    column("mean", Kind::Number, "mean over trials of the trial means", |row| figure(row, |m| Some(m.mean))),
    column("ci_low", Kind::Number, "lower end of its 95% interval over trials; none below two trials", |row| {
        figure(row, |m| m.ci.map(|ci| ci.low))
    }),
    column("ci_high", Kind::Number, "upper end of that interval", |row| figure(row, |m| m.ci.map(|ci| ci.high))),
    column(
        "within_cov",
        Kind::Number,
        "coefficient of variation of a trial's samples, averaged, as a fraction",
        |row| figure(row, |m| m.within_cov),
    ),
    column("between_cov", Kind::Number, "coefficient of variation of the trial means, as a fraction", |row| {
        figure(row, |m| m.between_cov)
    }),
    column("min", Kind::Number, "smallest mean of a trial", |row| figure(row, |m| Some(m.min))),
    column("max", Kind::Number, "largest mean of a trial", |row| figure(row, |m| Some(m.max))),
    column!(
        summary,
        "modes",
        Whole,
        "2 or 3 where the trials fall into modes, and the mean describes no trial; else 1",
        |(_, m)| Cell::whole(m.modes.len().max(1))
    ),
];

/// A build or a value of an option, with one load, compared with the first.
pub(crate) const RELATIVE: &[Column] = &[
    column!(relative, "group", Text, "kind of load: point, range, aggregated range, write, mixed", |(row, _)| {
        Cell::text(row.group.to_string())
    }),
    column("ratio", Kind::Number, "metric / that of the base with the same load; 1 for the base", |row| {
        Cell::number(row.relative.map(|(_, cell)| cell.ratio))
    }),
    column("ratio_low", Kind::Number, "lower end of the 95% interval of the ratio, for itself", |row| {
        Cell::number(row.relative.and_then(|(_, cell)| cell.ci).map(|ci| ci.low))
    }),
    column("ratio_high", Kind::Number, "upper end of it", |row| {
        Cell::number(row.relative.and_then(|(_, cell)| cell.ci).map(|ci| ci.high))
    }),
    column(
        "decided",
        Kind::Text,
        "faster, slower or equivalent, at the rate of the first sentence; else empty",
        |row| of(row.relative.and_then(|(_, cell)| cell.verdict).and_then(decided), Cell::text),
    ),
    column("cpu_us_per_operation", Kind::Number, "CPU time of the server, microseconds", |row| cost(row, |c| c.cpu_us)),
    column("switches_per_operation", Kind::Number, "context switches of the server", |row| cost(row, |c| c.switches)),
    column("reads_per_operation", Kind::Number, "read requests to the devices of the server's files", |row| {
        cost(row, |c| c.reads)
    }),
    column("writes_per_operation", Kind::Number, "write requests to them", |row| cost(row, |c| c.writes)),
    column("flushes_per_operation", Kind::Number, "flushes of their caches", |row| cost(row, |c| c.flushes)),
    column("read_bytes_per_operation", Kind::Number, "bytes that the server fetched from storage", |row| {
        cost(row, |c| c.read_bytes)
    }),
    column("written_bytes_per_operation", Kind::Number, "bytes that the server sent to storage", |row| {
        cost(row, |c| c.written_bytes)
    }),
];

fn cost<'a>(row: &TidyRow<'a>, of_cost: fn(&Cost) -> Option<f64>) -> Cell<'a> {
    Cell::number(row.relative.and_then(|(_, cell)| of_cost(&cell.cost)))
}

fn decided(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Faster => Some("faster"),
        Verdict::Slower => Some("slower"),
        Verdict::Equivalent => Some("equivalent"),
        Verdict::Inconclusive => None,
    }
}

fn of<'a, T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
    value.map_or(Cell::Nothing, cell)
}

fn name<'a>(row: &TidyRow<'a>) -> Option<&'a str> {
    row.value.map(|(name, _)| name)
}

fn figure<'a>(row: &TidyRow<'a>, of_metric: fn(&MetricSummary) -> Option<f64>) -> Cell<'a> {
    Cell::number(row.summary.and_then(|(_, metric)| of_metric(metric)))
}

fn schedule<'a>(row: &TidyRow<'a>, part: fn(&ScheduleRecord) -> f64) -> Cell<'a> {
    Cell::number(row.thread.and_then(|thread| thread.schedule.as_ref()).map(part))
}

fn seen(thread: &ThreadRecord) -> Cell<'_> {
    let seen: Vec<String> = thread.seen_cpus.iter().map(|(cpu, sightings)| format!("{cpu}:{sightings}")).collect();
    if seen.is_empty() { Cell::Nothing } else { Cell::Text(seen.join(" ").into()) }
}

pub(crate) fn better(better: metric::Better) -> &'static str {
    match better {
        metric::Better::Higher => "higher",
        metric::Better::Lower => "lower",
    }
}

/// A value of a row. Values that were not measured or do not apply are empty, never zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    Text(Cow<'a, str>),
    /// A count or an identifier.
    Whole(i64),
    /// A measured value, in the unit given by its column or its row.
    Number(f64),
    Flag(bool),
    /// Not measured, or not applicable.
    Nothing,
}

impl<'a> Cell<'a> {
    /// A text; empty texts become `Nothing`.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Nothing } else { Self::Text(text) }
    }

    /// A count; `Nothing` if it does not fit into 63 bits.
    pub(crate) fn whole(count: impl TryInto<i64>) -> Self {
        count.try_into().map_or(Self::Nothing, Self::Whole)
    }

    /// A number; `Nothing` if it is absent or not finite.
    pub(crate) fn number(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Nothing, Self::Number)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// UTF-8.
    Text,
    /// 64-bit signed.
    Whole,
    /// 64-bit binary floating point.
    Number,
    /// `true` or `false`.
    Flag,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Unique in its table; ends with the unit, if there is one.
    pub name: Cow<'static, str>,
    pub kind: Kind,
    pub help: &'static str,
}
