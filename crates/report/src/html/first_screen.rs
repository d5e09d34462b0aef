//! What was run, on what, what came out, how sure, what is odd.

use super::given::Page;
use crate::words;
use maud::{Markup, html};
use tare_findings::figures::count;

pub(super) fn section(page: &Page<'_>) -> Markup {
    let screen = words::first_screen(page.summary, page.results);
    html! {
        p.study { "tare · " (page.results.study) }
        h1 { (screen.out) }
    }
}

/// More of what came out, what was run, how sure the answer is, and what is odd, counted and folded: the chart stands
/// before it.
pub(super) fn notes(page: &Page<'_>) -> Option<Markup> {
    let screen = words::first_screen(page.summary, page.results);
    let odd = &screen.warnings;
    Some(html! {
        @for sentence in &screen.further { p.further { (sentence) } }
        @if !odd.is_empty() {
            details.odd open[odd.len() == 1] {
                summary { "What is odd: " (count(odd.len(), "note")) }
                ul { @for line in odd { li { (line) } } }
            }
        }
        dl.first {
            dt { "What was run" } dd { (screen.run) }
            dt { "On what" } dd { (screen.machine) }
            dt { "How sure" } dd { (screen.sure) }
            @if odd.is_empty() {
                dt { "What is odd" } dd { "Nothing: no trial failed or was disturbed, none is shown to lie far out, and no modes are shown." }
            }
        }
    })
}
