//! Builds side by side: before against after at each point, and what changed inside.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{captioned, drawn, row};
use crate::tables;
use maud::{Markup, html};
use tare_findings::figures::percent;
use tare_findings::level_words::words_of;
use tare_findings::summary::{BuildComparison, Changed};

/// Every other build against the first; none where no build is a factor.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let builds = &page.summary.builds;
    let first = builds.first()?;
    let inside: Vec<&BuildComparison> =
        builds.iter().filter(|b| !b.symbols.is_empty() || !b.locks.is_empty()).collect();
    Some(html! {
        p.note {
            (first.metric) " of each build divided by that of " (first.a) ", other levels the same. Intervals are for each ratio alone, "
            "verdicts at 95% over all of them together."
        }
        (drawn("Builds side by side", None, &tables::builds(builds)))
        @for found in inside { (changes(found)) }
    })
}

fn changes(found: &BuildComparison) -> Markup {
    let at = if found.levels.is_empty() { String::new() } else { format!(" at {}", words_of(&found.levels)) };
    html! {
        details {
            summary { "What changed inside, " (found.a) " to " (found.b) (at) }
            (changed("Functions, share of the samples", &found.symbols, found))
            (changed("Locks, share of the connections' time waiting", &found.locks, found))
        }
    }
}

fn changed(caption: &str, changed: &[Changed], found: &BuildComparison) -> Markup {
    html! {
        @if !changed.is_empty() {
            (captioned(caption, caption, &[L("name"), R(&found.a), R(&found.b)],
                changed.iter().map(|of| row![of.name, percent(of.a), percent(of.b)])))
        }
    }
}
