//! Builds side by side: before against after at each point, and what changed inside.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{scroll, table};
use crate::words::between;
use maud::{Markup, html};
use tare_findings::compare::Verdict;
use tare_findings::figures::{percent, times};
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
        (table("Builds side by side", &[L("at"), L("build"), R("ratio"), R("95% interval"), L("verdict")], &html! {
            tbody { @for found in builds { tr {
                th scope="row" { (words_of(&found.levels)) } td.l { (found.b) } td { (times(found.ratio)) }
                td { (between(found.ci, "–", times)) }
                td.l { (match found.verdict {
                    Verdict::Faster => "faster",
                    Verdict::Slower => "slower",
                    Verdict::Equivalent | Verdict::Inconclusive => "no difference shown",
                }) }
            } } }
        }))
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
            (scroll(caption, &html! {
                table {
                    caption { (caption) }
                    thead { tr {
                        th.l scope="col" { "name" } th scope="col" { (found.a) } th scope="col" { (found.b) }
                    } }
                    tbody { @for row in changed { tr {
                        th scope="row" { (row.name) } td { (percent(row.a)) } td { (percent(row.b)) }
                    } } }
                }
            }))
        }
    }
}
