//! Client location by server location: the table of the articles on placement, with intervals.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::Results;
use tare_results::schema::{Levels, PlannedCondition};
use tare_stats::Interval;

const CLIENT: &str = "client";
const SERVER: &str = "server";

/// A metric over client locations (rows) and server locations (columns).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacementGrid {
    /// The other levels, which all of its conditions share.
    pub levels: Levels,
    pub metric: String,
    /// Locations of the client threads, in the order of the study.
    pub clients: Vec<Place>,
    /// Locations of the server threads, in the order of the study.
    pub servers: Vec<Place>,
    pub cells: Vec<Vec<Option<GridCell>>>,
}

/// A location of the study, with its CPUs on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    pub location: String,
    /// CPUs of the OS, as a list; none if the plan lacks them or conditions differ in them.
    pub cpus: Option<CpuSet>,
}

/// The result of one client location combined with one server location.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridCell {
    pub condition: String,
    pub mean: f64,
    #[serde(flatten, serialize_with = "super::ends::ci")]
    pub ci: Option<Interval>,
    /// The trial means in the order in which they ran, as in the articles.
    pub trials: Vec<f64>,
}

/// The mean of the metric under a condition, with its interval.
type Means<'a> = &'a dyn Fn(&str) -> Option<(f64, Option<Interval>)>;

/// Every grid of at least two client by two server locations.
pub(super) fn find(
    metric: &str,
    means: Means<'_>,
    results: &Results,
    conditions: &[ConditionTrials<'_>],
) -> Vec<PlacementGrid> {
    let mut groups: BTreeMap<Levels, Vec<&ConditionTrials<'_>>> = BTreeMap::new();
    for condition in conditions {
        if condition.levels.contains_key(CLIENT) && condition.levels.contains_key(SERVER) {
            groups.entry(others(condition.levels)).or_default().push(condition);
        }
    }
    let planned = results.plan.as_ref().map_or(&[][..], |plan| &plan.conditions);
    groups.values().filter_map(|group| of(metric, group, planned, means)).collect()
}

fn others(levels: &Levels) -> Levels {
    let mut others = levels.clone();
    others.retain(|factor, _| factor != CLIENT && factor != SERVER);
    others
}

fn of(
    metric: &str,
    group: &[&ConditionTrials<'_>],
    planned: &[PlannedCondition],
    means: Means<'_>,
) -> Option<PlacementGrid> {
    let (clients, servers) = (places(group, CLIENT, planned), places(group, SERVER, planned));
    if clients.len() < 2 || servers.len() < 2 {
        return None;
    }
    let cell = |client: &Place, server: &Place| {
        let at = |condition: &&&ConditionTrials<'_>| {
            condition.levels[CLIENT] == client.location && condition.levels[SERVER] == server.location
        };
        let condition = group.iter().find(at)?;
        let (mean, ci) = means(condition.name)?;
        let trials = condition.means(metric);
        Some(GridCell { condition: condition.name.to_owned(), mean, ci, trials })
    };
    let cells: Vec<Vec<Option<GridCell>>> =
        clients.iter().map(|client| servers.iter().map(|server| cell(client, server)).collect()).collect();
    // Pairs of locations that a study lists one by one fill less than half of a table: they are no grid.
    let filled = cells.iter().flatten().flatten().count();
    (2 * filled > clients.len() * servers.len()).then(|| PlacementGrid {
        levels: others(group[0].levels),
        metric: metric.to_owned(),
        clients,
        servers,
        cells,
    })
}

/// The locations of one side in the order of the conditions.
fn places(group: &[&ConditionTrials<'_>], side: &str, planned: &[PlannedCondition]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for condition in group {
        let location = &condition.levels[side];
        let cpus = planned.iter().find(|known| known.name == condition.name).and_then(|known| cpus(known, side));
        match places.iter_mut().find(|known| known.location == *location) {
            Some(known) if known.cpus != cpus => known.cpus = None,
            Some(_) => {}
            None => places.push(Place { location: location.clone(), cpus }),
        }
    }
    places
}

fn cpus(planned: &PlannedCondition, side: &str) -> Option<CpuSet> {
    let placement = planned.placement.as_ref()?;
    let lists = if side == CLIENT { &placement.client } else { &placement.server };
    let set: CpuSet = lists.iter().flatten().filter_map(|cpu| u32::try_from(*cpu).ok()).collect();
    (!set.is_empty()).then_some(set)
}

/// A location with its CPUs on this machine, for a table's head.
pub fn place_words(place: &Place) -> String {
    match &place.cpus {
        Some(cpus) => format!("{} (CPU {cpus})", place.location),
        None => place.location.clone(),
    }
}
