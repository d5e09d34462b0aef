//! The cost of distance: maps of the places of a study, with the machine's latencies between them next to the measured
//! metric.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, scroll, table};
use crate::charts::heat::{self, Figures, Heat};
use crate::figures::Scale;
use crate::words;
use maud::{Markup, html};
use std::collections::BTreeMap;
use tare_findings::factors::words_of;
use tare_findings::placement::{DistanceCost, GridCell, Place, PlacementGrid, Point};
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let found = &page.summary.distance;
    (!found.is_empty()).then(|| {
        html! { @for cost in found {
            p { (words::distance(cost)) }
            (maps(cost, &page.summary.placement_grids))
            (points(cost))
        } }
    })
}

type Points<'a> = BTreeMap<&'a str, &'a Point>;

/// Maps of distances and, for each place of the memory, of the metric by client and server place; empty if places do
/// not form a grid.
fn maps(cost: &DistanceCost, grids: &[PlacementGrid]) -> Markup {
    let points: Points<'_> = cost.points.iter().map(|point| (point.condition.as_str(), point)).collect();
    let is_of = |grid: &&PlacementGrid| {
        grid.cells.iter().flatten().flatten().all(|cell| points.contains_key(cell.condition.as_str()))
    };
    let own: Vec<&PlacementGrid> = grids.iter().filter(is_of).collect();
    let Some(first) = own.first() else { return Markup::default() };
    let higher = metric::describe(&cost.metric).better == Better::Higher;
    let means = cost.points.iter().map(|point| point.mean);
    let best = if higher { means.fold(0.0, f64::max) } else { means.fold(f64::INFINITY, f64::min) };
    let levels = |grid: &PlacementGrid| -> Levels {
        let own = grid.levels.iter().filter(|(factor, _)| !cost.levels.contains_key(*factor));
        own.map(|(factor, level)| (factor.clone(), level.clone())).collect()
    };
    let measured: Vec<Heat> = own
        .iter()
        .map(|grid| {
            let (of, at) = (&grid.metric, words_of(&levels(grid)));
            let title = if at.is_empty() { of.clone() } else { format!("{of}, {at}") };
            map(title, grid, Figures::Percent, |condition| Some(points.get(condition)?.mean / best))
        })
        .collect();
    let line = map("a cache line there and back, ns".to_owned(), first, Figures::Digits(0), |condition| {
        points.get(condition)?.line_ns
    });
    let ends = measured
        .iter()
        .map(heat::ends)
        .fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), (l, h)| (low.min(l), high.max(h)));
    let has = |heat: &Heat| heat.values.iter().flatten().any(Option::is_some);
    let distances = [Some(line), memory(&own, &points, levels)].into_iter().flatten().filter(has);
    let drawn: Vec<(String, Markup)> = distances
        .map(|heat| (heat.title.clone(), heat::draw(&heat)))
        .chain(measured.iter().map(|heat| (heat.title.clone(), heat::draw_between(heat, ends))))
        .collect();
    html! {
        p.note {
            "Clients by row, server by column. " (cost.metric) " as a share of the best place\u{2019}s, in one scale; the stronger "
            "the shade, the larger."
        }
        div.machines { @for (title, drawing) in drawn { figure { figcaption { (title) } (scroll(&title, &drawing)) } } }
    }
}

/// Distances from the server (column) to its memory (row), one row per grid; `None` if no grid records where the memory
/// is.
fn memory(grids: &[&PlacementGrid], points: &Points<'_>, levels: impl Fn(&PlacementGrid) -> Levels) -> Option<Heat> {
    // With one factor the level alone is enough.
    let name = |levels: Levels| match levels.iter().next() {
        Some((_, level)) if levels.len() == 1 => level.to_string(),
        _ => words_of(&levels),
    };
    let rows: Vec<String> = grids.iter().map(|grid| name(levels(grid))).collect();
    let of = |grid: &&PlacementGrid| {
        let column = |server: usize| {
            let cells = grid.cells.iter().filter_map(|row| row.get(server)?.as_ref());
            cells.into_iter().find_map(|cell| points.get(cell.condition.as_str())?.memory_ns)
        };
        (0..grid.servers.len()).map(column).collect()
    };
    rows.iter().all(|row| !row.is_empty()).then(|| Heat {
        title: "a load from the server to its memory, ns".to_owned(),
        rows: rows.clone(),
        columns: names(&grids[0].servers),
        values: grids.iter().map(of).collect(),
        figures: Figures::Digits(0),
        ..Heat::default()
    })
}

fn map(title: String, grid: &PlacementGrid, figures: Figures, value: impl Fn(&str) -> Option<f64>) -> Heat {
    let of = |row: &Vec<Option<GridCell>>| row.iter().map(|cell| value(&cell.as_ref()?.condition)).collect();
    Heat {
        title,
        rows: names(&grid.clients),
        columns: names(&grid.servers),
        values: grid.cells.iter().map(of).collect(),
        figures,
        ..Heat::default()
    }
}

fn names(places: &[Place]) -> Vec<String> {
    places.iter().map(|place| place.location.clone()).collect()
}

fn points(cost: &DistanceCost) -> Markup {
    let largest = cost.points.iter().map(|point| point.mean.abs()).fold(0.0, f64::max);
    let scale = Scale::new(metric::describe(&cost.metric).unit, largest, 4);
    let ns = |value: Option<f64>| value.map_or("–".to_owned(), |ns| format!("{ns:.0} ns"));
    // The nearest first.
    let mut points: Vec<&Point> = cost.points.iter().collect();
    let near = |point: &Point| point.line_ns.unwrap_or_default() + point.memory_ns.unwrap_or_default();
    points.sort_by(|a, b| near(a).total_cmp(&near(b)));
    let heads = [L("condition"), R(&cost.metric), R("line, client and server"), R("load, server to memory")];
    let row = |point: &Point| row![point.condition, scale.figure(point.mean), ns(point.line_ns), ns(point.memory_ns)];
    table("Conditions with their distances", &heads, points.into_iter().map(row))
}
