//! What tables and charts that may be wider than the screen are wrapped in.

use maud::{Markup, html};

pub(super) enum Head<'a> {
    /// Of words, which stand at the left.
    L(&'a str),
    /// Of figures, which stand at the right.
    R(&'a str),
}

/// Scrolls sideways by itself, by keyboard too; the label is read to who does not see it.
pub(super) fn scroll(label: &str, inside: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (inside) } }
}

pub(super) fn table(label: &str, heads: &[Head<'_>], rows: &Markup) -> Markup {
    scroll(label, &html! { table { (head(heads)) (rows) } })
}

/// Rows under the heads of their columns, with what stands above it all.
pub(super) fn captioned(label: &str, caption: &str, heads: &[Head<'_>], rows: &Markup) -> Markup {
    scroll(label, &html! { table { caption { (caption) } (head(heads)) (rows) } })
}

fn head(heads: &[Head<'_>]) -> Markup {
    html! {
        thead { tr { @for head in heads { @match head {
            Head::L(text) => th.l scope="col" { (text) },
            Head::R(text) => th scope="col" { (text) },
        } } } }
    }
}
