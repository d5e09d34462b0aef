//! Progress of a run on the terminal. Of one that is extended round by round, the result so far on a line; of others
//! trial, condition, time left and last value, or plain lines without a terminal; of filling tables, how far it is.

use super::output::{self, note};
use super::time_left::{TimeLeft, ToGo};
use crate::run::{IN_VAIN, Listener};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tare_drive::workload::{Filled, Progress};
use tare_findings::find::Find;
use tare_report::figures::figure;
use tare_results::metric;
use tare_results::schema::{Outcome, Outlived, Plan, SIDE, TrialRecord};
use tare_results::unit::Unit;
use tare_study::plan::queue::Next;
use tare_text::{count, percent, was};

/// Columns from which a terminal has room for a progress bar next to the text.
const ROOM_FOR_BAR: u16 = 100;

/// Columns from which a line has room for the condition and its last value.
const ROOM_FOR_NAMES: u16 = 60;

pub(crate) struct TerminalListener {
    bar: Option<ProgressBar>,
    total: usize,
    pace: TimeLeft,
    /// When the first trial began; `began` is the start of the current one.
    first: Option<Instant>,
    began: Instant,
    condition: String,
    left: usize,
    /// Trials whose first attempt has not begun.
    first_to_go: usize,
    last: String,
    /// Attempts that were disturbed; the progress bar shows their number.
    disturbed: usize,
    fill_lines: FillLines,
}

impl TerminalListener {
    /// A listener for a plan whose trials may take up to `attempts` attempts.
    pub(crate) fn new(plan: &Plan, attempts: u32) -> Self {
        let total = plan.trials.len();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            let has_room = output::columns().is_none_or(|columns| columns >= ROOM_FOR_BAR);
            let template = if has_room { "[{bar:24}] {pos}/{len} {wide_msg}" } else { "{pos}/{len} {wide_msg}" };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self {
            bar,
            total,
            pace: TimeLeft::new(plan.trials_s() / plan.trials_in_all().max(1) as f64, attempts),
            first: None,
            began: Instant::now(),
            condition: String::new(),
            left: total,
            first_to_go: total,
            last: String::new(),
            disturbed: 0,
            fill_lines: FillLines::default(),
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self, step: &str) {
        let Some(bar) = &self.bar else { return };
        let left = self.pace.left(self.to_go(), Some(self.began.elapsed())).short();
        if output::columns().is_some_and(|columns| columns < ROOM_FOR_NAMES) {
            return bar.set_message(format!("{left} | {step}"));
        }
        let last = if self.last.is_empty() { String::new() } else { format!("{} | ", self.last) };
        let disturbed = if self.disturbed == 0 { String::new() } else { format!("{} disturbed | ", self.disturbed) };
        bar.set_message(format!("{left} | {disturbed}{last}{step} | {}", self.condition));
    }

    /// What is left after the current trial.
    fn to_go(&self) -> ToGo {
        let first = self.first_to_go.min(self.left);
        ToGo { first, again: self.left - first }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(output::fitted(&tare_text::shown(text))),
            None => note(text),
        }
    }
}

impl Listener for TerminalListener {
    fn begin(&mut self, next: &Next, done: usize, left: usize) {
        self.began = Instant::now();
        self.first.get_or_insert(self.began);
        self.condition.clone_from(&next.trial.condition);
        self.left = left;
        // A resumed run has at most as many first attempts as remain in the plan.
        let begun = usize::from(next.attempt == 1);
        self.first_to_go = if begun == 0 { 0 } else { self.first_to_go.saturating_sub(begun).min(left) };
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
        self.show("starting");
    }

    fn hear(&mut self, progress: Progress) {
        match progress {
            Progress::Filling(filled) if self.bar.is_some() => self.show(&filling_step(&filled)),
            Progress::Filling(filled) => {
                if let Some(line) = self.fill_lines.line(&filled) {
                    self.line(&line);
                }
            }
            Progress::Starting => self.show("starting"),
            Progress::WarmUp { seconds } => self.show(&format!("warm-up {seconds} s")),
            Progress::Sample { sample, seconds } => self.show(&format!("sample {sample} of {seconds} s")),
            Progress::Query { query } => self.show(&format!("Q{query}")),
            Progress::Turn | Progress::Reading { warming_up: true, .. } => {}
            Progress::Reading { tps, .. } => {
                self.last = figure(tps, metric::TPS.metric.unit);
                self.show("measuring");
            }
            Progress::Stopping => self.show("stopping"),
        }
    }

    fn end(&mut self, record: &TrialRecord) {
        let since_first = self.first.unwrap_or(self.began).elapsed();
        self.pace.ended(since_first, record.outcome == Outcome::Ok);
        for Outlived { pid, name } in &record.outlived {
            let process = format!("process {pid} ({name})");
            self.line(&format!(
                "trial {}: killed {process}, which the server had started and left running",
                record.trial
            ));
        }
        let number = record.trial;
        let reason = record.reason.as_deref().unwrap_or_default();
        match record.outcome {
            Outcome::Failed => self.line(&format!("trial {number} ({}) failed: {reason}", record.condition)),
            // With a progress bar, the programs that disturbed trials are listed at the end of the run.
            Outcome::Disturbed if self.bar.is_some() => self.disturbed += 1,
            Outcome::Disturbed => self.line(&disturbed(record, &record.condition)),
            Outcome::Ok if self.bar.is_none() => {
                let place = format!("{}/{}", self.total - self.left, self.total);
                let left = match self.to_go() {
                    to_go if to_go.is_over() => String::new(),
                    to_go => format!("; {}", self.pace.left(to_go, None).words(" left")),
                };
                let value = value_of(record).map_or(String::new(), |value| format!(": {value}"));
                self.line(&format!("{place} trial {number} {}{value}{left}", record.condition));
            }
            Outcome::Ok => {}
        }
    }

    fn looked(&mut self, plan: &Plan, records: &[TrialRecord]) {
        if let Some(found) = Find::of(plan, records) {
            self.line(&tare_report::words::find::line(&found));
        }
    }

    fn decided(&mut self, plan: &Plan) {
        self.total = plan.trials.len();
        if let Some(bar) = &self.bar {
            bar.set_length(self.total as u64);
        }
        if let Some(decision) = &plan.decision {
            self.line(&decision.reason);
        }
    }

    fn out_of_time(&mut self, left: usize, of: usize, disturbed: usize) {
        let left = (left > 0).then(|| format!("{left} of {} not measured", count(of, "trial")));
        let counted = (disturbed > 0).then(|| {
            format!("{} {} disturbed, not repeated, and counted as measured", count(disturbed, "trial"), was(disturbed))
        });
        let all: Vec<String> = left.into_iter().chain(counted).collect();
        self.line(&format!("out of time: {}", all.join("; ")));
    }

    fn repeats_end(&mut self) {
        self.line(&repeats_in_vain());
    }

    fn preparing(&mut self, condition: &str) {
        self.condition = condition.to_owned();
        self.fill_lines.begin();
        self.show("preparing data");
    }
}

/// The headline value of a trial, formatted as in tables.
fn value_of(record: &TrialRecord) -> Option<String> {
    let metrics = &record.samples.first()?.metrics;
    let of = |named: metric::Named| Some(figure(*metrics.get(named.name())?, named.metric.unit));
    let under = || Some(format!("{} under the SLO", of(metric::MAX_TPS_UNDER_OBJECTIVE)?));
    let queries = || {
        let all_s: f64 =
            metrics.iter().filter(|(name, _)| metric::query(name).is_some()).map(|(_, seconds)| seconds).sum();
        (all_s > 0.0).then(|| format!("queries {}", figure(all_s, Unit::S)))
    };
    let one = || [metric::TPS, metric::ROUNDS_PER_S, metric::WALL_S].into_iter().find_map(of);
    under().or_else(one).or_else(queries)
}

/// The message that trials are no longer repeated.
fn repeats_in_vain() -> String {
    format!(
        "the last {IN_VAIN} repeats were also disturbed, so there are no more repeats: trials that were set aside count as \
         measured, marked as disturbed"
    )
}

/// The message that a trial was disturbed, with the responsible programs if known.
fn disturbed(record: &TrialRecord, called: &str) -> String {
    let by = disturbers(record).or_else(|| record.reason.clone()).unwrap_or_default();
    format!("trial {} ({called}) was disturbed: {by}", record.trial)
}

/// Of two sides, `side=a` alone: what it sets stands above the pairs and may be a long path.
fn short(record: &TrialRecord) -> String {
    record.levels.get(SIDE).map_or_else(|| record.condition.clone(), |side| format!("{SIDE}={side}"))
}

/// The programs that disturbed a trial, in short; `None` if none is known.
fn disturbers(record: &TrialRecord) -> Option<String> {
    const NAMED: usize = 2;
    let named = record.disturbed_by.iter().take(NAMED).map(|by| format!("{} {}", by.program, percent(by.cpus)));
    let named: Vec<String> = named.collect();
    let more = record.disturbed_by.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
    (!named.is_empty()).then(|| format!("CPU time of {}{more}", named.join(", ")))
}

/// Seconds between two lines of a run.
const EVERY_S: u64 = 10;

/// Added rows, and their share if the final number is known.
pub(crate) fn filled_rows(added: u64, of: Option<u64>) -> String {
    match of.filter(|of| *of >= added && *of > 0) {
        Some(of) => format!("{added} of {of} rows ({})", percent(added as f64 / of as f64)),
        None => format!("{added} rows"),
    }
}

/// Programs that fill tables do not report rows.
fn added(filled: &Filled) -> String {
    if filled.rows == 0 { String::new() } else { format!(": {}", filled_rows(filled.rows, filled.of)) }
}

/// The step of a trial, for a line that is overwritten.
fn filling_step(filled: &Filled) -> String {
    format!("filling tables{}", added(filled))
}

/// Chooses the reports that become lines, where lines are kept.
#[derive(Debug, Default)]
struct FillLines {
    next_s: u64,
}

impl FillLines {
    /// Other tables are filled from now on.
    pub(crate) fn begin(&mut self) {
        self.next_s = 0;
    }

    /// A line for the first report, then one every 10 seconds.
    pub(crate) fn line(&mut self, filled: &Filled) -> Option<String> {
        let Filled { seconds, of, .. } = *filled;
        if seconds < self.next_s {
            return None;
        }
        self.next_s = seconds + EVERY_S;
        let all = of.map_or_else(String::new, |of| format!(": {of} rows"));
        Some(if seconds == 0 {
            format!("filling tables{all}")
        } else {
            format!("{} after {seconds} s", filling_step(filled))
        })
    }
}

type Line = fn(&Plan, &[TrialRecord]) -> Option<String>;

/// Minimum time between two lines of one kind: short pairs would print hundreds.
const LINES_APART: Duration = Duration::from_secs(2);

/// When a line of one kind was last printed.
#[derive(Debug, Default)]
struct Printed(Option<Instant>);

impl Printed {
    /// Prints the line, except soon after the one before.
    fn note(&mut self, line: &str) {
        if self.0.is_none_or(|last| last.elapsed() >= LINES_APART) {
            note(line);
            self.0 = Some(Instant::now());
        }
    }
}

/// Prints the result so far after rounds, and in between all failures and what disturbed trials.
#[derive(Debug)]
pub(crate) struct RoundListener {
    line: Line,
    rounds: Printed,
    disturbed: Printed,
    /// Whether the end of repeats was already reported: after that, no disturbed trial is.
    repeats_ended: bool,
    fill_lines: FillLines,
}

impl RoundListener {
    pub(crate) fn new(line: Line) -> Self {
        let (rounds, disturbed) = (Printed::default(), Printed::default());
        Self { line, rounds, disturbed, repeats_ended: false, fill_lines: FillLines::default() }
    }
}

impl Listener for RoundListener {
    fn hear(&mut self, progress: Progress) {
        if let Progress::Filling(filled) = progress
            && let Some(line) = self.fill_lines.line(&filled)
        {
            note(&line);
        }
    }

    fn end(&mut self, record: &TrialRecord) {
        let reason = record.reason.as_deref().unwrap_or_default();
        match record.outcome {
            Outcome::Ok => {}
            Outcome::Failed => note(&format!("trial {} ({}) failed: {reason}", record.trial, record.condition)),
            Outcome::Disturbed if self.repeats_ended => {}
            Outcome::Disturbed => self.disturbed.note(&disturbed(record, &short(record))),
        }
    }

    fn looked(&mut self, plan: &Plan, records: &[TrialRecord]) {
        if let Some(line) = (self.line)(plan, records) {
            self.rounds.note(&line);
        }
    }

    fn repeats_end(&mut self) {
        self.repeats_ended = true;
        note(&repeats_in_vain());
    }

    fn preparing(&mut self, condition: &str) {
        self.fill_lines.begin();
        note(&format!("preparing data of {condition}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentage_is_printed_only_if_the_total_is_known() {
        assert_eq!(filled_rows(500, None), "500 rows");
        assert_eq!(filled_rows(500, Some(400)), "500 rows");
        assert_eq!(filled_rows(500, Some(1000)), "500 of 1000 rows (50%)");
    }

    #[test]
    fn lines_that_are_kept_come_first_at_once_and_then_every_ten_seconds() {
        let mut lines = FillLines::default();
        let reports = |of: Option<u64>| (0..25).map(move |seconds| Filled { rows: 10 * seconds, of, seconds });
        let printed: Vec<String> = reports(Some(1000)).filter_map(|filled| lines.line(&filled)).collect();
        let expected = [
            "filling tables: 1000 rows",
            "filling tables: 100 of 1000 rows (10%) after 10 s",
            "filling tables: 200 of 1000 rows (20%) after 20 s",
        ];
        assert_eq!(printed, expected);
        lines.begin();
        let of_programs = reports(None).map(|filled| Filled { rows: 0, ..filled });
        let printed: Vec<String> = of_programs.filter_map(|filled| lines.line(&filled)).collect();
        assert_eq!(printed, ["filling tables", "filling tables after 10 s", "filling tables after 20 s"]);
    }
}
