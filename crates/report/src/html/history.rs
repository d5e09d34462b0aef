//! A history as a page and as a picture.

use super::document::document;
use crate::charts::{alone, history};
use crate::terminal::{self, Style};
use maud::html;
use tare_findings::history::History;

/// The picture of all lines, which stands alone.
pub fn history_picture(found: &History) -> String {
    alone::standalone(&history::draw(&found.lines).into_string())
}

/// The page: the picture, and what the terminal shows.
pub fn history_page(found: &History, margin: Option<f64>) -> String {
    let said = terminal::history(found, margin, Style::default());
    document(
        "history",
        &html! {
            h1 { "Changes over " (found.lines.iter().map(|line| line.points.len()).max().unwrap_or_default()) " runs" }
            figure { (history::draw(&found.lines)) }
            pre tabindex="0" { (said) }
        },
    )
}
