//! What `tare load` prints on standard error before and while it runs, and while it fills and drops tables.

use super::oltp_args::{LoadArgs, ReportArgs};
use super::request::LoadRequest;
use crate::cli::{Exit, Problem, interrupt, output, run_listener};
use crate::run::Stop;
use crate::trial::server_start::Filling;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tare_drive::workload::oltp::OltpSettings;
use tare_drive::workload::sessions::{InvalidSample, Outage, Pace, Reconnect, judge};
use tare_drive::workload::{self, AnyLoad, Filled, Progress};
use tare_load::{Distribution, Interval, Intervals, RunPhase, Sample};
use tare_text::{count, object};

/// Prints which of tare's defaults in use differ from those of sysbench.
pub(crate) fn not_as_sysbench(args: &LoadArgs, settings: &OltpSettings) {
    let mut differs = Vec::new();
    if args.make_up.keys.get("distribution").is_none() && settings.workload.draws_ids() {
        differs.push(format!("ids are drawn {}ly (sysbench: {})", Distribution::Uniform, Distribution::default()));
    }
    if args.run.keys.get("warmup_s").is_none() && args.run.warmup_s() > 0.0 {
        differs.push(format!("{} s of warm-up is left out (sysbench: none)", args.run.warmup_s()));
    }
    if !differs.is_empty() {
        output::note(&format!("unlike sysbench: {}; all differences: tare load --help", differs.join("; ")));
    }
}

/// How long to wait for answers after an interruption before the figures are printed; a slower server gives no figures.
const LAST_ANSWERS: Duration = Duration::from_millis(1500);

/// The host of a load on the command line, which prints a line per interval.
pub(crate) struct Prompt {
    stop: Stop<'static>,
    /// A sample is running whose figures are printed even if it ends early.
    measures: AtomicBool,
    /// When the sample was ended early.
    ended: OnceLock<Instant>,
    /// Whether the load searches a rate, so that a single step is not a result.
    is_search: bool,
    /// `None`: no lines.
    intervals: Option<Intervals>,
    /// `None`: no limit.
    events: Option<u64>,
    /// Whether the clients count new orders.
    is_tpcc: bool,
    reconnect: Option<Reconnect>,
    sample: Mutex<Option<(Sample, Result<(), InvalidSample>)>>,
}

impl Prompt {
    pub(crate) fn new(
        request: &LoadRequest<'_>,
        report: &ReportArgs,
        reconnect: Option<Reconnect>,
    ) -> Result<Self, Problem> {
        let run = request.args;
        let every_s = if report.json { 0 } else { report.report_interval };
        let intervals = (every_s > 0).then_some(Intervals { every_s, percentile: report.percentile });
        let events = (run.events > 0).then_some(run.events);
        let is_tpcc = matches!(request.settings.workload.load, AnyLoad::Tpcc(_));
        let (stop, is_search, sample) = (interrupt::stop()?, run.searches(), Mutex::default());
        let (measures, ended) = (AtomicBool::new(false), OnceLock::new());
        Ok(Self { stop, measures, ended, is_search, intervals, events, is_tpcc, reconnect, sample })
    }

    /// The sample, whether it meets the request, and the outage of the server if it was unreachable.
    pub(crate) fn seen(self) -> Option<(Sample, Result<(), InvalidSample>, Option<Outage>)> {
        let (sample, judged) = self.sample.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        Some((sample, judged, self.reconnect.map(|reconnect| reconnect.outage())))
    }
}

impl workload::Host for Prompt {
    fn progress(&self, step: Progress) {
        if matches!(step, Progress::Sample { .. }) && !self.is_search {
            self.measures.store(true, Ordering::Relaxed);
        }
    }

    fn intervals(&self) -> Option<Intervals> {
        self.intervals
    }

    fn events(&self) -> Option<u64> {
        self.events
    }

    fn interval(&self, interval: &Interval) {
        if let Some(Intervals { percentile, .. }) = self.intervals {
            let nopm = self.is_tpcc.then(|| format!("nopm: {:.0} ", 60.0 * interval.counted_per_s));
            output::note(&line(interval, percentile, &nopm.unwrap_or_default()));
        }
    }

    fn judge(&self, pace: Pace, sample: &Sample) -> Result<(), InvalidSample> {
        *self.sample.lock().unwrap_or_else(PoisonError::into_inner) = Some((sample.clone(), judge(pace, sample)));
        Ok(())
    }

    fn reconnect(&self) -> Option<&Reconnect> {
        self.reconnect.as_ref()
    }

    /// The first Ctrl-C ends the sample and keeps its figures if the server still answers; the second ends everything.
    fn interrupted(&self) -> bool {
        let late = self.ended.get().is_some_and(|ended| ended.elapsed() > LAST_ANSWERS);
        let ending = self.stop.requested.load(Ordering::Relaxed) && !self.measures.load(Ordering::Relaxed);
        ending || late || self.stop.at_once.load(Ordering::Relaxed)
    }

    fn is_enough(&self) -> bool {
        let enough = self.stop.requested.load(Ordering::Relaxed) && self.measures.load(Ordering::Relaxed);
        if enough {
            self.ended.get_or_init(Instant::now);
        }
        enough
    }
}

/// The exit code if the load was interrupted; notes that the figures cover only the time so far.
pub(crate) fn ended(elapsed_s: f64) -> Option<Exit> {
    tare_engine::interrupted().then(|| {
        output::note(&format!("interrupted: the figures are for {elapsed_s:.1} s"));
        Exit::Interrupted
    })
}

/// Formatted like sysbench's own interval lines, so that programs that parse those can parse these.
fn line(interval: &Interval, percentile: f64, more: &str) -> String {
    let Interval { second, threads, tps, reads_per_s, writes_per_s, others_per_s, .. } = interval;
    let warm_up = if interval.stage == RunPhase::Warmup { " (warm-up)" } else { "" };
    format!(
        "[ {second}s ] thds: {threads} {more}tps: {tps:.2} qps: {:.2} (r/w/o: {reads_per_s:.2}/{writes_per_s:.2}/{others_per_s:.2}) \
         lat (ms,{percentile}%): {:.2} err/s: {:.2} reconn/s: {:.2}{warm_up}",
        reads_per_s + writes_per_s + others_per_s,
        interval.latency_ms.unwrap_or(0.0),
        interval.restarts_per_s,
        interval.reconnects_per_s,
    )
}

/// Seconds between two progress lines.
const EVERY_S: u64 = 2;

/// Called from time to time while tables are filled, with the number of added rows; returns whether to go on.
type GoOn<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Done {
    Prepared,
    Dropped,
}

/// Ends the command that dropped this number of tables since `began`.
pub(crate) fn dropped(tables: usize, began: Instant, json: bool) -> Result<Exit, Problem> {
    match tables {
        0 => output::note("no table to drop: none of this load exists in this database"),
        _ => output::note(&format!("dropped {}", count(tables, "table"))),
    }
    done(Done::Dropped, (Some(tables), None), began, json)
}

/// Ends the command that added this number of rows since `began`.
pub(crate) fn prepared(rows: u64, began: Instant, json: bool) -> Result<Exit, Problem> {
    done(Done::Prepared, (None, Some(rows)), began, json)
}

/// Prints a document with `--json`, with the number of dropped tables or added rows if known.
fn done(done: Done, (tables, rows): (Option<usize>, Option<u64>), began: Instant, json: bool) -> Result<Exit, Problem> {
    if json {
        let elapsed_s = began.elapsed().as_secs_f64();
        output::document("tare-load-tables", &object! { done, tables, rows, elapsed_s })?;
    }
    Ok(Exit::Done)
}

/// Fills tables until Ctrl-C and prints the progress; `all` is the final number of rows, if known.
pub(crate) fn filled(
    (of, json): (&str, bool),
    all: Option<u64>,
    fill: impl FnOnce(&GoOn<'_>) -> Result<(), Problem>,
) -> Result<Exit, Problem> {
    let report = |Filled { rows, of, seconds }: Filled| {
        if seconds > 0 {
            output::note(&format!("{} after {seconds} s", run_listener::filled_rows(rows, of)));
        }
    };
    let filling = Filling::begun(all, EVERY_S, interrupt::flag()?, &report);
    fill(&|rows| filling.added(rows))?;
    let (began, rows) = (filling.began, filling.rows.into_inner());
    output::note(&format!("{of}, {rows} rows in {:.1} s", began.elapsed().as_secs_f64()));
    prepared(rows, began, json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_line_has_the_format_of_sysbench() {
        let interval = Interval {
            stage: RunPhase::Sample(0),
            second: 10,
            threads: 4,
            tps: 1234.5,
            reads_per_s: 14.0,
            writes_per_s: 4.25,
            others_per_s: 2.0,
            latency_ms: Some(1.2345),
            restarts_per_s: 0.5,
            reconnects_per_s: 0.0,
            counted_per_s: 0.0,
        };
        let expected = "[ 10s ] thds: 4 tps: 1234.50 qps: 20.25 (r/w/o: 14.00/4.25/2.00) lat (ms,95%): 1.23 err/s: 0.50 \
                        reconn/s: 0.00";
        assert_eq!(line(&interval, 95.0, ""), expected);
        let warm_up = line(&Interval { stage: RunPhase::Warmup, latency_ms: None, ..interval }, 99.9, "nopm: 3.00 ");
        assert!(
            warm_up.contains("thds: 4 nopm: 3.00 tps: ")
                && warm_up.contains("lat (ms,99.9%): 0.00")
                && warm_up.ends_with("(warm-up)"),
            "{warm_up}"
        );
    }
}
