//! The cost of distance: the page of `tare topo --measure`, and maps of the places of a study, with the machine's
//! latencies between them next to the measured results.

use super::document::Head::{L, R};
use super::document::{document, row, scroll, table};
use super::given::Page;
use crate::charts::heat::{self, Figures, Heat};
use crate::figures::Scale;
use crate::words;
use maud::{Markup, html};
use std::collections::BTreeMap;
use tare_findings::factors::words_of;
use tare_findings::placement::{DistanceCost, GridCell, Place, PlacementGrid, Point};
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_text::count;
use tare_topology::measure::{Costs, Measured};

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let found = &page.summary.distance;
    (!found.is_empty()).then(|| {
        html! { @for cost in found {
            p { (words::distance(cost)) }
            (maps_of_study(cost, &page.summary.placement_grids))
            (points(cost))
        } }
    })
}

type Points<'a> = BTreeMap<&'a str, &'a Point>;

/// Maps of distances and, for each place of the memory, of the metric by client and server place; empty if places do
/// not form a grid.
fn maps_of_study(cost: &DistanceCost, grids: &[PlacementGrid]) -> Markup {
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

pub fn render_measured(measured: &Measured, costs: &Costs) -> String {
    let body = html! {
        header {
            h1 { "tare · what distances cost on this machine" }
            @for (i, sentence) in costs.sentences.iter().enumerate() {
                @if i == 0 { p.reading { (sentence) } } @else { p.further { (sentence) } }
            }
        }
        main {
            @for map in maps_of_machine(measured) {
                section {
                    h2 { (map.title) }
                    p.note { (map.note) }
                    (scroll(&map.title, &heat::draw(&map)))
                }
            }
            (notes(measured))
        }
        footer { p { "Measured and drawn by tare " (env!("CARGO_PKG_VERSION")) " in " (format!("{:.0}", measured.elapsed_s)) " s." } }
    };
    document("what distances cost", &body)
}

fn maps_of_machine(measured: &Measured) -> [Heat; 3] {
    let names = |what: &str, numbers: &[u32]| numbers.iter().map(|n| format!("{what}{n}")).collect::<Vec<String>>();
    let scaled = |table: &[Vec<Option<f64>>], by: f64| -> Vec<Vec<Option<f64>>> {
        table.iter().map(|row| row.iter().map(|value| value.map(|v| v / by)).collect()).collect()
    };
    let (from, to) = (names("node ", &measured.from_nodes), names("node ", &measured.to_nodes));
    let cpus = names("", &measured.cpus);
    [
        Heat {
            title: "A cache line there and back, ns".into(),
            note: "Between two PUs, by OS number. The best of many short batches.".into(),
            rows: cpus.clone(),
            columns: cpus,
            values: scaled(&measured.line_ns, 1.0),
            figures: Figures::Digits(0),
            ..Heat::default()
        },
        Heat {
            title: "Latency of memory, ns".into(),
            note: format!(
                "One load that depends on the one before, from a row's CPU to a column's memory ({} MiB, in random order).",
                measured.working_set_bytes >> 20
            ),
            rows: from.clone(),
            columns: to.clone(),
            values: scaled(&measured.latency_ns, 1.0),
            figures: Figures::Digits(0),
            ..Heat::default()
        },
        Heat {
            title: "Bandwidth of memory, GB/s".into(),
            note: format!("Read by one thread per core of the row's node ({}).", readers(measured)),
            rows: from,
            columns: to,
            values: scaled(&measured.bandwidth_bytes_per_s, 1e9),
            figures: Figures::Digits(1),
            ..Heat::default()
        },
    ]
}

fn readers(measured: &Measured) -> String {
    let (least, most) = (measured.readers.iter().min(), measured.readers.iter().max());
    match (least, most) {
        (Some(least), Some(most)) if least != most => format!("{least} to {most} threads"),
        (_, most) => count(most.copied().unwrap_or(0), "thread"),
    }
}

fn notes(measured: &Measured) -> Markup {
    html! {
        @if !measured.notes.is_empty() {
            section {
                h2 { "Notes on these figures" }
                ul { @for note in &measured.notes { li { (note) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_topology::Machine;

    #[test]
    fn every_figure_has_a_cell_and_what_was_not_measured_has_none() {
        let machine = Machine::synthetic("node:4 core:4 pu:2").unwrap();
        let cpus: Vec<u32> = (0..32).collect();
        let line = |a: u32, b: u32| match (a.abs_diff(b), a / 8 == b / 8) {
            (0, _) => None,
            (1, true) if a / 2 == b / 2 => Some(21.0),
            (_, true) => Some(104.0),
            _ => Some(310.0 + f64::from(a / 8 + b / 8)),
        };
        let nodes: Vec<u32> = (0..4).collect();
        let table = |own: f64, other: f64| -> Vec<Vec<Option<f64>>> {
            nodes.iter().map(|a| nodes.iter().map(|b| Some(if a == b { own } else { other })).collect()).collect()
        };
        let mut latency_ns = table(91.0, 152.0);
        latency_ns[3][3] = None;
        let measured = Measured {
            line_ns: cpus.iter().map(|a| cpus.iter().map(|b| line(*a, *b)).collect()).collect(),
            cpus,
            from_nodes: nodes.clone(),
            to_nodes: nodes.clone(),
            latency_ns,
            bandwidth_bytes_per_s: table(101.5e9, 38.2e9),
            readers: vec![4; 4],
            working_set_bytes: 256 << 20,
            notes: vec!["stopped <early>".to_owned()],
            elapsed_s: 12.0,
        };
        let page = render_measured(&measured, &Costs::of(&machine, &measured));
        assert_eq!(page.matches("<rect").count(), 32 * 31 + 15 + 16);
        assert!(page.contains("a cache line to another node takes 3.0x as long as within a node"), "{page}");
        assert!(page.contains("101.5") && page.contains("stopped &lt;early&gt;"));
    }
}
