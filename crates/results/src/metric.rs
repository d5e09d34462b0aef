//! The one registry of metrics: name -> unit, better direction and place in a table.

pub use crate::named::{Better, Metric, Named};

use crate::named::{QUERY, QUERY_S};
use crate::{server_cost, steps};

/// Transactions a second, over all threads.
pub const TPS: Named = Named::new("tps", "1/s", Better::Higher, 0);
/// The highest rate of transactions that meets the objective of an open loop, over all threads.
pub const MAX_TPS_UNDER_OBJECTIVE: Named = Named::new("max_tps_under_objective", "1/s", Better::Higher, 0);
/// Queries a second, over all threads.
pub const QPS: Named = Named::new("qps", "1/s", Better::Higher, 11);
/// Rounds of counting a second, over all threads.
pub const ROUNDS_PER_S: Named = Named::new("rounds_per_s", "1/s", Better::Higher, 1);
/// Time of an increment, the inverse of rounds a second: averaged with it, an effect would cancel out.
pub const NS_PER_INCREMENT: Named = Named::new("ns_per_increment", "ns", Better::Lower, 12);
/// Share of increments that the counters do not show.
pub const LOSS: Named = Named::new("loss", "", Better::Lower, SUFFIX_RANK);
/// Memory that a counter takes.
pub const BYTES_PER_COUNTER: Named = Named::new("bytes_per_counter", "bytes", Better::Lower, SUFFIX_RANK);
/// Time that reading all counters takes.
pub const FULL_READ_NS: Named = Named::new("full_read_ns", "ns", Better::Lower, SUFFIX_RANK);
/// Share of the time that drawing random numbers takes.
pub const GENERATOR_FRACTION: Named = Named::new("generator_fraction", "fraction", Better::Lower, SUFFIX_RANK);
/// CPU time of the clients, user and system, for each transaction.
pub const CLIENT_CPU_US_PER_TRANSACTION: Named =
    Named::new("client_cpu_us_per_transaction", "us", Better::Lower, SUFFIX_RANK);
/// Mean latency of transactions.
pub const LATENCY_MS_MEAN: Named = Named::new("latency_ms_mean", "ms", Better::Lower, 12);
/// Latency that half of all transactions keep.
pub const LATENCY_MS_P50: Named = Named::new("latency_ms_p50", "ms", Better::Lower, 12);
/// Latency that nine of ten transactions keep.
pub const LATENCY_MS_P90: Named = Named::new("latency_ms_p90", "ms", Better::Lower, 12);
/// Latency that 95% of transactions keep.
pub const LATENCY_MS_P95: Named = Named::new("latency_ms_p95", "ms", Better::Lower, 12);
/// Latency that 99% of transactions keep.
pub const LATENCY_MS_P99: Named = Named::new("latency_ms_p99", "ms", Better::Lower, 12);
/// Latency that 99.9% of transactions keep.
pub const LATENCY_MS_P99_9: Named = Named::new("latency_ms_p99_9", "ms", Better::Lower, 12);
/// The longest latency of all transactions.
pub const LATENCY_MS_MAX: Named = Named::new("latency_ms_max", "ms", Better::Lower, 12);

/// New orders a minute, as HammerDB counts them.
pub const NOPM: Named = Named::new("nopm", "1/min", Better::Higher, 0);
/// New orders a minute of the workload `tpcc`, those included that the standard has rolled back. Never an audited
/// result.
pub const TPMC: Named = Named::new("tpmC", "1/min", Better::Higher, 11);
/// Time from the start of a program to its end.
pub const WALL_S: Named = Named::new("wall_s", "s", Better::Lower, 2);
/// CPU time of a program and all that it started, in user mode.
pub const USER_S: Named = Named::new("user_s", "s", Better::Lower, 12);
/// CPU time of the same in the kernel.
pub const SYSTEM_S: Named = Named::new("system_s", "s", Better::Lower, 12);
/// Resident memory of the largest of a program's processes at its largest.
pub const PEAK_MEMORY_BYTES: Named = Named::new("peak_memory_bytes", "bytes", Better::Lower, SUFFIX_RANK);
/// Page faults of a program that needed no reading.
pub const MINOR_FAULTS: Named = Named::new("minor_faults", "", Better::Lower, SUFFIX_RANK);
/// Page faults of a program that read from a disk.
pub const MAJOR_FAULTS: Named = Named::new("major_faults", "", Better::Lower, SUFFIX_RANK);
/// Times that a program gave up its CPU, as to wait.
pub const VOLUNTARY_SWITCHES: Named = Named::new("voluntary_switches", "", Better::Lower, SUFFIX_RANK);
/// Times that the kernel took its CPU from a program.
pub const INVOLUNTARY_SWITCHES: Named = Named::new("involuntary_switches", "", Better::Lower, SUFFIX_RANK);

/// Every metric of this program's loads but the families of query times and of the server's cost
/// ([`crate::server_cost`]).
pub static DECLARED: &[Named] = &[
    TPS,
    MAX_TPS_UNDER_OBJECTIVE,
    QPS,
    ROUNDS_PER_S,
    NS_PER_INCREMENT,
    LOSS,
    BYTES_PER_COUNTER,
    FULL_READ_NS,
    GENERATOR_FRACTION,
    CLIENT_CPU_US_PER_TRANSACTION,
    LATENCY_MS_MEAN,
    LATENCY_MS_P50,
    LATENCY_MS_P90,
    LATENCY_MS_P95,
    LATENCY_MS_P99,
    LATENCY_MS_P99_9,
    LATENCY_MS_MAX,
    NOPM,
    TPMC,
    WALL_S,
    USER_S,
    SYSTEM_S,
    PEAK_MEMORY_BYTES,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
];

/// The query whose time a metric is, as `q12`; none for any other metric.
pub fn query(name: &str) -> Option<&str> {
    name.strip_prefix(QUERY_S)
}

/// End of a name -> unit and direction: units stand last in names. The first that fits counts.
const BY_SUFFIX: &[(&str, &str, Better)] = &[
    ("_per_s", "1/s", Better::Higher),
    ("_per_second", "1/s", Better::Higher),
    ("_fraction", "fraction", Better::Lower),
    ("_bytes", "bytes", Better::Lower),
    ("_ns", "ns", Better::Lower),
    ("_us", "us", Better::Lower),
    ("_ms", "ms", Better::Lower),
    ("_s", "s", Better::Lower),
];

/// Rank of a metric described by its suffix, and of one not described at all.
const SUFFIX_RANK: u8 = 20;
const UNKNOWN_RANK: u8 = 30;

/// What is known of a metric: as it was declared; what comes from elsewhere, in a CSV file or from another version, is
/// guessed from its name.
pub fn describe(name: &str) -> Metric {
    let declared = DECLARED.iter().find(|declared| declared.name() == name).or_else(|| server_cost::find(name));
    if let Some(declared) = declared {
        return declared.metric;
    }
    if query(name).is_some() { QUERY } else { steps::describe(name).unwrap_or_else(|| guess(name)) }
}

/// A metric that this program does not know, described by its name alone.
pub fn of_name(name: &str) -> Named {
    Named::described(name, describe(name))
}

/// A foreign name that says nothing has no unit and is taken as better when higher.
fn guess(name: &str) -> Metric {
    if name.starts_with("latency_ms_") {
        return LATENCY_MS_MEAN.metric;
    }
    let bare = [("s", "s"), ("ms", "ms"), ("us", "us"), ("ns", "ns"), ("seconds", "s")];
    if let Some((_, unit)) = bare.iter().find(|(known, _)| *known == name) {
        return Metric { unit, better: Better::Lower, rank: SUFFIX_RANK };
    }
    match BY_SUFFIX.iter().find(|(suffix, ..)| name.ends_with(suffix)) {
        Some((_, unit, better)) => Metric { unit, better: *better, rank: SUFFIX_RANK },
        None if name.contains("_ns_per_") || name.starts_with("ns_per_") => {
            Metric { unit: "ns", better: Better::Lower, rank: SUFFIX_RANK }
        }
        None if name.contains("_us_per_") => Metric { unit: "us", better: Better::Lower, rank: SUFFIX_RANK },
        None if name == "errors" || name.starts_with("bytes_per_") || name == "loss" => Metric {
            unit: if name.starts_with("bytes") { "bytes" } else { "" },
            better: Better::Lower,
            rank: SUFFIX_RANK,
        },
        None => Metric { unit: "", better: Better::Higher, rank: UNKNOWN_RANK },
    }
}

/// Order of metrics in every table: rank, then percentiles and query numbers as numbers, then the name.
pub fn sort_key(name: &str) -> (u8, u32, String) {
    let digits: String = name.chars().rev().take_while(char::is_ascii_digit).collect();
    let number = digits.chars().rev().collect::<String>().parse().unwrap_or(0);
    let number = match name.strip_prefix("latency_ms_") {
        Some("min") => 0,
        Some("mean") => 1,
        // p99_9 stands between p99 and max.
        Some("p99_9") => 999,
        Some("max") => 1000,
        Some(_) => number + 2,
        None => number,
    };
    (describe(name).rank, number, name.to_owned())
}

/// What must be said wherever a metric is shown, if anything.
pub fn caveat(name: &str) -> Option<&'static str> {
    (name == TPMC.name()).then_some(
        "tpmC here counts the new orders of this program's own workload a minute: it is not an audited TPC-C result, and \
         must not be compared with one.",
    )
}

/// Whether a metric is what one operation costs the server: CPU time, cycles, joules or the like a transaction or
/// query.
pub fn is_server_cost(name: &str) -> bool {
    name.starts_with("server_") && name.contains("_per_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_give_units_and_directions() {
        let table = [
            ("tps", "1/s", Better::Higher),
            ("qps", "1/s", Better::Higher),
            ("latency_ms_p99_9", "ms", Better::Lower),
            ("query_s_q12", "s", Better::Lower),
            ("load_s", "s", Better::Lower),
            ("ns_per_increment", "ns", Better::Lower),
            ("rounds_per_s", "1/s", Better::Higher),
            ("client_cpu_us_per_transaction", "us", Better::Lower),
            ("read_ns_per_counter", "ns", Better::Lower),
            ("memory_bytes", "bytes", Better::Lower),
            ("steal_fraction", "fraction", Better::Lower),
            ("s", "s", Better::Lower),
            ("whatever", "", Better::Higher),
        ];
        for (name, unit, better) in table {
            let metric = describe(name);
            assert_eq!((metric.unit, metric.better), (unit, better), "{name}");
        }
    }

    #[test]
    fn tables_order_percentiles_and_queries_as_numbers() {
        let mut names =
            vec!["latency_ms_max", "latency_ms_p99_9", "latency_ms_p99", "latency_ms_p50", "query_s_q12", "query_s_q2"];
        names.push("tps");
        names.push("latency_ms_mean");
        names.sort_by_key(|name| sort_key(name));
        assert_eq!(
            names,
            [
                "tps",
                "query_s_q2",
                "query_s_q12",
                "latency_ms_mean",
                "latency_ms_p50",
                "latency_ms_p99",
                "latency_ms_p99_9",
                "latency_ms_max"
            ]
        );
    }

    #[test]
    fn what_is_declared_is_described_as_declared() {
        for declared in DECLARED.iter().chain([&Named::query_s(12)]) {
            assert_eq!(describe(declared.name()), declared.metric, "{}", declared.name());
        }
        assert_eq!(Named::query_s(12).name(), "query_s_q12");
    }
}
