//! Names made from a step of a load: its metrics with their descriptions, and the counts of errors in the user's own
//! statements, by class and step.

use super::named::{Better, Metric, Named};
use crate::unit::Unit;

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
    (Figure::RowsPerS, "rows_per_s", Metric { unit: Unit::PerS, better: Better::Higher, rank: 3 }),
    (Figure::QueriesPerS, "queries_per_s", Metric { unit: Unit::PerS, better: Better::Higher, rank: 3 }),
    (Figure::ElapsedS, "elapsed_s", Metric { unit: Unit::S, better: Better::Lower, rank: 4 }),
    (Figure::MissedFraction, "missed_fraction", Metric { unit: Unit::Fraction, better: Better::Lower, rank: 20 }),
    (Figure::ServerCpuUs, "server_cpu_us_per_operation", Metric { unit: Unit::Us, better: Better::Lower, rank: 20 }),
    (Figure::BeginS, "begin_s", Metric { unit: Unit::S, better: Better::Lower, rank: Named::DETAIL_RANK }),
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

/// The figure of a metric, and its step without the role: `l_i0` of `rows_per_s_of_l_i0_insert`.
pub fn step(name: &str) -> Option<(Figure, &str)> {
    let (figure, of) = figure(name)?;
    match figure {
        // The name of a role contains no _.
        Figure::RowsPerS | Figure::QueriesPerS | Figure::MissedFraction => Some((figure, of.rsplit_once('_')?.0)),
        Figure::ElapsedS | Figure::ServerCpuUs | Figure::BeginS => Some((figure, of)),
    }
}

pub(crate) fn describe(name: &str) -> Option<Metric> {
    let (found, _) = figure(name)?;
    FIGURES.iter().find(|(known, ..)| *known == found).map(|(.., metric)| *metric)
}

const PREFIX: &str = "statement_errors_";
const IN_STEP: &str = "_in_";

/// The class of errors after which the same transaction is run again. Other classes are codes of the engine.
pub const RETRY: &str = "retry";

/// The covariate with the count of a class, of one step if it is named.
pub fn statement_errors(class: &str, step: Option<&str>) -> String {
    match step {
        Some(step) => format!("{PREFIX}{class}{IN_STEP}{step}"),
        None => format!("{PREFIX}{class}"),
    }
}

/// The class that a covariate counts, of errors that ended a transaction: `None` if it was run again, and for other
/// covariates.
pub fn ended_a_transaction(covariate: &str) -> Option<&str> {
    let class = covariate.strip_prefix(PREFIX)?;
    let class = class.split_once(IN_STEP).map_or(class, |(class, _)| class);
    (class != RETRY).then_some(class)
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
        assert_eq!(step("rows_per_s_of_l_i0_insert"), Some((Figure::RowsPerS, "l_i0")));
        assert_eq!(step("elapsed_s_of_l_x"), Some((Figure::ElapsedS, "l_x")));
    }

    #[test]
    fn an_error_after_which_a_transaction_is_run_again_ended_none_in_no_step() {
        for step in [None, Some("fill_in_1")] {
            assert_eq!(ended_a_transaction(&statement_errors("23505", step)), Some("23505"));
            assert_eq!(ended_a_transaction(&statement_errors("no_code", step)), Some("no_code"));
            assert_eq!(ended_a_transaction(&statement_errors(RETRY, step)), None);
        }
        assert_eq!(ended_a_transaction("statement_rows_a"), None);
    }
}
