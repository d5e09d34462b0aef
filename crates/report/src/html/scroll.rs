//! Tables of the page, and the scrollable frame of tables and charts that may be wider than the screen.

pub(super) use crate::tables::Head;
use crate::tables::{Cell, Table};
use maud::{Markup, html};

/// A row: its name, which is in the first column, and a cell for each other column.
macro_rules! row {
    ($($cell:expr),* $(,)?) => { vec![$(maud::html! { ($cell) }),*] };
}
pub(super) use row;

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
