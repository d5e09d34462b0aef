//! Progress of a run on the terminal: trial i of n, condition, time left, last value. Plain lines where there is none.

use crate::plan::queue::Next;
use crate::run::Listener;
use crate::workload::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Instant;
use tare_results::metric;
use tare_results::schema::{Outcome, Plan, TrialRecord};

/// Shows a run on standard error.
pub struct TerminalListener {
    bar: Option<ProgressBar>,
    total: usize,
    trial_s: f64,
    /// Mean length of the trials so far: better than the estimate as soon as there is one.
    spent_s: f64,
    ended: usize,
    began: Instant,
    condition: String,
    left: usize,
    last: String,
}

impl TerminalListener {
    /// A listener for this plan.
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
            trial_s: plan.estimated_s / total.max(1) as f64,
            spent_s: 0.0,
            ended: 0,
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
        let mean_s = if self.ended == 0 { self.trial_s } else { self.spent_s / self.ended as f64 };
        let here_s = (mean_s - self.began.elapsed().as_secs_f64()).max(0.0);
        let left = super::output::duration(here_s + mean_s * self.left as f64);
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
        self.spent_s += record.elapsed_s;
        self.ended += 1;
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
            Outcome::Contaminated => {
                self.line(&format!("trial {number} ({}) was disturbed and will run again: {reason}", record.condition));
            }
            Outcome::Ok if self.bar.is_none() => {
                let value_of = |name: &str| record.samples.first().and_then(|s| s.metrics.get(name));
                let value = value_of(metric::TPS.name()).map(|v| format!(": {v:.0} tps"));
                let value =
                    value.or_else(|| value_of(metric::ROUNDS_PER_S.name()).map(|v| format!(": {v:.0} rounds/s")));
                let value = value.or_else(|| value_of(metric::WALL_S.name()).map(|s| format!(": {s:.3} s")));
                let queries = |metrics: &BTreeMap<String, f64>| {
                    metrics.iter().filter(|(name, _)| metric::query(name).is_some()).map(|(_, s)| s).sum::<f64>()
                };
                let all_s = record.samples.first().map(|s| queries(&s.metrics)).filter(|s| *s > 0.0);
                let value = value.or_else(|| all_s.map(|s| format!(": queries {s:.3} s")));
                let place = format!("{}/{}", self.total - self.left, self.total);
                self.line(&format!("{place} trial {number} {}{}", record.condition, value.unwrap_or_default()));
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

    fn preparing(&mut self, condition: &str) {
        self.condition = condition.to_owned();
        self.show("preparing data");
    }
}
