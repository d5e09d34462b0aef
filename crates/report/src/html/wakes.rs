//! What keeps the threads that serve connections asleep, a table for each condition.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use crate::words::wakes;
use maud::{Markup, html};
use tare_findings::figures::percent;
use tare_findings::wakes::WakesSummary;

/// Conditions with tables of their own; the rest are in `tare show --json`.
const CONDITIONS: usize = 24;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with: Vec<(&str, &WakesSummary)> =
        captures.iter().filter_map(|capture| Some((capture.condition.as_str(), capture.wakes.as_ref()?))).collect();
    (!with.is_empty()).then(|| {
        html! {
            p.note {
                "A sleep of a thread that serves a connection is charged to what the thread that woke it did meanwhile; where that "
                "slept too, its part of the time to who woke it, and so on. A wake-up by a timer or a device while another thread "
                "runs there is charged to that thread."
            }
            @for (index, (condition, found)) in with.iter().take(CONDITIONS).enumerate() {
                details open[index == 0] {
                    summary { (condition) }
                    p.note { (wakes::about(found)) }
                    (table(&format!("Who kept connections asleep of {condition}"), &[L("who"), L("did"),
                        R("share")], found.charged.iter().map(|(who, doing, share)| row![
                        who, wakes::doing(*doing), percent(*share)
                    ])))
                }
            }
        }
    })
}
