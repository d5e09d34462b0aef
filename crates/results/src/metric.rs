//! The registry of metrics: name -> unit, better direction and place in a table.

pub use crate::named::{Better, Metric, Named};

use crate::covariate::Covariate;
use crate::named::{QUERY, QUERY_S};
use crate::server_cost;
use crate::steps::{self, Figure};
use crate::unit::Unit;

/// Declares metrics as constants, and the list of all of them.
macro_rules! declared {
    ($($(#[$doc:meta])* $constant:ident = $name:literal, $unit:ident, $better:ident, $rank:expr;)+) => {
        $($(#[$doc])* pub const $constant: Named = Named::new($name, Unit::$unit, Better::$better, $rank);)+

        /// Every metric of this program's loads, except the families of query times and of the server's cost
        /// ([`crate::server_cost`]).
        pub static DECLARED: &[Named] = &[$($constant),+];
    };
}

declared! {
    TPS = "tps", PerS, Higher, 0;
    /// The highest rate of transactions that meets the objective of an open loop, over all threads.
    MAX_TPS_UNDER_OBJECTIVE = "max_tps_under_objective", PerS, Higher, 0;
    QPS = "qps", PerS, Higher, 11;
    /// Counting rounds per second, over all threads.
    ROUNDS_PER_S = "rounds_per_s", PerS, Higher, 1;
    /// Time per increment, the inverse of rounds per second; not primary, because in an average of both an effect would
    /// cancel out.
    NS_PER_INCREMENT = "ns_per_increment", Ns, Lower, 12;
    /// Share of increments that the counters do not show.
    LOSS = "loss", Plain, Lower, SUFFIX_RANK;
    BYTES_PER_COUNTER = "bytes_per_counter", Bytes, Lower, SUFFIX_RANK;
    FULL_READ_NS = "full_read_ns", Ns, Lower, SUFFIX_RANK;
    /// Share of the time spent drawing random numbers.
    GENERATOR_FRACTION = "generator_fraction", Fraction, Lower, SUFFIX_RANK;
    /// CPU time of the clients, user and system, per transaction.
    CLIENT_CPU_US_PER_TRANSACTION = "client_cpu_us_per_transaction", Us, Lower, SUFFIX_RANK;
    LATENCY_MS_MEAN = "latency_ms_mean", Ms, Lower, 12;
    LATENCY_MS_P50 = "latency_ms_p50", Ms, Lower, 12;
    LATENCY_MS_P90 = "latency_ms_p90", Ms, Lower, 12;
    LATENCY_MS_P95 = "latency_ms_p95", Ms, Lower, 12;
    LATENCY_MS_P99 = "latency_ms_p99", Ms, Lower, 12;
    LATENCY_MS_P99_9 = "latency_ms_p99_9", Ms, Lower, 12;
    LATENCY_MS_MAX = "latency_ms_max", Ms, Lower, 12;
    /// New orders per minute, as HammerDB counts them.
    NOPM = "nopm", PerMin, Higher, 0;
    /// New orders per minute of the workload `tpcc`, including those that the standard rolls back. Never an audited
    /// result.
    TPMC = "tpmC", PerMin, Higher, 11;
    /// Time from the start of a program to its end.
    WALL_S = "wall_s", S, Lower, 2;
    /// CPU time of a program and all of its child processes, in user mode.
    USER_S = "user_s", S, Lower, 12;
    /// CPU time of the same processes in the kernel.
    SYSTEM_S = "system_s", S, Lower, 12;
    /// Peak resident memory of a program's largest process.
    PEAK_MEMORY_BYTES = "peak_memory_bytes", Bytes, Lower, SUFFIX_RANK;
    /// Page faults of a program that needed no reading.
    MINOR_FAULTS = "minor_faults", Plain, Lower, SUFFIX_RANK;
    /// Page faults of a program that read from a disk.
    MAJOR_FAULTS = "major_faults", Plain, Lower, SUFFIX_RANK;
    VOLUNTARY_SWITCHES = "voluntary_switches", Plain, Lower, SUFFIX_RANK;
    INVOLUNTARY_SWITCHES = "involuntary_switches", Plain, Lower, SUFFIX_RANK;
}

/// The query whose time this metric is, as `q12`; none for any other metric.
pub fn query(name: &str) -> Option<&str> {
    name.strip_prefix(QUERY_S)
}

/// The display name of a query, `Q12`, or of a step and its role, `l_i0_insert`; otherwise the metric's own name.
pub fn short(name: &str) -> String {
    match (query(name), steps::figure(name)) {
        (Some(query), _) => query.to_uppercase(),
        (_, Some((Figure::RowsPerS | Figure::QueriesPerS | Figure::ElapsedS, of))) => of.to_owned(),
        _ => name.to_owned(),
    }
}

/// Suffix of a name -> unit and direction, because names end in their unit. The first match counts.
const BY_SUFFIX: &[(&str, Unit, Better)] = &[
    ("_per_s", Unit::PerS, Better::Higher),
    ("_per_second", Unit::PerS, Better::Higher),
    ("_fraction", Unit::Fraction, Better::Lower),
    ("_bytes", Unit::Bytes, Better::Lower),
    ("_ns", Unit::Ns, Better::Lower),
    ("_us", Unit::Us, Better::Lower),
    ("_ms", Unit::Ms, Better::Lower),
    ("_s", Unit::S, Better::Lower),
];

/// Rank of a metric described by its suffix, and of an unknown one.
const SUFFIX_RANK: u8 = 20;
const UNKNOWN_RANK: u8 = 30;

/// The description of a metric: as declared, or guessed from its name if it comes from a CSV file or another version.
pub fn describe(name: &str) -> Metric {
    let declared = DECLARED.iter().find(|declared| declared.name() == name).or_else(|| server_cost::find(name));
    if let Some(declared) = declared {
        return declared.metric;
    }
    if query(name).is_some() { QUERY } else { steps::describe(name).unwrap_or_else(|| guess(name)) }
}

/// Whether the metric counts things or bytes: its whole numbers are exact.
pub fn is_count(name: &str) -> bool {
    let unit = describe(name).unit;
    unit == Unit::Bytes || name == "errors" || unit == Unit::Plain && is_declared(name)
}

/// Whether this program declares the metric, so that its meaning is known.
pub fn is_declared(name: &str) -> bool {
    DECLARED.iter().any(|declared| declared.name() == name)
}

/// Whether a load of this program may record the name: as a metric, as a covariate, or as a figure of one of its parts.
pub fn is_known(name: &str) -> bool {
    let whole = name.split_once(steps::OF).map_or(name, |(figure, _)| figure);
    let declared = is_declared(whole) || server_cost::find(whole).is_some() || query(whole).is_some();
    declared || steps::describe(name).is_some() || Covariate::of(name).is_some()
}

/// The nearest metric of this program's loads.
pub fn nearest(name: &str) -> Option<&'static str> {
    let costs = server_cost::SERVER_COSTS.iter().map(|cost| cost.metric(server_cost::Operation::Transaction));
    tare_text::nearest(name, DECLARED.iter().chain(costs).map(Named::name))
}

/// A metric that this program does not know, described by its name.
pub fn of_name(name: &str) -> Named {
    Named::described(name, describe(name))
}

/// An unknown name without a known suffix has no unit and counts as better when higher.
fn guess(name: &str) -> Metric {
    if name.starts_with("latency_ms_") {
        return LATENCY_MS_MEAN.metric;
    }
    let bare = [("s", Unit::S), ("ms", Unit::Ms), ("us", Unit::Us), ("ns", Unit::Ns), ("seconds", Unit::S)];
    if let Some((_, unit)) = bare.iter().find(|(known, _)| *known == name) {
        return Metric { unit: *unit, better: Better::Lower, rank: SUFFIX_RANK };
    }
    match BY_SUFFIX.iter().find(|(suffix, ..)| name.ends_with(suffix)) {
        Some((_, unit, better)) => Metric { unit: *unit, better: *better, rank: SUFFIX_RANK },
        None if name.contains("_ns_per_") || name.starts_with("ns_per_") => {
            Metric { unit: Unit::Ns, better: Better::Lower, rank: SUFFIX_RANK }
        }
        None if name.contains("_us_per_") => Metric { unit: Unit::Us, better: Better::Lower, rank: SUFFIX_RANK },
        None if name == "errors" || name.starts_with("bytes_per_") || name == "loss" => Metric {
            unit: if name.starts_with("bytes") { Unit::Bytes } else { Unit::Plain },
            better: Better::Lower,
            rank: SUFFIX_RANK,
        },
        None => Metric { unit: Unit::Plain, better: Better::Higher, rank: UNKNOWN_RANK },
    }
}

/// Order of metrics in every table: rank, then percentiles and query numbers as numbers, then the name.
pub fn sort_key(name: &str) -> (u8, u32, String) {
    let digits: String = name.chars().rev().take_while(char::is_ascii_digit).collect();
    let number = digits.chars().rev().collect::<String>().parse().unwrap_or(0);
    let number = match name.strip_prefix("latency_ms_") {
        Some("min") => 0,
        Some("mean") => 1,
        // p99_9 sorts between p99 and max.
        Some("p99_9") => 999,
        Some("max") => 1000,
        Some(_) => number + 2,
        None => number,
    };
    (describe(name).rank, number, name.to_owned())
}

/// A caveat that must accompany the metric wherever it is shown, if any.
pub fn caveat(name: &str) -> Option<&'static str> {
    (name == TPMC.name()).then_some(
        "tpmC here counts the new orders of this program's own workload per minute: it is not an audited TPC-C result, \
         and must not be compared with one.",
    )
}

/// Whether a short table leaves the metric out: extremes and percentiles of latency except the 99th, and metrics of a
/// step, a statement or a kind of transaction.
pub fn is_further(name: &str) -> bool {
    let kept = || [LATENCY_MS_MEAN, LATENCY_MS_P99].iter().any(|metric| metric.name() == name);
    (name.starts_with("latency_ms_") && !kept()) || name.contains(steps::OF)
}

/// Whether the metric is the server's cost of one operation: CPU time, cycles, joules and so on per transaction or
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
            assert_eq!((metric.unit.name(), metric.better), (unit, better), "{name}");
        }
    }

    #[test]
    fn counts_are_exact_and_measured_whole_numbers_are_not() {
        let counts = ["errors", "minor_faults", "peak_memory_bytes"];
        assert!(counts.into_iter().all(is_count) && !["tps", "query_s_q1", "score"].into_iter().any(is_count));
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
    fn short_tables_have_one_percentile_and_nothing_of_a_part() {
        let further = ["latency_ms_p50", "latency_ms_max", "latency_ms_p99_of_pay_1", "elapsed_s_of_l_x"];
        let kept = ["qps", "latency_ms_mean", "latency_ms_p99", "server_cpu_us_per_transaction", "query_s_q2"];
        assert!(further.into_iter().all(is_further) && !kept.into_iter().any(is_further));
    }

    #[test]
    fn declared_metrics_are_described_as_declared() {
        for declared in DECLARED.iter().chain([&Named::query_s(12)]) {
            assert_eq!(describe(declared.name()), declared.metric, "{}", declared.name());
        }
        assert_eq!(Named::query_s(12).name(), "query_s_q12");
    }
}
