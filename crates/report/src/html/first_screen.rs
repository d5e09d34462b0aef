//! What was run, the machine, the answer, its certainty, and warnings.

use super::given::Page;
use crate::words;
use maud::{Markup, html};
use tare_text::count;

pub(super) fn section(page: &Page<'_>) -> Markup {
    let screen = words::first_screen(page.summary, page.results);
    html! {
        p.study { "tare · " (page.results.study) }
        h1 { (screen.out) }
    }
}

/// Further results, what was run, how certain the answer is, and the warnings, counted and folded. The chart comes
/// before this section.
pub(super) fn notes(page: &Page<'_>) -> Option<Markup> {
    let screen = words::first_screen(page.summary, page.results);
    let warnings = &screen.warnings;
    Some(html! {
        @for sentence in &screen.further { p.further { (sentence) } }
        @if !warnings.is_empty() {
            details.warnings open[warnings.len() == 1] {
                summary { (count(warnings.len(), "warning")) }
                ul { @for line in warnings { li { (line) } } }
            }
        }
        dl.first {
            dt { "What was run" } dd { (screen.run) }
            dt { "On what" } dd { (screen.machine) }
            dt { "How sure" } dd { (screen.sure) }
            @if warnings.is_empty() {
                dt { "Warnings" } dd { "None: no trial failed or was disturbed, and none is shown to be an outlier." }
            }
        }
    })
}
