//! The page of `tare topo --measure`: heat maps of the cost of distances.

use super::document::document;
use super::scroll::scroll;
use crate::charts::heat::{self, Figures, Heat};
use maud::{Markup, html};
use tare_text::count;
use tare_topology::measure::{Costs, Measured};

pub fn render(measured: &Measured, costs: &Costs) -> String {
    let body = html! {
        header {
            h1 { "tare · what distances cost on this machine" }
            @for (i, sentence) in costs.sentences.iter().enumerate() {
                @if i == 0 { p.reading { (sentence) } } @else { p.further { (sentence) } }
            }
        }
        main {
            @for map in maps(measured) {
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

fn maps(measured: &Measured) -> [Heat; 3] {
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
        let page = render(&measured, &Costs::of(&machine, &measured));
        assert_eq!(page.matches("<rect").count(), 32 * 31 + 15 + 16);
        assert!(page.contains("a cache line to another node takes 3.0x as long as within a node"), "{page}");
        assert!(page.contains("101.5") && page.contains("stopped &lt;early&gt;"));
    }
}
