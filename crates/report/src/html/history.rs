//! A history as a page and as a picture.

use super::document::{document, either};
use super::scroll::{Head, table};
use crate::charts::frame::Frame;
use crate::charts::{alone, history};
use crate::{terminal, words};
use maud::{Markup, html};
use tare_findings::history::{History, MetricHistory};

/// The picture of all lines, which stands alone.
pub fn history_picture(found: &History) -> String {
    alone::standalone(&history::draw(&found.lines, &wide()).into_string())
}

/// The page: the picture, and what the terminal shows.
pub fn history_page(found: &History, margin: Option<f64>) -> String {
    let [wide, slim] = [wide(), Frame::SLIM].map(|frame| history::draw(&found.lines, &frame));
    let gate = margin.and_then(|margin| words::history_gate(found, margin));
    document(
        "history",
        &html! {
            header {
                p.study { "tare · history" }
                h1 { (words::history_sentence(found)) }
                @if let Some(gate) = gate { p { strong { (gate) } } }
            }
            main {
                section { figure { (either("Runs in the order of time", &wide, &slim)) } }
                @for line in &found.lines { section { (of_line(line)) } }
                section { @for said in words::history(found) { p.note { (said) } } }
            }
            footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
        },
    )
}

fn wide() -> Frame {
    Frame::wide(std::iter::empty())
}

fn of_line(line: &MetricHistory) -> Markup {
    let (heads, rows) = terminal::segments(line);
    let heads: Vec<Head<'_>> = heads
        .into_iter()
        .enumerate()
        .map(|(place, head)| if place == 0 { Head::L(head) } else { Head::R(head) })
        .collect();
    let rows = rows.into_iter().map(|cells| cells.into_iter().map(|cell| html! { (cell) }).collect::<Vec<Markup>>());
    let name = format!("{}, {}", line.condition, line.name);
    html! {
        h2 { (name) }
        (table(&format!("Table of {name}"), &heads, rows))
        @for said in words::line(line) { p { (said) } }
    }
}
