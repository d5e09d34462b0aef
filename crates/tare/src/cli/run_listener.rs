//! Progress of a run on the terminal: trial i of n, condition, time left, last value. Plain lines where there is none.

use super::time_left::TimeLeft;
use crate::run::Listener;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;
use tare_drive::workload::Progress;
use tare_results::metric;
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_study::plan::queue::Next;
use tare_text::{count, percent};

/// Shows a run on standard error.
pub struct TerminalListener {
    bar: Option<ProgressBar>,
    total: usize,
    pace: TimeLeft,
    /// When the first trial began, and this one.
    first: Option<Instant>,
    began: Instant,
    condition: String,
    left: usize,
    last: String,
}

impl TerminalListener {
    pub fn new(plan: &Plan) -> Self {
        let total = plan.trials.len();
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total as u64);
            if let Ok(style) = ProgressStyle::with_template("[{bar:24}] {pos}/{len} {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        Self {
            bar,
            total,
            pace: TimeLeft::new(plan.estimated_s / total.max(1) as f64),
            first: None,
            began: Instant::now(),
            condition: String::new(),
            left: total,
            last: String::new(),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self, step: &str) {
        let Some(bar) = &self.bar else { return };
        let left = super::output::duration(self.pace.left_s(self.left, Some(self.began.elapsed())));
        let last = if self.last.is_empty() { String::new() } else { format!("{} | ", self.last) };
        bar.set_message(format!("{left} left | {last}{step} | {}", self.condition));
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(tare_text::shown(text)),
            None => super::output::note(text),
        }
    }
}

impl Listener for TerminalListener {
    fn begin(&mut self, next: &Next, done: usize, left: usize) {
        self.began = Instant::now();
        self.first.get_or_insert(self.began);
        self.condition.clone_from(&next.trial.condition);
        self.left = left;
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
        self.show("starting");
    }

    fn hear(&mut self, progress: Progress) {
        match progress {
            Progress::Starting => self.show("starting"),
            Progress::WarmUp { seconds } => self.show(&format!("warm-up {seconds} s")),
            Progress::Sample { sample, seconds } => self.show(&format!("sample {} of {seconds} s", sample + 1)),
            Progress::Query { query } => self.show(&format!("Q{query}")),
            Progress::Reading { warming_up: true, .. } => {}
            Progress::Reading { tps, .. } => {
                self.last = format!("{tps:.0} tps");
                self.show("measuring");
            }
            Progress::Stopping => self.show("stopping"),
        }
    }

    fn end(&mut self, record: &TrialRecord) {
        let since_first = self.first.unwrap_or(self.began).elapsed();
        self.pace.ended(since_first, record.outcome == Outcome::Ok);
        for left in &record.outlived {
            self.line(&format!(
                "trial {}: {left}, which the server had started, outlived it and was ended",
                record.trial
            ));
        }
        let number = record.trial;
        let reason = record.reason.as_deref().unwrap_or_default();
        match record.outcome {
            Outcome::Failed => self.line(&format!("trial {number} ({}) failed: {reason}", record.condition)),
            Outcome::Disturbed => {
                let by = disturbers(record).unwrap_or_else(|| reason.to_owned());
                self.line(&format!("trial {number} ({}) was disturbed and will run again: {by}", record.condition));
            }
            Outcome::Ok if self.bar.is_none() => {
                let value_of = |name: &str| record.samples.first().and_then(|s| s.metrics.get(name));
                let found = value_of(metric::MAX_TPS_UNDER_OBJECTIVE.name());
                let value = found.map(|v| format!(": {v:.0} tps under the objective"));
                let value = value.or_else(|| value_of(metric::TPS.name()).map(|v| format!(": {v:.0} tps")));
                let value =
                    value.or_else(|| value_of(metric::ROUNDS_PER_S.name()).map(|v| format!(": {v:.0} rounds/s")));
                let value = value.or_else(|| value_of(metric::WALL_S.name()).map(|s| format!(": {s:.3} s")));
                let queries = |metrics: &BTreeMap<String, f64>| {
                    metrics.iter().filter(|(name, _)| metric::query(name).is_some()).map(|(_, s)| s).sum::<f64>()
                };
                let all_s = record.samples.first().map(|s| queries(&s.metrics)).filter(|s| *s > 0.0);
                let value = value.or_else(|| all_s.map(|s| format!(": queries {s:.3} s")));
                let place = format!("{}/{}", self.total - self.left, self.total);
                let left = match self.left {
                    0 => String::new(),
                    to_go => format!("; {} left", super::output::duration(self.pace.left_s(to_go, None))),
                };
                self.line(&format!("{place} trial {number} {}{}{left}", record.condition, value.unwrap_or_default()));
            }
            Outcome::Ok => {}
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

    fn out_of_time(&mut self, left: usize) {
        self.line(&format!("the time is over: {left} of {} trials were not run", self.total));
    }

    fn preparing(&mut self, condition: &str) {
        self.condition = condition.to_owned();
        self.show("preparing data");
    }
}

/// The programs that disturbed a trial, in short; none where none is known.
fn disturbers(record: &TrialRecord) -> Option<String> {
    const NAMED: usize = 2;
    let named = record.disturbed_by.iter().take(NAMED).map(|by| format!("{} {}", by.program, percent(by.cpus)));
    let named: Vec<String> = named.collect();
    let more = record.disturbed_by.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {}", count(more, "other")) } else { String::new() };
    (!named.is_empty()).then(|| format!("CPU time of {}{more}", named.join(", ")))
}
