//! Placements of clients and server: the table of client by server location, and the cost of distance: the headline
//! metric of placements on different nodes over the latencies between these nodes, as measured by `tare topo
//! --measure`.

use super::collect::ConditionTrials;
use super::confidence::{self, CONFIDENCE};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::Results;
use tare_results::metric::{self, Better};
use tare_results::schema::{Levels, PlannedCondition, PlannedPlacement};
use tare_stats::Interval;
use tare_stats::descriptive::median;
use tare_stats::line::{between, fit};
use tare_stats::multiple::holm;
use tare_topology::measure::Measured;
use tare_topology::{Machine, MemoryPolicy};

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
    #[serde(flatten, serialize_with = "super::confidence::ci")]
    pub ci: Option<Interval>,
    /// The trial means in the order in which they ran, as in the articles.
    pub trials: Vec<f64>,
}

/// The mean of the metric under a condition, with its interval.
type Means<'a> = &'a dyn Fn(&str) -> Option<(f64, Option<Interval>)>;

/// Every grid of at least two client by two server locations.
pub(super) fn grid(
    metric: &str,
    means: Means<'_>,
    results: &Results,
    conditions: &[ConditionTrials<'_>],
) -> Vec<PlacementGrid> {
    let mut groups: BTreeMap<Levels, Vec<&ConditionTrials<'_>>> = BTreeMap::new();
    for condition in conditions {
        if condition.levels.contains_key(CLIENT) && condition.levels.contains_key(SERVER) {
            groups.entry(other_factors(condition.levels)).or_default().push(condition);
        }
    }
    let planned = results.plan.as_ref().map_or(&[][..], |plan| &plan.conditions);
    groups.values().filter_map(|group| grid_of(metric, group, planned, means)).collect()
}

fn other_factors(levels: &Levels) -> Levels {
    let mut others = levels.clone();
    others.retain(|factor, _| factor != CLIENT && factor != SERVER);
    others
}

fn grid_of(
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
        levels: other_factors(group[0].levels),
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
    let set: CpuSet = lists.iter().flat_map(CpuSet::iter).collect();
    (!set.is_empty()).then_some(set)
}

/// Costs are given per this many nanoseconds.
pub const PER_NS: f64 = 100.0;
const FEWEST: usize = 4;

/// A line fitted through the conditions of a study over the latencies of their placements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DistanceCost {
    pub metric: String,
    /// The other levels, which all of its conditions share.
    pub levels: Levels,
    /// Cost per 100 ns of a cache line's round trip between client and server; null if it does not vary.
    pub line: Option<Cost>,
    /// Cost per 100 ns of a load from the server's CPUs to its memory; null if it does not vary.
    pub memory: Option<Cost>,
    /// Share of the variance of the logarithms of the conditions' means that the line explains, 0 to 1.
    pub r_squared: f64,
    pub conditions: usize,
    pub points: Vec<Point>,
}

/// The cost of 100 ns more: -0.06 is 6% less throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Relative change of the metric.
    pub change: f64,
    /// 95% interval; null if fewer than three pairs of placements differ in this latency.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Whether distance is shown to make this metric worse, with all costs of the study tested together (Holm).
    pub shown: bool,
    #[serde(skip)]
    p_value: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    pub condition: String,
    pub mean: f64,
    /// Round trip of a cache line between client and server, ns; null if both float or nothing was measured.
    pub line_ns: Option<f64>,
    /// A load from the server's CPUs to its memory, ns.
    pub memory_ns: Option<f64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pair {
    Threads { client: Vec<Vec<u32>>, server: Vec<Vec<u32>> },
    Memory { server: Vec<Vec<u32>>, memory: Option<String> },
}

/// One for each combination of the factors other than placement; none without measured distances.
pub(super) fn distance_costs(
    conditions: &[ConditionTrials<'_>],
    results: &Results,
    headline: Option<&str>,
) -> Vec<DistanceCost> {
    let machine = results.environment.as_ref().map(|environment| &environment.machine);
    let (Some(measured), Some(machine), Some(metric), Some(plan)) =
        (&results.distances, machine, headline, &results.plan)
    else {
        return Vec::new();
    };
    let mut groups: BTreeMap<Levels, Vec<(Point, [Pair; 2])>> = BTreeMap::new();
    for condition in conditions {
        let planned = plan.conditions.iter().find(|planned| planned.name == condition.name);
        let Some((planned, mean)) = planned.zip(tare_stats::descriptive::mean(&condition.means(metric))) else {
            continue;
        };
        let mut others = condition.levels.clone();
        others.retain(|factor, _| !["client", "server", "memory", "placement"].contains(&factor.as_str()));
        let (line_ns, memory_ns) = (line_ns(measured, planned), memory_ns(measured, machine, planned));
        let point = Point { condition: condition.name.to_owned(), mean, line_ns, memory_ns };
        let PlannedPlacement { client, server, memory, .. } = planned.placement.clone().unwrap_or_default();
        let numbers = |sets: Vec<CpuSet>| sets.iter().map(|set| set.iter().collect()).collect::<Vec<Vec<u32>>>();
        let (client, server, memory) = (numbers(client), numbers(server), memory.map(|policy| policy.to_string()));
        let pairs = [Pair::Threads { client, server: server.clone() }, Pair::Memory { server, memory }];
        groups.entry(others).or_default().push((point, pairs));
    }
    let mut found: Vec<DistanceCost> =
        groups.into_iter().filter_map(|(levels, points)| cost_of(metric, levels, points)).collect();
    show(metric, found.iter_mut().flat_map(|cost| [&mut cost.line, &mut cost.memory]).flatten());
    found
}

fn show<'c>(metric: &str, costs: impl Iterator<Item = &'c mut Cost>) {
    let (p_values, tested): (Vec<f64>, Vec<&mut Cost>) = costs.filter_map(|cost| Some((cost.p_value?, cost))).unzip();
    for (cost, p_value) in tested.into_iter().zip(holm(&p_values)) {
        let is_worse = match metric::describe(metric).better {
            Better::Higher => cost.change < 0.0,
            Better::Lower => cost.change > 0.0,
        };
        cost.shown = is_worse && p_value <= 1.0 - CONFIDENCE;
    }
}

fn cost_of(metric: &str, levels: Levels, placed: Vec<(Point, [Pair; 2])>) -> Option<DistanceCost> {
    let (points, pairs): (Vec<Point>, Vec<[Pair; 2]>) = placed.into_iter().unzip();
    let has = |of: fn(&Point) -> Option<f64>| points.iter().all(|point| of(point).is_some());
    let (by_line, by_memory) = (has(|point| point.line_ns), has(|point| point.memory_ns));
    if points.len() < FEWEST || !points.iter().all(|point| point.mean > 0.0) {
        return None;
    }
    let row = |point: &Point| {
        let line = by_line.then_some(point.line_ns).flatten();
        vec![line.unwrap_or_default() / PER_NS, point.memory_ns.filter(|_| by_memory).unwrap_or_default() / PER_NS]
    };
    let (x, y): (Vec<Vec<f64>>, Vec<f64>) = points.iter().map(|point| (row(point), point.mean.ln())).unzip();
    let line = fit(&y, &x, CONFIDENCE).ok()??;
    // Two conditions with the same pair of placements cannot separate distance from other properties of that pair.
    let cost = |of: usize| {
        let all = line.slopes.get(of).copied().flatten()?;
        let pairs: Vec<&Pair> = pairs.iter().map(|pairs| &pairs[of]).collect();
        let slope = between(&y, &x, &pairs, of, CONFIDENCE).ok()?;
        let ci = slope.map(|slope| Interval { low: slope.ci.low.exp_m1(), high: slope.ci.high.exp_m1() });
        let change = slope.map_or(all.value, |slope| slope.value).exp_m1();
        Some(Cost { change, ci, shown: false, p_value: slope.map(|slope| slope.p_value) })
    };
    Some(DistanceCost {
        metric: metric.to_owned(),
        levels,
        line: cost(0),
        memory: cost(1),
        r_squared: line.r_squared,
        conditions: points.len(),
        points,
    })
}

/// The median over all measured pairs of a client CPU and a different server CPU.
fn line_ns(measured: &Measured, planned: &PlannedCondition) -> Option<f64> {
    let placement = planned.placement.as_ref()?;
    let of = |sets: &[CpuSet]| -> Vec<usize> {
        let is_in = |cpu: &u32| sets.iter().any(|own| own.contains(*cpu));
        measured.cpus.iter().enumerate().filter(|(_, cpu)| is_in(cpu)).map(|(place, _)| place).collect()
    };
    let (clients, servers) = (of(&placement.client), of(&placement.server));
    let pairs = clients.iter().flat_map(|client| servers.iter().map(move |server| (*client, *server)));
    let all: Vec<f64> = pairs.filter_map(|(client, server)| *measured.line_ns.get(client)?.get(server)?).collect();
    median(&all)
}

/// From the node of the server's CPUs to the node of its memory, if each is a single node.
fn memory_ns(measured: &Measured, machine: &Machine, planned: &PlannedCondition) -> Option<f64> {
    let placement = planned.placement.as_ref()?;
    let node_of = |cpu| machine.nodes.iter().find(|node| node.cpus.contains(cpu)).map(|node| node.os_index);
    let mut nodes: Vec<u32> = placement.server.iter().flat_map(CpuSet::iter).filter_map(node_of).collect();
    nodes.dedup();
    let [from] = nodes.as_slice() else { return None };
    let policy = placement.memory.as_ref()?;
    let named = policy.nodes();
    let to = match (policy, named.len()) {
        (MemoryPolicy::Local, _) => *from,
        (_, 1) => named.first()?,
        _ => return None,
    };
    let row = measured.from_nodes.iter().position(|node| node == from)?;
    let column = measured.to_nodes.iter().position(|node| *node == to)?;
    *measured.latency_ns.get(row)?.get(column)?
}
