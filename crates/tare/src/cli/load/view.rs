//! The result of `tare load`, as JSON and as text.

use super::oltp_args::ReportArgs;
use super::request::MeasuredSystem;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_drive::workload::Measured;
use tare_drive::workload::sessions::Outage;
use tare_findings::client_limit::LongestStall;
use tare_load::{Latencies, LatencyMs, Sample, Slice};
use tare_report::words::trials;
use tare_results::schema::{ThreadClass, ThreadRecord};
use tare_results::server_cost::{Operation, Quantity, ServerCost};
use tare_results::steps;
use tare_text::{count, object};

pub(crate) struct Viewed<'a> {
    pub measured_system: &'a MeasuredSystem,
    pub measured: &'a Measured,
    pub sample: &'a Sample,
    /// `None` if `--reconnect` is not given.
    pub outage: Option<Outage>,
    pub report: &'a ReportArgs,
}

/// The document of a sample. `errors` are restarts and lost connections: the transaction was then run again.
pub(crate) fn document(viewed: &Viewed<'_>) -> impl Serialize {
    let Viewed { measured_system, measured, sample, outage, report } = *viewed;
    let each_s = |count: u64| count as f64 / sample.elapsed_s;
    let costs = measured.server_cost().into_iter().map(|(metric, value)| (metric.name(), value));
    object! {
        measured: measured_system,
        transactions: sample.transactions,
        elapsed_s: sample.elapsed_s,
        tps: sample.tps(),
        qps: sample.qps(),
        latency_ms: sample.latency_ms,
        errors: sample.restarts + outage.map_or(0, |outage| outage.lost),
        client_cpu_us_per_transaction: sample.client_cpu_us_per_transaction,
        tps_each_second: &sample.tps_each_second,
        backlog: sample.backlog,
        // With a rate that changes: the requested and the achieved rate in each part of the time.
        #[serde(flatten)]
        slices: (!sample.slices.is_empty()).then(|| object! { slices: &sample.slices }),
        reconnects: sample.reconnects,
        reads_per_s: each_s(sample.reads),
        writes_per_s: each_s(sample.writes),
        others_per_s: each_s(sample.others),
        // Allowed and seen CPUs; client and server threads of a connection have the same `pair`.
        threads: &measured.surroundings.threads,
        // Why the client was the limit; null if it was not.
        client_limit: trials::client_limit_reason(&seen(measured), sample.elapsed_s),
        stalls: &sample.stalls,
        // Latency in milliseconds and number of transactions.
        #[serde(flatten)]
        histogram: Some(buckets(&sample.latencies)).filter(|buckets| report.histogram && !buckets.is_empty())
            .map(|histogram| object! { histogram }),
        // By the names of a run's metrics; empty if the server cannot be observed.
        server_cost: costs.collect::<BTreeMap<_, _>>(),
        #[serde(flatten)]
        outage: outage.map(|outage| object! {
            outage: object! {
                lost_transactions: outage.lost,
                reconnected: outage.reconnected,
                without_server_s: outage.away_s,
                still_away: outage.still_away,
            }
        }),
    }
}

fn seen(measured: &Measured) -> BTreeMap<String, f64> {
    let mut seen = measured.surroundings.covariates.clone();
    seen.extend(measured.covariates.clone());
    seen
}

/// The first line of the output if the server was away.
fn away(outage: &Outage) -> String {
    let end = match outage.still_away {
        0 => String::new(),
        n => format!("; {} had none at the end", count(n, "client")),
    };
    format!(
        "the server was unavailable for {:.1} s: {} lost and repeated, {} reopened{end}; latencies include the wait\n",
        outage.away_s,
        count(outage.lost as usize, "transaction"),
        count(outage.reconnected as usize, "connection"),
    )
}

/// The requested and the achieved rate of each part, with a rate that changes.
fn slices(sample: &Sample) -> String {
    let mut text = String::new();
    if !sample.slices.is_empty() {
        text += "    from s         requested/s          done/s     p50 ms     p99 ms     max ms\n";
    }
    for (number, Slice { rate, tps, latency_ms, .. }) in sample.slices.iter().enumerate() {
        let from_s = number as f64 * sample.elapsed_s / sample.slices.len() as f64;
        text += &format!("{from_s:>10.1}  {rate:>18.1}  {tps:>14.1}");
        if let Some(LatencyMs { p50, p99, max, .. }) = latency_ms {
            text += &format!("  {p50:>9.3}  {p99:>9.3}  {max:>9.3}");
        }
        text.push('\n');
    }
    text
}

/// sysbench's buckets, whose middles are: 1024 values from 1 us to 100 s, evenly spaced on a logarithmic scale.
const BUCKETS: f64 = 1024.0;
const LEAST_MS: f64 = 0.001;
const MOST_MS: f64 = 100_000.0;

/// The non-empty buckets: middle in milliseconds and number of latencies.
fn buckets(latencies: &Latencies) -> Vec<(f64, u64)> {
    let step = (MOST_MS / LEAST_MS).ln() / (BUCKETS - 1.0);
    let mut buckets = BTreeMap::<u32, u64>::new();
    for (ms, count) in latencies.each() {
        let bucket = ((ms.clamp(LEAST_MS, MOST_MS) / LEAST_MS).ln() / step).round();
        *buckets.entry(bucket as u32).or_default() += count;
    }
    buckets.into_iter().map(|(bucket, count)| (LEAST_MS * (f64::from(bucket) * step).exp(), count)).collect()
}

/// The histogram in sysbench's format.
fn histogram(latencies: &Latencies) -> String {
    const STARS: f64 = 40.0;
    let buckets = buckets(latencies);
    let most = buckets.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    let mut text = String::from("Latency histogram (values are in milliseconds)\n");
    text.push_str("       value  ------------- distribution ------------- count\n");
    for (ms, count) in buckets {
        let stars = "*".repeat((count as f64 * STARS / most).round() as usize);
        text.push_str(&format!("{ms:12.3} |{stars:<40} {count}\n"));
    }
    text
}

/// Errors by class, of a load that counts them and goes on with another transaction; the rest was run again.
fn errors(covariates: &BTreeMap<String, f64>) -> impl Iterator<Item = (&str, f64)> {
    covariates.iter().filter_map(|(name, count)| Some((steps::ended_a_transaction(name)?, *count)))
}

fn failures(restarts: u64, covariates: &BTreeMap<String, f64>, elapsed_s: f64) -> String {
    let failed: f64 = errors(covariates).map(|(_, count)| count).sum();
    // Statements are counted a moment after the end of the sample, so that the difference of the two may not be 0.
    let again = match covariates.get(&steps::statement_errors(steps::RETRY, None)) {
        None if failed > 0.0 => 0.0,
        counted => counted.copied().unwrap_or(restarts as f64),
    };
    let mut text = format!("run again     {again:>12}   {:.2} per second\n", again / elapsed_s);
    if failed > 0.0 {
        let classes: Vec<String> = errors(covariates).map(|(class, count)| format!("{class} {count} times")).collect();
        text += &format!(
            "errors        {failed:>12}   {:.2} per second, not run again: {}\n",
            failed / elapsed_s,
            classes.join(", ")
        );
    }
    text
}

fn latencies(of: &LatencyMs) -> String {
    let LatencyMs { min, mean, max, p50, p90, p95, p99, p99_9 } = *of;
    let [min, mean, max, p50, p90, p95, p99, p99_9] = [min, mean, max, p50, p90, p95, p99, p99_9].map(ms);
    format!(
        "latency ms    min {min}  mean {mean}  max {max}\n\
         {:14}p50 {p50}  p90 {p90}  p95 {p95}  p99 {p99}  p99.9 {p99_9}\n",
        ""
    )
}

/// Of the server, per transaction.
fn server_cpu(user_us: f64, system_us: f64, switches: f64) -> String {
    format!(
        "server CPU    {user_us:.2} us user + {system_us:.2} us system per transaction\n\
         {:14}{switches:.2} context switches per transaction\n",
        ""
    )
}

/// With fewer digits of a long one, so that five fit next to each other on 80 columns.
fn ms(value: f64) -> String {
    if value < 100.0 { format!("{value:.3}") } else { format!("{value:.1}") }
}

pub(crate) fn words(viewed: &Viewed<'_>) -> String {
    let Viewed { measured_system, measured, sample, outage, report } = *viewed;
    let mut text = outage.filter(|outage| outage.lost > 0).as_ref().map_or(String::new(), away);
    if report.histogram {
        text.push_str(&histogram(&sample.latencies));
    }
    let Sample { transactions, reads, writes, others, restarts, reconnects, elapsed_s, .. } = sample;
    let per_s = |count: u64| count as f64 / elapsed_s;
    text += &measured_system.words();
    text += &format!("transactions  {transactions:>12}   {:.1} per second\n", sample.tps());
    text += &format!(
        "queries       {:>12}   {:.1} per second: {reads} read, {writes} write, {others} other\n",
        reads + writes + others,
        sample.qps(),
    );
    text += &failures(*restarts, &measured.covariates, *elapsed_s);
    text += &format!("reconnects    {reconnects:>12}   {:.2} per second\n", per_s(*reconnects));
    text += &format!("time          {elapsed_s:>12.3} s\n");
    if let Some(l) = sample.latency_ms {
        text.push_str(&latencies(&l));
    }
    let usual = [50.0, 90.0, 95.0, 99.0, 99.9].contains(&report.percentile);
    if let (Some(request), false) = (sample.latencies.percentile_ms(report.percentile), usual) {
        text.push_str(&format!("              p{} {}\n", report.percentile, ms(request)));
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        text.push_str(&format!(
            "client CPU    {:.2} us user + {:.2} us system per transaction\n",
            cpu.user, cpu.system
        ));
    }
    let costs = measured.server_cost();
    let cost = |wanted: Quantity| {
        let of = ServerCost::of(wanted)?.metric(Operation::Transaction);
        costs.iter().find(|(metric, _)| *metric == of).map(|(_, value)| *value)
    };
    if let (Some(user), Some(system)) = (cost(Quantity::User), cost(Quantity::System)) {
        let switches = cost(Quantity::Switches).unwrap_or(0.0);
        text.push_str(&server_cpu(user, system, switches));
    }
    if let Some(backlog) = sample.backlog {
        text.push_str(&format!("backlog       {backlog:>12} transactions due but not started at the end\n"));
    }
    text.push_str(&slices(sample));
    let seen = seen(measured);
    let limit =
        trials::client_limit_reason(&seen, sample.elapsed_s).map(|why| format!("the client was the limit: {why}"));
    for line in limit.into_iter().chain(LongestStall::of(&seen).as_ref().map(trials::stall_words)) {
        text.push_str(&format!("! {line}\n"));
    }
    text + &thread_lines(&measured.surroundings.threads)
}

/// Pairs that are printed; `--json` lists all of them.
const THREADS_SHOWN: usize = 16;

/// One line per connection; empty if no thread was watched.
fn thread_lines(threads: &[ThreadRecord]) -> String {
    let clients: Vec<_> = threads.iter().filter(|thread| thread.class == ThreadClass::Client).collect();
    let mut text = String::new();
    for client in clients.iter().take(THREADS_SHOWN) {
        let number = client.pair.map_or(String::new(), |pair| format!(" {pair}"));
        text += &format!("client{number:<8}thread {}", place(client));
        let serves = |thread: &&ThreadRecord| thread.class == ThreadClass::Connection && thread.pair == client.pair;
        match threads.iter().find(serves) {
            Some(server) => text += &format!("; served by {} {}\n", server.name, place(server)),
            None => text += "; its server thread is not visible from here\n",
        }
    }
    if clients.len() > THREADS_SHOWN {
        text += &format!("... and {} more: --json has them all\n", count(clients.len() - THREADS_SHOWN, "client"));
    }
    text
}

fn place(thread: &ThreadRecord) -> String {
    let seen: CpuSet = thread.seen_cpus.keys().map(|cpu| *cpu as u32).collect();
    let moves = count(thread.migrations as usize, "move");
    format!("{}: CPUs allowed {}, seen {seen}, {moves}", thread.tid, thread.allowed_cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_after_which_another_transaction_is_drawn_is_not_run_again() {
        let of = |counts: &[(&str, f64)]| {
            let covariates = counts.iter().map(|(class, n)| (steps::statement_errors(class, None), *n)).collect();
            failures(1905, &covariates, 5.0)
        };
        assert_eq!(of(&[]), "run again             1905   381.00 per second\n");
        let counted = of(&[("23505", 1900.0), ("40P01", 4.0)]);
        let errors = "errors                1904   380.80 per second, not run again: 23505 1900 times, 40P01 4 times\n";
        assert_eq!(counted, format!("run again                0   0.00 per second\n{errors}"));
        let errors = "errors                1900   380.00 per second, not run again: 23505 1900 times\n";
        let both = of(&[("23505", 1900.0), ("retry", 5.0)]);
        assert_eq!(both, format!("run again                5   1.00 per second\n{errors}"));
    }

    #[test]
    fn latencies_and_costs_fit_on_80_columns() {
        let text = server_cpu(123_456.78, 123_456.78, 1234.5);
        assert!(text.contains("123456.78 us system per") && text.lines().all(|line| line.len() <= 80), "{text}");
        for (value, expected) in [(0.0123, "p50 0.012  p90"), (99_999.94, "p50 99999.9  p90")] {
            let [min, mean, max, p50, p90, p95, p99, p99_9] = [value; 8];
            let text = latencies(&LatencyMs { min, mean, max, p50, p90, p95, p99, p99_9 });
            assert!(text.contains(expected) && text.lines().all(|line| line.len() <= 80), "{text}");
        }
    }

    #[test]
    fn a_histogram_has_the_buckets_of_sysbench() {
        let mut latencies = Latencies::new();
        for (ns, count) in [(100, 4), (1_000_000, 40), (1_005_000, 40), (2_000_000, 1)] {
            (0..count).for_each(|_| latencies.record(ns));
        }
        let text = histogram(&latencies);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], format!("       0.001 |{:<40} 4", "**"), "shorter ones count as the shortest");
        // The 385th of the 1024 buckets from 0.001 to 100000 ms holds 1 ms.
        assert_eq!(lines[3], format!("       1.007 |{} 80", "*".repeat(40)));
        assert_eq!(lines[4], format!("       1.996 |{:<40} 1", "*"));
        assert_eq!(lines.len(), 5, "{text}");
    }

    fn thread(class: ThreadClass, pair: usize, allowed: &str, seen: &[usize]) -> ThreadRecord {
        ThreadRecord {
            class,
            pair: Some(pair),
            pid: 1,
            tid: 100 + pair as u32,
            name: "mariadbd".into(),
            allowed_cpus: allowed.parse().unwrap(),
            seen_cpus: seen.iter().map(|cpu| (*cpu, 5)).collect(),
            migrations: 2,
            ..ThreadRecord::default()
        }
    }

    #[test]
    fn every_client_is_printed_next_to_its_server_thread() {
        let threads = [
            thread(ThreadClass::Client, 0, "0-1", &[0, 1]),
            thread(ThreadClass::Client, 1, "1", &[1]),
            thread(ThreadClass::Connection, 0, "2", &[2]),
        ];
        let text = thread_lines(&threads);
        let lines: Vec<&str> = text.lines().collect();
        let first = "client 0      thread 100: CPUs allowed 0-1, seen 0-1, 2 moves; served by mariadbd 100: CPUs allowed 2, \
                     seen 2, 2 moves";
        assert_eq!(lines[0], first);
        assert!(lines[1].ends_with("; its server thread is not visible from here"), "{text}");
        assert_eq!(thread_lines(&[]), "");
    }

    #[test]
    fn the_first_of_many_clients_are_shown_and_the_rest_counted() {
        let many: Vec<_> = (0..40).map(|pair| thread(ThreadClass::Client, pair, "0", &[0])).collect();
        assert!(thread_lines(&many).ends_with("... and 24 clients more: --json has them all\n"));
    }
}
