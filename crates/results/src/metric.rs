//! The one registry of metrics: name -> unit, better direction and place in a table.

pub use tare_stats::ratio::Better;

/// What is known of a metric from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// `1/s`, `s`, `ms`, `us`, `ns`, `bytes`, `fraction`, or `` where the name does not say.
    pub unit: &'static str,
    /// Which way it improves.
    pub better: Better,
    /// Tables list metrics by this, then by name; see [`Metric::is_primary`].
    pub rank: u8,
}

/// Ranks below this are what a study is about; the others explain it.
const PRIMARY_RANKS: u8 = 10;

impl Metric {
    /// Throughputs and whole-query times: what headlines and gates judge when nothing else is asked for.
    pub fn is_primary(&self) -> bool {
        self.rank < PRIMARY_RANKS
    }
}

/// Full name -> description, for names that a suffix does not describe.
const BY_NAME: &[(&str, Metric)] = &[
    ("tps", Metric { unit: "1/s", better: Better::Higher, rank: 0 }),
    ("rounds_per_s", Metric { unit: "1/s", better: Better::Higher, rank: 1 }),
    ("qps", Metric { unit: "1/s", better: Better::Higher, rank: 11 }),
    // The same as rounds_per_s the other way round: averaged with it, an effect would cancel out.
    ("ns_per_increment", Metric { unit: "ns", better: Better::Lower, rank: 12 }),
];

/// Beginning of a name -> description.
const BY_PREFIX: &[(&str, Metric)] = &[
    ("query_s_", Metric { unit: "s", better: Better::Lower, rank: 3 }),
    ("latency_ms_", Metric { unit: "ms", better: Better::Lower, rank: 12 }),
];

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

/// Describes a metric by its name. A name that says nothing has no unit and is taken as better when higher.
pub fn describe(name: &str) -> Metric {
    if let Some((_, metric)) = BY_NAME.iter().find(|(known, _)| *known == name) {
        return *metric;
    }
    if let Some((_, metric)) = BY_PREFIX.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return *metric;
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
}
