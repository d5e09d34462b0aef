//! What one run of a program gives: what it says of itself, or what the kernel says of it.

use super::CommandSettings;
use crate::workload::program::{ProgramError, Ran, Report, Usage};
use crate::workload::{LoadError, Measured};
use tare_results::metric::{self, Named};

pub fn measured(settings: &CommandSettings, program: String, mut ran: Ran) -> Result<Measured, LoadError> {
    let mut all = Report::default();
    for parser in &settings.metrics {
        let Some(found) = parser.read(&ran.ended.text) else {
            let expected = format!("{parser}: a number");
            return Err(LoadError::own(ProgramError::NoMetric { program, expected, tail: ran.ended.tail }));
        };
        all.metrics.extend(found.metrics);
        all.covariates.extend(found.covariates);
        all.transactions = all.transactions.or(found.transactions);
    }
    let usage = usage(&ran);
    if all.metrics.is_empty() {
        all.metrics = of_kernel(ran.ended.wall_s, &usage);
    } else {
        let client = [("client_cpu_s", usage.cpu_s()), ("client_memory_bytes", usage.peak_memory_bytes)];
        all.covariates.extend(client.map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(Measured {
        operations: None,
        elapsed_s: ran.ended.wall_s,
        metrics: all.metrics,
        tps_each_second: std::mem::take(&mut ran.tps_each_second),
        histograms: Default::default(),
        covariates: all.covariates,
        surroundings: ran.surroundings,
    })
}

/// What it used: as it was reaped, and never less than was watched of its threads, some of which another may have
/// reaped.
fn usage(ran: &Ran) -> Usage {
    let mut usage = ran.ended.usage;
    let clients = ran.surroundings.threads.iter().filter(|t| t.class == tare_results::schema::ThreadClass::Client);
    let (user_s, system_s) = clients.fold((0.0, 0.0), |(user, system), t| (user + t.user_s, system + t.system_s));
    (usage.user_s, usage.system_s) = (usage.user_s.max(user_s), usage.system_s.max(system_s));
    usage
}

fn of_kernel(wall_s: f64, usage: &Usage) -> Vec<(Named, f64)> {
    vec![
        (metric::WALL_S, wall_s),
        (metric::USER_S, usage.user_s),
        (metric::SYSTEM_S, usage.system_s),
        (metric::PEAK_MEMORY_BYTES, usage.peak_memory_bytes),
        (metric::MINOR_FAULTS, usage.minor_faults),
        (metric::MAJOR_FAULTS, usage.major_faults),
        (metric::VOLUNTARY_SWITCHES, usage.voluntary_switches),
        (metric::INVOLUNTARY_SWITCHES, usage.involuntary_switches),
    ]
}
