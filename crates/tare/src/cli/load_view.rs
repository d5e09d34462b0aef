//! The result of `tare load`, for scripts and for people.

use super::{Problem, output};
use crate::subject::Surroundings;
use crate::workload::oltp::Outage;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_load::{CpuPerTransaction, LatencyMs, Sample};
use tare_results::server_cost::{Operation, Quantity, SERVER_COSTS};
use tare_text::count;

/// The document of `tare load --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    transactions: u64,
    elapsed_s: f64,
    tps: f64,
    qps: f64,
    latency_ms: Option<LatencyMs>,
    errors: u64,
    client_cpu_us_per_transaction: Option<CpuPerTransaction>,
    tps_each_second: Vec<f64>,
    backlog: Option<u64>,
    /// What a transaction cost the server, by the names of a run's metrics; empty where it cannot be looked at.
    server_cost: BTreeMap<&'static str, f64>,
    /// Only with `--reconnect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outage: Option<OutageDocument>,
}

/// What clients saw of a server that was away.
#[derive(Debug, Serialize)]
struct OutageDocument {
    lost_transactions: u64,
    reconnected: u64,
    without_server_s: f64,
    still_away: usize,
}

impl Document {
    /// The document of a sample. `errors` are restarts and lost connections: each was answered by running its
    /// transaction again.
    pub fn of(sample: &Sample, around: &Surroundings, outage: Option<Outage>) -> Self {
        Self {
            transactions: sample.transactions,
            elapsed_s: sample.elapsed_s,
            tps: sample.tps(),
            qps: sample.qps(),
            latency_ms: sample.latency_ms,
            errors: sample.restarts + outage.map_or(0, |outage| outage.lost),
            client_cpu_us_per_transaction: sample.client_cpu_us_per_transaction,
            tps_each_second: sample.tps_each_second.clone(),
            backlog: sample.backlog,
            server_cost: costs(sample, around).map(|(name, _, value)| (name, value)).collect(),
            outage: outage.map(|outage| OutageDocument {
                lost_transactions: outage.lost,
                reconnected: outage.reconnected,
                without_server_s: outage.away_s,
                still_away: outage.still_away,
            }),
        }
    }
}

/// What one transaction cost the server: name, quantity and value.
fn costs(sample: &Sample, around: &Surroundings) -> impl Iterator<Item = (&'static str, Quantity, f64)> {
    let (used, count) = (around.used, sample.transactions as f64);
    SERVER_COSTS.iter().filter_map(move |cost| {
        let value = used?.of(cost.quantity)? / count;
        value.is_finite().then(|| (cost.metric(Operation::Transaction).name(), cost.quantity, value))
    })
}

/// The first words of a load whose server went away.
fn words(outage: &Outage) -> String {
    let end = match outage.still_away {
        0 => String::new(),
        n => format!("; {} had none at the end", count(n, "client")),
    };
    format!(
        "the server was away for {:.1} s: {} lost and run again, {} opened anew{end}; latencies hold the wait\n",
        outage.away_s,
        count(outage.lost as usize, "transaction"),
        count(outage.reconnected as usize, "connection"),
    )
}

/// Prints a sample for people.
pub fn print(sample: &Sample, around: &Surroundings, outage: Option<Outage>) -> Result<(), Problem> {
    let mut text = outage.filter(|outage| outage.lost > 0).as_ref().map_or(String::new(), words);
    text += &format!(
        "transactions  {:>12}   {:.1} a second\nqueries       {:>12}   {:.1} a second\nrestarts      {:>12}\ntime          {:>12.3} s\n",
        sample.transactions,
        sample.tps(),
        sample.reads + sample.writes + sample.others,
        sample.qps(),
        sample.restarts,
        sample.elapsed_s,
    );
    if let Some(l) = sample.latency_ms {
        text.push_str(&format!(
            "latency ms    min {:.3}  mean {:.3}  p50 {:.3}  p90 {:.3}  p95 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}\n",
            l.min, l.mean, l.p50, l.p90, l.p95, l.p99, l.p99_9, l.max
        ));
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        text.push_str(&format!("client CPU    {:.2} us user + {:.2} us system a transaction\n", cpu.user, cpu.system));
    }
    let cost = |wanted: Quantity| costs(sample, around).find(|(_, quantity, _)| *quantity == wanted).map(|cost| cost.2);
    if let (Some(user), Some(system)) = (cost(Quantity::User), cost(Quantity::System)) {
        let switches = cost(Quantity::Switches).unwrap_or(0.0);
        text.push_str(&format!(
            "server CPU    {user:.2} us user + {system:.2} us system, {switches:.2} context switches a transaction\n"
        ));
    }
    if let Some(backlog) = sample.backlog {
        text.push_str(&format!("backlog       {backlog:>12} transactions due and not begun at the end\n"));
    }
    output::text(&text)
}
