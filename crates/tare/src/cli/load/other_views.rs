//! Results of `tare load` that have more than all loads have, as JSON and as text: of TPC-C, of the user's own
//! statements, and of `--slo`, the highest rate that meets a latency limit.

use super::request::MeasuredSystem;
use super::view::{self, Viewed};
use crate::cli::{Problem, output};
use serde::Serialize;
use std::collections::BTreeMap;
use strum::VariantArray;
use tare_drive::workload::Measured;
use tare_drive::workload::tpcc::{Condition, Kind};
use tare_findings::latencies::FEWEST_BEYOND;
use tare_report::charts::search::verdict;
use tare_report::words::searches::in_ms;
use tare_results::metric;
use tare_results::search::{Limit, SearchRecord};
use tare_text::{count, object};

pub(crate) const NOT_OFFICIAL: &str = "not an official TPC-C result, and not comparable with one";

#[derive(Debug, Serialize)]
struct OfKind {
    transactions: u64,
    retries: u64,
    latency_ms_mean: f64,
    latency_ms_p95: f64,
    latency_ms_p99: f64,
}

impl OfKind {
    fn of(measured: &Measured, kind: Kind) -> Self {
        let name = kind.name();
        let count = |what: &str| seen(measured, &format!("tpcc_{what}_{name}"));
        let latency = |figure: &str| metric_of(measured, &format!("latency_ms_{figure}_of_{name}"));
        Self {
            transactions: count("transactions"),
            retries: count("retries"),
            latency_ms_mean: latency("mean"),
            latency_ms_p95: latency("p95"),
            latency_ms_p99: latency("p99"),
        }
    }
}

fn seen(measured: &Measured, name: &str) -> u64 {
    measured.covariates.get(name).copied().unwrap_or(0.0) as u64
}

fn metric_of(measured: &Measured, name: &str) -> f64 {
    measured.metrics.iter().find(|(metric, _)| metric.name() == name).map_or(0.0, |(_, value)| *value)
}

/// The document of `tare load tpcc --json`: that of `tare load` with additional fields for TPC-C.
pub(crate) fn tpcc_document(viewed: &Viewed<'_>) -> impl Serialize {
    let measured = viewed.measured;
    let of_kinds = Kind::VARIANTS.iter().map(|kind| (kind.name(), OfKind::of(measured, *kind)));
    object! {
        note: NOT_OFFICIAL,
        nopm: metric_of(measured, metric::TPMC.name()),
        // New orders that were rolled back because the standard requires it; they are counted.
        rolled_back: seen(measured, "tpcc_rollbacks"),
        of_kinds: of_kinds.collect::<BTreeMap<_, _>>(),
        #[serde(flatten)]
        load: view::document(viewed),
    }
}

pub(crate) fn tpcc_words(viewed: &Viewed<'_>) -> String {
    let measured = viewed.measured;
    let mut text = format!(
        "new orders    {:>12}   {:.1} per minute (NOPM), {} rolled back as the standard requires\n",
        OfKind::of(measured, Kind::NewOrder).transactions,
        metric_of(measured, metric::TPMC.name()),
        seen(measured, "tpcc_rollbacks"),
    );
    text += "                     count    retries    mean ms     p95 ms     p99 ms\n";
    for kind in Kind::VARIANTS.iter().copied() {
        let of = OfKind::of(measured, kind);
        text += &format!("  {:<12}{:>12}{:>11}", kind.name(), of.transactions, of.retries);
        text += &format!("{:>11.3}{:>11.3}{:>11.3}\n", of.latency_ms_mean, of.latency_ms_p95, of.latency_ms_p99);
    }
    text + &view::words(viewed) + &format!("! {NOT_OFFICIAL}\n")
}

#[derive(Debug, Serialize)]
pub(crate) struct Looked {
    clause: String,
    says: &'static str,
    pub holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
}

impl Looked {
    pub(crate) fn holds(condition: &Condition) -> Self {
        Self { clause: format!("3.3.2.{}", condition.number), says: condition.says, holds: true, found: None }
    }

    /// A condition that does not hold, with the first place where this was seen.
    pub(crate) fn broken(condition: &Condition, found: String) -> Self {
        Self { holds: false, found: Some(found), ..Self::holds(condition) }
    }

    pub(crate) fn line(&self) -> String {
        let Self { clause, says, found, .. } = self;
        match found {
            None => format!("{clause:<9}holds           {says}\n"),
            Some(found) => format!("{clause:<9}DOES NOT HOLD   {says}: {found}\n"),
        }
    }
}

pub(crate) fn sql_document(viewed: &Viewed<'_>) -> impl Serialize {
    let Measured { elapsed_s, covariates, metrics, .. } = viewed.measured;
    let metrics = metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect::<BTreeMap<_, _>>();
    object! { measured: viewed.measured_system, elapsed_s, metrics, covariates }
}

/// The latency of each statement and the rest of a transaction, followed by the output that all loads share.
pub(crate) fn sql_words(viewed: &Viewed<'_>) -> String {
    let Measured { metrics, covariates, .. } = viewed.measured;
    let value = |wanted: &str| metrics.iter().find(|(metric, _)| metric.name() == wanted).map(|(_, value)| *value);
    let mut text = "statement                      executions    mean ms     p99 ms\n".to_owned();
    let mut all_ms = 0.0;
    for (metric, mean) in metrics {
        let Some(statement) = metric.name().strip_prefix("latency_ms_mean_of_") else { continue };
        let executions = covariates.get(&format!("statement_executions_{statement}"));
        let (Some(p99), Some(n)) = (value(&format!("latency_ms_p99_of_{statement}")), executions) else { continue };
        all_ms += n * mean;
        text += &format!("  {statement:<28}{n:>11}{mean:>11.3}{p99:>11.3}\n");
    }
    // Without it, statements would seem to explain a latency that is mostly the COMMIT.
    if let Some(latency) = viewed.sample.latency_ms {
        let rest_ms = latency.mean - all_ms / viewed.sample.transactions.max(1) as f64;
        // The time of a transaction includes failed attempts, whose failed statements are in no line above.
        let rest = match viewed.sample.restarts {
            0 => "rest of a transaction: BEGIN, COMMIT",
            _ => "rest: BEGIN, COMMIT, failed statements",
        };
        // Statements are those of the transactions that began in the sample, the latency that of those that ended in
        // it: few long transactions do not show the rest.
        if rest_ms >= 0.0 {
            text += &format!("  {rest:<39}{rest_ms:>11.3}\n");
        }
    }
    text + &view::words(viewed)
}

pub(crate) fn print_search(measured_system: &MeasuredSystem, search: &SearchRecord, json: bool) -> Result<(), Problem> {
    if !json {
        return output::lines(&(measured_system.words() + &search_words(search)));
    }
    let document = object! {
        measured: measured_system,
        #[serde(flatten)]
        search,
    };
    output::document("tare-load-search", &document)
}

fn search_words(search: &SearchRecord) -> String {
    let limited = &search.slo.metric;
    let width = limited.len().max(10);
    // Narrow, so that remarks fit next to it on 80 columns.
    let mut text = format!("step requested/s      done/s  {limited:>width$}  SLO\n");
    for (number, step) in search.steps.iter().enumerate() {
        let value = step.value.map_or("-".to_owned(), |value| in_ms(value, search.slo.limit_ms));
        let (requested, done, verdict) = (step.requested_tps, step.done_tps, verdict(search, step));
        text += &format!("{:<4}{requested:>12.1}{done:>12.1}  {value:>width$}  {verdict}\n", number + 1);
    }
    let steps = count(search.steps.len(), "step");
    if let Some(found) = search.found_tps {
        text += &format!("highest rate  {found:.1} per second with {} ({steps})\n", search.slo);
    }
    if let Some([low, high]) = search.bracket_tps {
        text += &format!(
            "! the same rates met the limit at one time and not at another: the highest is between {low:.1} \
                and {high:.1} per second\n"
        );
    }
    if let (Some(met), None) = (search.met_before_tps(), search.bracket_tps) {
        text += &format!(
            "! {met:.1} per second met the limit at first and not when measured again: latencies changed by more than the \
             rate explains; repeat it on a quieter machine, or with a longer --time\n"
        );
    }
    let beyond = search.found_step().and_then(|step| step.beyond);
    if let Some(few) = beyond.filter(|beyond| *beyond < FEWEST_BEYOND) {
        text += &format!(
            "! {} beyond the percentile at this rate: with fewer than {FEWEST_BEYOND} a rate is too high on average; make \
             --time {:.0} times as long\n",
            // Rounded down, as it is fewer than the limit.
            count(few as usize, "transaction"),
            (FEWEST_BEYOND / few.max(0.1)).ceil()
        );
    }
    if matches!(search.limit, Some(Limit::Client(_))) {
        text += "! the client was the limit: the server may be capable of more\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::search::{ClientLimit, Slo, StepRecord};

    fn step(beyond: f64) -> StepRecord {
        StepRecord {
            requested_tps: 1000.0,
            done_tps: 1000.0,
            value: Some(4.0),
            value_of_prompt_client: None,
            beyond: Some(beyond),
            met: true,
            limit: None,
            repeated: false,
        }
    }

    fn words_on(step: StepRecord) -> String {
        search_words(&SearchRecord {
            search: 0,
            slo: Slo { metric: "latency_ms_p99".to_owned(), limit_ms: 5.0 },
            closed_loop_tps: 2000.0,
            found_tps: Some(1000.0),
            bracket_tps: None,
            limit: None,
            steps: vec![step],
        })
    }

    #[test]
    fn a_step_that_missed_the_limit_is_printed_with_the_reason() {
        let missed = |limit| words_on(StepRecord { met: false, limit: Some(limit), repeated: true, ..step(500.0) });
        let queue = missed(Limit::Server);
        assert!(queue.contains(" 4.000  not met, a queue grew; measured again\n"), "{queue}");
        let client = missed(Limit::Client(ClientLimit::CpuUsedFraction(0.97)));
        assert!(client.contains(" 4.000  not met, the client's limit: ") && !client.contains("queue"), "{client}");
    }

    #[test]
    fn a_rate_found_from_few_transactions_says_how_long_a_step_should_be() {
        let found = |beyond: f64| words_on(step(beyond));
        assert!(found(99.7).contains("! 99 transactions beyond the percentile"), "{}", found(99.7));
        assert!(found(1.4).contains("! 1 transaction beyond the percentile"), "{}", found(1.4));
        assert!(found(12.0).contains("make --time 9 times as long"), "{}", found(12.0));
        assert!(!found(100.0).contains("beyond the percentile"), "{}", found(100.0));
    }
}
