//! Progress of a run on the terminal: trial, condition, time left, last value; plain lines without a terminal.

use super::filling::{self, FillLines};
use super::output;
use super::time_left::{TimeLeft, ToGo};
use crate::run::{IN_VAIN, Listener};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Instant;
use tare_drive::workload::Progress;
use tare_findings::find::Find;
use tare_report::figures::figure;
use tare_results::metric;
use tare_results::schema::{Outcome, Outlived, Plan, SIDE, TrialRecord};
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
            None => output::note(text),
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
            Progress::Filling(filled) if self.bar.is_some() => self.show(&filling::step(&filled)),
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
            Outcome::Failed => self.line(&format!("trial {number} ({}) failed: {reason}", short(record))),
            // With a progress bar, the programs that disturbed trials are listed at the end of the run.
            Outcome::Disturbed if self.bar.is_some() => self.disturbed += 1,
            Outcome::Disturbed => self.line(&disturbed(record)),
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
        (all_s > 0.0).then(|| format!("queries {}", figure(all_s, "s")))
    };
    let one = || [metric::TPS, metric::ROUNDS_PER_S, metric::WALL_S].into_iter().find_map(of);
    under().or_else(one).or_else(queries)
}

/// The message that trials are no longer repeated.
pub(super) fn repeats_in_vain() -> String {
    format!(
        "the last {IN_VAIN} repeats were also disturbed, so there are no more repeats: trials that were set aside count as \
         measured, marked as disturbed"
    )
}

/// The message that a trial was disturbed, with the responsible programs if known.
pub(super) fn disturbed(record: &TrialRecord) -> String {
    let by = disturbers(record).or_else(|| record.reason.clone()).unwrap_or_default();
    format!("trial {} ({}) was disturbed: {by}", record.trial, short(record))
}

/// Of a side, `side=a` alone: what it sets stands above the pairs and may be a long path.
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
