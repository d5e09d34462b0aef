//! A history as a page and as a picture.

use super::document::{document, either};
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
            h1 { (words::history_sentence(found)) }
            @if let Some(gate) = gate { p { strong { (gate) } } }
            figure { (either("Runs in the order of time", &wide, &slim)) }
            @for line in &found.lines { (of_line(line)) }
            @for said in words::history(found) { p.note { (said) } }
        },
    )
}

fn wide() -> Frame {
    Frame::wide(std::iter::empty())
}

fn of_line(line: &MetricHistory) -> Markup {
    let (heads, rows) = terminal::segments(line);
    let name = format!("{}, {}", line.condition, line.name);
    html! {
        h2 { (name) }
        div.scroll tabindex="0" role="region" aria-label={ "Table of " (name) } { table {
            thead { tr { @for head in heads { th scope="col" { (head) } } } }
            tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
        } }
        @for said in words::line(line) { p { (said) } }
    }
}
