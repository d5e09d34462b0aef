//! What a load measures step by step: the names of its metrics, and what each is.

use crate::named::{Better, Metric, Named};

/// Between the name of a figure and that of what it is of.
pub(crate) const OF: &str = "_of_";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Rows that a role wrote or deleted a second.
    RowsPerS,
    /// Statements of a role that only reads, a second.
    QueriesPerS,
    /// How long a step took that ends with its transactions.
    ElapsedS,
    /// Of what was due to a role with a rate, the share that was not done.
    MissedFraction,
    /// CPU time of the server for each query, or for each row where there are none.
    ServerCpuUs,
    /// Seconds from the begin of the first step to that of this one, without what lies between steps: their order.
    BeginS,
}

const FIGURES: [(Figure, &str, Metric); 6] = [
    (Figure::RowsPerS, "rows_per_s", Metric { unit: "1/s", better: Better::Higher, rank: 3 }),
    (Figure::QueriesPerS, "queries_per_s", Metric { unit: "1/s", better: Better::Higher, rank: 3 }),
    (Figure::ElapsedS, "elapsed_s", Metric { unit: "s", better: Better::Lower, rank: 4 }),
    (Figure::MissedFraction, "missed_fraction", Metric { unit: "fraction", better: Better::Lower, rank: 20 }),
    (Figure::ServerCpuUs, "server_cpu_us_per_operation", Metric { unit: "us", better: Better::Lower, rank: 20 }),
    (Figure::BeginS, "begin_s", Metric { unit: "s", better: Better::Lower, rank: Named::DETAIL_RANK }),
];

/// The metric of a figure: `rows_per_s_of_l_i0_insert`, `elapsed_s_of_l_x`. `of` is a step, or a step and a role with
/// `_` between them.
pub fn metric(figure: Figure, of: &str) -> Named {
    let (_, name, metric) = FIGURES[figure as usize];
    Named::described(&format!("{name}{OF}{of}"), metric)
}

/// The figure that a metric is, and of what; none for any other metric.
pub fn figure(name: &str) -> Option<(Figure, &str)> {
    let (figure, of) = name.split_once(OF)?;
    let (figure, ..) = FIGURES.iter().find(|(_, known, _)| *known == figure)?;
    Some((*figure, of))
}

pub(crate) fn describe(name: &str) -> Option<Metric> {
    let (found, _) = figure(name)?;
    FIGURES.iter().find(|(known, ..)| *known == found).map(|(.., metric)| *metric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_found_again_by_its_name() {
        for (of, name, described) in FIGURES {
            let metric = metric(of, "l_i0_insert");
            assert_eq!(metric.name(), format!("{name}_of_l_i0_insert"));
            assert_eq!((figure(metric.name()), metric.metric), (Some((of, "l_i0_insert")), described));
        }
        assert!(figure("latency_ms_p99_of_l_i0_insert").is_none() && figure("rows_per_s").is_none());
    }
}
