//! All primary metrics of a study in one value per trial: the mean of their logarithms. The queries of one trial
//! share its random variation; combining them before a test counts each trial once.

use super::collect::{self, ConditionTrials};
use tare_results::metric::{self, Better};
use tare_results::schema::TrialRecord;

#[derive(Debug, Clone)]
pub(super) struct Composite {
    pub metrics: Vec<String>,
    pub better: Better,
    /// (block, mean ln) of the trials of each condition that have all of the metrics, in the order of the conditions.
    pub cells: Vec<Vec<(usize, f64)>>,
    /// The place of each of these trials among those of its condition.
    places: Vec<Vec<usize>>,
}

impl Composite {
    /// The trials of a condition, given by its place, with their values.
    pub fn trials<'c, 't>(
        &'c self,
        place: usize,
        condition: &'c ConditionTrials<'t>,
    ) -> impl Iterator<Item = (&'t TrialRecord, (usize, f64))> + use<'c, 't> {
        let own = self.places.get(place).into_iter().flatten().zip(self.cells.get(place).into_iter().flatten());
        own.filter_map(|(trial, cell)| Some((*condition.ok.get(*trial)?, *cell)))
    }
}

/// Share of the trials of a condition that may lack a metric, as a failed trial lacks all. A metric that more of them
/// lack is left out.
const LACKED: f64 = 1.0 / 3.0;

/// The primary metrics that improve in the same direction as `headline`, or `headline` alone if it is not primary.
/// Metrics that are not positive are excluded. A trial that lacks one of the others is left out, unless that leaves too
/// few trials of a condition: then only the metrics that all trials have are used. None if no metric remains.
pub(super) fn of(conditions: &[ConditionTrials<'_>], headline: &str) -> Option<Composite> {
    let own = metric::describe(headline);
    let takes_part = |name: &&String| {
        let described = metric::describe(name);
        **name == headline || (own.is_primary() && described.is_primary() && described.better == own.better)
    };
    let all = collect::all_metrics(conditions);
    let names: Vec<&String> = all.iter().filter(takes_part).filter(|name| is_positive(conditions, name)).collect();
    of_metrics(conditions, &names, own.better, LACKED).or_else(|| of_metrics(conditions, &names, own.better, 0.0))
}

/// Whether all values of a metric are positive.
pub(super) fn is_positive(conditions: &[ConditionTrials<'_>], name: &str) -> bool {
    conditions.iter().all(|condition| condition.means(name).iter().all(|v| *v > 0.0))
}

/// The mean of the metrics that at most a share of the trials of each condition lacks; none if more than that share of
/// the trials of a condition lacks one of them.
fn of_metrics(conditions: &[ConditionTrials<'_>], names: &[&String], better: Better, lacked: f64) -> Option<Composite> {
    let enough = |kept: usize, condition: &ConditionTrials<'_>| {
        kept > 0 && (condition.ok.len() - kept) as f64 <= lacked * condition.ok.len() as f64
    };
    let has_it = |name: &&&String| conditions.iter().all(|c| enough(c.with(name).len(), c));
    let metrics: Vec<String> = names.iter().filter(has_it).map(|name| (**name).clone()).collect();
    let mut found = Composite { metrics, better, cells: Vec::new(), places: Vec::new() };
    for condition in conditions {
        let ln = |trial: &TrialRecord| {
            let logs: Option<Vec<f64>> =
                found.metrics.iter().map(|name| Some(condition.mean_of(trial, name)?.ln())).collect();
            logs.map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
        };
        let own: Vec<(usize, (usize, f64))> = condition
            .ok
            .iter()
            .enumerate()
            .filter_map(|(place, trial)| Some((place, (condition.block(trial), ln(trial)?))))
            .collect();
        if !enough(own.len(), condition) {
            return None;
        }
        let (places, cell) = own.into_iter().unzip();
        found.places.push(places);
        found.cells.push(cell);
    }
    (!found.metrics.is_empty()).then_some(found)
}
