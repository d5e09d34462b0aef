//! Metrics of a load's steps: their names and descriptions.

use crate::named::{Better, Metric, Named};

/// Separator between the name of a figure and the step that it belongs to.
pub(crate) const OF: &str = "_of_";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Rows per second that a role wrote or deleted.
    RowsPerS,
    /// Statements per second of a role that only reads.
    QueriesPerS,
    /// Duration of a step that ends with its transactions.
    ElapsedS,
    /// For a role with a rate, the share of due operations that were not done.
    MissedFraction,
    /// CPU time of the server per query, or per row if there are no queries.
    ServerCpuUs,
    /// Seconds from the start of the first step to the start of this one, without the time between steps: their order.
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

/// The metric of a figure: `rows_per_s_of_l_i0_insert`, `elapsed_s_of_l_x`. `of` is a step, or a step and a role
/// separated by `_`.
pub fn metric(figure: Figure, of: &str) -> Named {
    let (_, name, metric) = FIGURES[figure as usize];
    Named::described(&format!("{name}{OF}{of}"), metric)
}

/// The figure of a metric, and its step; none for any other metric.
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
