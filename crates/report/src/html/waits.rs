//! Where the server's threads spend wall-clock time, a table for each condition.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{captioned, row};
use crate::words::{between, waits};
use maud::{Markup, html};
use tare_findings::figures::percent;
use tare_findings::summary::CaptureSummary;
use tare_findings::waits::{ClassTime, WaitsSummary};

/// Conditions with tables of their own, and rows of a table; the rest are in `tare show --json`.
const CONDITIONS: usize = 24;
const ROWS: usize = 14;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with: Vec<(&CaptureSummary, &WaitsSummary)> =
        captures.iter().filter_map(|capture| Some((capture, capture.waits.as_ref()?))).collect();
    (!with.is_empty()).then(|| {
        html! {
            p.note {
                "What the server's threads were seen to do in the capture sample, looked at many times a second. Running and "
                "waiting for a CPU are the kernel's own counts; the rest of the time is divided as the samples of sleeping threads. "
                "A futex on which several threads sleep is a lock or a condition for many; one on which a single thread was seen "
                "is a wait for a row, a commit or another thread's answer. Times for each transaction are those of all threads "
                "together."
            }
            @for (index, (capture, found)) in with.iter().take(CONDITIONS).enumerate() {
                details open[index == 0] {
                    summary { (capture.condition) }
                    p.note { (waits::cost(capture, found)) }
                    (table(&capture.condition, "threads that serve connections", &found.connections))
                    @if !found.background.parts.is_empty() {
                        (table(&capture.condition, "background threads", &found.background))
                    }
                }
            }
            @if with.len() > CONDITIONS { p.note { (with.len() - CONDITIONS) " more conditions: tare show --json" } }
        }
    })
}

fn table(condition: &str, class: &str, time: &ClassTime) -> Markup {
    html! {
        (captioned(&format!("Time of {class} of {condition}"), &format!("{:.0} {class}", time.threads),
            &[L("what"), R("threads"), R("share"), R("95% interval"), R("each transaction")],
            time.parts.iter().take(ROWS).map(|part| row![
                waits::what(part), if part.threads > 0 { part.threads.to_string() } else { "–".to_owned() },
                percent(part.fraction), between(part.ci, "–", percent),
                waits::per_transaction(part).unwrap_or_else(|| "–".to_owned())
            ])))
    }
}
