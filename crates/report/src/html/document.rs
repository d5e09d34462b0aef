//! The frame of every page: no external resources, one style sheet, and one script without which pages work too; and
//! the scrollable frame of tables and charts that may be wider than the screen.

use crate::charts::alone::{self, characters_of_xml};
pub(super) use crate::tables::Head;
use crate::tables::{Cell, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::borrow::Cow;

/// A row: its name, which is in the first column, and a cell for each other column.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$(maud::html! { ($cell) }),*] };
}
pub(super) use row;

pub(super) fn figure(name: &str, drawing: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (name) }
            (scroll(name, drawing))
        }
    }
}

/// A chart drawn in two sizes, of which the page shows the one that fits the screen.
pub(super) fn either(name: &str, wide: &Markup, slim: &Markup) -> Markup {
    html! {
        div.scroll.wide tabindex="0" role="region" aria-label=(name) { (wide) }
        div.small-screen { (slim) }
    }
}

const SCRIPT: &str = include_str!("script.js");
/// No external resource is loaded, whatever a results directory contains, and no script runs except the one with this
/// hash: text from outside could not run even if it were not escaped.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
     script-src 'sha256-OcoAIkmSuEe3FvBXUkppX9ElN0uWAeJhdLi0/QJgkVM='";

pub(super) fn document(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) " - tare" }
                style { (PreEscaped(alone::STYLE)) (PreEscaped(include_str!("style.css"))) }
            }
            body { (body) script { (PreEscaped(SCRIPT)) } }
        }
    }
    .into_string();
    match characters_of_xml(&page) {
        Cow::Owned(plain) => plain,
        Cow::Borrowed(_) => page,
    }
}

/// Scrolls sideways independently of the page, also by keyboard; screen readers read the label.
pub(super) fn scroll(label: &str, inside: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (inside) } }
}

pub(super) fn table(label: &str, heads: &[Head<'_>], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    scroll(label, &html! { table { (head(heads)) (body(heads, rows)) } })
}

pub(super) fn captioned(
    label: &str,
    caption: &str,
    heads: &[Head<'_>],
    rows: impl IntoIterator<Item = Vec<Markup>>,
) -> Markup {
    scroll(label, &html! { table { caption { (caption) } (head(heads)) (body(heads, rows)) } })
}

/// A table that other outputs also use, with an optional caption.
pub(super) fn drawn(label: &str, caption: Option<&str>, table: &Table<'_>) -> Markup {
    let rows = table.rows.iter().map(|row| row.iter().map(cell).collect());
    let body = body(&table.heads, rows);
    scroll(label, &html! { table { @if let Some(text) = caption { caption { (text) } } (head(&table.heads)) (body) } })
}

/// A cell; the lines below its first one are small.
pub(super) fn cell(cell: &Cell) -> Markup {
    let (first, below) = cell.0.as_deref().map_or(("–", None), |text| match text.split_once('\n') {
        Some((first, below)) => (first, Some(below)),
        None => (text, None),
    });
    html! { (first) @if let Some(below) = below { br; small { (below) } } }
}

pub(super) fn head(heads: &[Head<'_>]) -> Markup {
    html! {
        thead { tr { @for head in heads { @match head {
            Head::L(text) => th.l scope="col" { (text) },
            Head::R(text) => th scope="col" { (text) },
        } } } }
    }
}

fn body(heads: &[Head<'_>], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    html! {
        tbody { @for row in rows { tr { @for (place, (head, cell)) in heads.iter().zip(row).enumerate() {
            @match head {
                _ if place == 0 => th scope="row" { (cell) },
                Head::L(_) => td.l { (cell) },
                Head::R(_) => td { (cell) },
            }
        } } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_holds_what_steers_a_terminal() {
        let page = document("a\u{1b}[31m", &html! { p { "name\u{7}\tof\nany" } });
        assert!(page.contains("a\u{fffd}[31m - tare") && page.contains("name\u{fffd}\tof\nany"), "{page}");
    }
}
