//! What was run, on what, what came out, how sure, what is odd.

use super::given::Page;
use crate::analysis::first_screen;
use maud::{Markup, html};

pub(super) fn section(page: &Page<'_>) -> Markup {
    let screen = first_screen::first_screen(page.summary, page.results);
    html! {
        p.reading { (screen.out) }
        @for sentence in &screen.further { p.further { (sentence) } }
        @if !page.summary.odd.is_empty() {
            div.odd role="note" {
                strong { "What is odd" }
                ul { @for line in &page.summary.odd { li { (line) } } }
            }
        }
        dl.first {
            dt { "What was run" } dd { (screen.run) }
            dt { "On what" } dd { (screen.machine) }
            dt { "How sure" } dd { (screen.sure) }
            @if page.summary.odd.is_empty() {
                dt { "What is odd" } dd { "Nothing: no trial failed, was disturbed or lies far out, and no result has several modes." }
            }
        }
    }
}
