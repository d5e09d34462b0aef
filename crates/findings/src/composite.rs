//! All primary metrics of a study in one value per trial: the mean of their logarithms. The queries of one trial
//! share its random variation; combining them before a test counts each trial once.

use super::collect::{self, ConditionTrials};
use tare_results::metric::{self, Better};

#[derive(Debug, Clone)]
pub(super) struct Composite {
    pub metrics: Vec<String>,
    pub better: Better,
    /// (block, mean ln) of the trials of each condition, in the order of the conditions.
    pub cells: Vec<Vec<(usize, f64)>>,
}

/// The primary metrics that improve in the same direction as `headline`, or `headline` alone if it is not primary.
/// Metrics that a trial lacks, or that are not positive, are excluded. None if no metric remains.
pub(super) fn of(conditions: &[ConditionTrials<'_>], headline: &str) -> Option<Composite> {
    let own = metric::describe(headline);
    let takes_part = |name: &&String| {
        let described = metric::describe(name);
        **name == headline || (own.is_primary() && described.is_primary() && described.better == own.better)
    };
    let all = collect::all_metrics(conditions);
    let mut cells: Vec<Vec<(usize, f64)>> = conditions
        .iter()
        .map(|condition| condition.ok.iter().map(|trial| (condition.block(trial), 0.0)).collect())
        .collect();
    let mut metrics = Vec::new();
    for name in all.iter().filter(takes_part) {
        let values: Vec<Vec<f64>> = conditions.iter().map(|c| c.means(name)).collect();
        let whole = values.iter().zip(&cells).all(|(values, cell)| values.len() == cell.len());
        if !whole || values.iter().flatten().any(|v| *v <= 0.0) {
            continue;
        }
        for (cell, values) in cells.iter_mut().zip(values) {
            cell.iter_mut().zip(values).for_each(|((_, sum), v)| *sum += v.ln());
        }
        metrics.push(name.clone());
    }
    let count = metrics.len() as f64;
    cells.iter_mut().flatten().for_each(|(_, sum)| *sum /= count);
    (!metrics.is_empty()).then_some(Composite { metrics, better: own.better, cells })
}
