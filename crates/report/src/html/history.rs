//! A history as a page and as a picture.

use super::document::{document, either};
use super::scroll::drawn;
use crate::charts::frame::Frame;
use crate::charts::{alone, history};
use crate::{tables, words};
use maud::{Markup, html};
use tare_findings::history::{History, MetricHistory};

pub fn history_picture(found: &History) -> String {
    alone::standalone(&history::draw(&found.lines, &Frame::WIDE).into_string())
}

/// The page: the chart, and the content of the terminal output.
pub fn history_page(found: &History, margin: Option<f64>) -> String {
    let [wide, slim] = [Frame::WIDE, Frame::SLIM].map(|frame| history::draw(&found.lines, &frame));
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
                section { @for message in words::history(found) { p.note { (message) } } }
            }
            footer { p { "Drawn by tare " (env!("CARGO_PKG_VERSION")) "." } }
        },
    )
}

fn of_line(line: &MetricHistory) -> Markup {
    let name = format!("{}, {}", line.condition, line.name);
    html! {
        h2 { (name) }
        (drawn(&format!("Table of {name}"), None, &tables::segments(line)))
        @for message in words::line(line) { p { (message) } }
    }
}
