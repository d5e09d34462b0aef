//! A trial in steps: each is a run of its own on the same server, and continues with the tables and counters of the
//! step before.

use super::client::{self, SqlLoadError, Tally};
use super::mix::Mix;
use super::step::{Parts, Role, Step, threads_of_client};
use crate::workload::fill::LONGEST_STATEMENT;
use crate::workload::sessions::{Pace, Ran};
use crate::workload::{Driven, LoadContext, LoadError, Measured, TrialSize};
use std::sync::Arc;
use tare_load::Latencies;
use tare_results::server_cost::Quantity;
use tare_results::steps::{self, Figure};

/// Time limit of a step that ends after a number of transactions, seconds: the user can set another limit.
const LONGEST_S: f64 = 7.0 * 86_400.0;
/// Transactions per second of a role that are assumed for unknown servers.
const EXPECTED_PER_S: f64 = 200.0;
/// Factor by which steps with a number of transactions may exceed their expected duration.
const SLACK: f64 = 20.0;

pub(super) fn expected_s(steps: &[Step], counts: &TrialSize) -> f64 {
    steps.iter().map(|step| step.count.map_or(counts.sample_s, |count| count as f64 / EXPECTED_PER_S)).sum()
}

pub(super) fn limit_s(steps: &[Step], counts: &TrialSize) -> f64 {
    let of_counts: f64 = steps.iter().filter_map(|step| Some(step.count? as f64 / EXPECTED_PER_S)).sum();
    expected_s(steps, counts) + SLACK * of_counts
}

/// Whether steps can be driven with this number of threads.
pub(super) fn check(steps: &[Step], threads: usize, pace: Pace) -> Result<(), String> {
    let of_client = threads_of_client(steps);
    if !threads.is_multiple_of(of_client) || threads == 0 {
        return Err(format!(
            "threads must be a multiple of {of_client} for these steps, one connection for each role of a client: \
             workload.threads = {of_client}"
        ));
    }
    if pace != Pace::Closed {
        return Err("neither rate nor objective for steps: each role has its own rate".to_owned());
    }
    Ok(())
}

/// Runs all steps: one sample, with figures for each role of each step.
pub(super) fn drive(mix: &Arc<Mix>, mut stage: LoadContext<'_>) -> Result<Driven, LoadError> {
    let refused = |what: &str| Err(LoadError::Generator(format!("steps of the workload sql: {what}")));
    if stage.counts.samples != 1 {
        return refused("set sampling.samples = 1, because a second sample would find changed tables");
    }
    if stage.watch.probes() {
        return refused("set sampling.probe = \"off\", because the server is busy from the first step to the last");
    }
    let requested = stage.counts;
    let counters = Arc::new(mix.counters());
    let mut all = Measured::default();
    for (number, step) in mix.steps.iter().enumerate() {
        analyze(step, &stage)?;
        stage.watch.clear();
        stage.counts = TrialSize {
            warmup_s: 0.0,
            extra: false,
            sample_s: step.count.map_or(requested.sample_s, |_| LONGEST_S),
            ..requested
        };
        let parts = Parts::of(step, threads_of_client(&mix.steps));
        let events = step.count.map(|count| count * step.roles.len() as u64);
        // Each step draws different numbers; the factor is odd, so that the steps of different trials differ too.
        let seed = stage.seed;
        stage.seed = seed.wrapping_add((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let ran = client::run(mix, &counters, (None, events), &mut stage, |index| Some(parts.of_thread(index)));
        stage.seed = seed;
        for ran in ran? {
            stage.host.judge(Pace::Closed, &ran.sample)?;
            add(&mut all, mix, step, ran);
        }
    }
    Ok(Driven { samples: vec![all], ..Driven::default() })
}

fn analyze(step: &Step, stage: &LoadContext<'_>) -> Result<(), LoadError> {
    if step.analyze.is_empty() {
        return Ok(());
    }
    let mut session = (stage.connect)()?;
    let run = |sql: &str, session: &mut dyn tare_engine::Session| {
        session.set_timeout(Some(LONGEST_STATEMENT)).and_then(|()| session.run(sql).map(drop))
    };
    for table in &step.analyze {
        let sql = stage.dialect.analyze(table);
        run(&sql, session.as_mut())
            .map_err(|e| LoadError::own(SqlLoadError::statement(format!("step {}", step.name), &sql, e)))?;
    }
    Ok(())
}

fn add(all: &mut Measured, mix: &Mix, step: &Step, ran: Ran<Tally>) {
    let Ran { sample, around, counted } = ran;
    let elapsed_s = sample.elapsed_s;
    let begin_s = all.elapsed_s;
    let mut named = |figure: Figure, of: &str, value: f64| all.metrics.push((steps::metric(figure, of), value));
    named(Figure::BeginS, &step.name, begin_s);
    if step.count.is_some() {
        named(Figure::ElapsedS, &step.name, elapsed_s);
    }
    // The server's CPU time is divided by the number of queries, or without queries by the rows written.
    let (mut queries, mut rows_written) = (0, 0);
    let clients = sample.threads.len() / threads_of_client(&mix.steps);
    let roles = step.roles.iter();
    let roles: Vec<(String, &Role, Done)> =
        roles.map(|role| (format!("{}_{}", step.name, role.name), role, Done::of(role, mix, &counted))).collect();
    for (part, role, done) in &roles {
        match (role.rate, role.writes) {
            (Some(rate), _) => {
                let due = (rate * elapsed_s).floor().max(1.0) * clients as f64;
                named(Figure::MissedFraction, part, (1.0 - done.transactions as f64 / due).max(0.0));
            }
            // A step that changes no row, for instance the creation of an index, is measured by its duration.
            (None, true) if done.rows > 0 => named(Figure::RowsPerS, part, done.rows as f64 / elapsed_s),
            (None, true) => {}
            (None, false) => named(Figure::QueriesPerS, part, done.took.count() as f64 / elapsed_s),
        }
        *(if role.writes { &mut rows_written } else { &mut queries }) +=
            if role.writes { done.rows } else { done.took.count() };
        all.covariates.insert(format!("statement_executions_{part}"), done.took.count() as f64);
        all.covariates.insert(format!("statement_rows_{part}"), done.rows as f64);
    }
    let operations = if queries > 0 { queries } else { rows_written };
    let cpu_us = around.used.as_ref().and_then(|used| used.of(Quantity::Cpu)).filter(|_| operations > 0);
    if let Some(cpu_us) = cpu_us {
        named(Figure::ServerCpuUs, &step.name, cpu_us / operations as f64);
    }
    for (part, _, Done { took, .. }) in &roles {
        all.add_latencies(part, took, [("p99", took.percentile_ms(99.0)), ("max", took.max_ms())]);
    }
    let seen = Measured::seen_by_the_load(&sample);
    tare_results::covariate::merge(&mut all.covariates, seen);
    let errors = counted.errors.iter();
    all.covariates
        .extend(errors.map(|(class, count)| (steps::statement_errors(class, Some(&step.name)), *count as f64)));
    match all.elapsed_s > 0.0 {
        true => all.surroundings.merge(around),
        false => all.surroundings = around,
    }
    all.elapsed_s += elapsed_s;
}

struct Done {
    took: Latencies,
    rows: u64,
    transactions: u64,
}

impl Done {
    fn of(role: &Role, mix: &Mix, counted: &Tally) -> Self {
        let mut done = Self { took: Latencies::new(), rows: 0, transactions: 0 };
        for transaction in role.runs.iter().map(|number| &mix.transactions[*number]) {
            let tallies = &counted.statements[transaction.first_statement..][..transaction.statements.len()];
            for tally in tallies {
                done.took.merge(&tally.took);
                done.rows += tally.rows;
            }
            // The last statement is run only if all before it were, so it counts the transactions.
            let last = tallies.last().zip(transaction.statements.last());
            done.transactions += last.map_or(0, |(tally, one)| tally.took.count() / u64::from(one.times));
        }
        done
    }
}
