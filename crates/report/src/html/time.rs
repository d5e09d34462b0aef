//! Where the time of a transaction goes.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{drawn, row, table};
use crate::figures::Scale;
use crate::tables;
use crate::words::{suspects, why as words};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::time::{self, ConditionTime, Part};
use tare_findings::why;

/// Maximum rows of the table; for a study of many conditions `tare show --json` has the rest.
const ROWS: usize = 400;

/// One row per condition and one column per part. The unexplained time comes before the parts, so that narrow screens
/// show it. `None` when nothing was recorded.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let times = &page.summary.time;
    let largest = times.iter().map(|time| time.us_per_transaction).fold(0.0, f64::max);
    let scale = Scale::new("us", largest, 3);
    let parts: BTreeSet<&Part> = times.iter().flat_map(|time| &time.parts).map(|part| &part.part).collect();
    let cell = |time: &ConditionTime, part: &Part| {
        time.parts.iter().find(|found| found.part == *part).map_or("–".to_owned(), |found| scale.number(found.us))
    };
    let names: Vec<String> = parts.iter().map(|part| words::part(part)).collect();
    let mut heads = vec![L("condition"), R("all"), R("not explained")];
    heads.extend(names.iter().map(|name| R(name)));
    heads.push(R("background CPU alongside"));
    let row = |time: &ConditionTime| {
        let not_explained = scale.number(time.not_explained.us);
        let mut row = row![time.name, scale.number(time.us_per_transaction), not_explained];
        row.extend(parts.iter().map(|part| html! { (cell(time, part)) }));
        row.extend(row![scale.number(time.background_us)]);
        row
    };
    let labelled: Vec<(&str, &ConditionTime)> = times.iter().map(|time| (time.name.as_str(), time)).collect();
    let events = tables::events(times.iter().take(ROWS));
    (!times.is_empty()).then(|| {
        html! {
            p.note {
                "Microseconds of wall-clock time, clients / throughput; the parts and what is not explained add up to it. Waits for "
                "locks are those of the capture sample, as the same share of the time. Below 0: parts overlap."
            }
            (table("The time of a transaction", &heads, times.iter().take(ROWS).map(row)))
            @for overlap in words::overlaps(&labelled) { p.note { (overlap) } }
            @if !events.rows.is_empty() {
                p.note {
                    "Events of processors and kernel, per transaction of the capture sample, in the threads of either side."
                }
                (drawn("Events per transaction", None, &events))
            }
            @if let Some(difference) = difference(page) { (difference) }
        }
    })
}

/// The parts of the difference between the fastest and the slowest condition; `None` if no difference is shown.
fn difference(page: &Page<'_>) -> Option<Markup> {
    let chosen = time::extremes(&page.summary.time)?;
    let [a, b] = [chosen.fastest, chosen.slowest].map(|condition| condition.name.as_str());
    let side = |name| page.conditions.iter().find(|condition| condition.name == name);
    let found = why::of_conditions(side(a)?, side(b)?, page.results).ok();
    let found = found.filter(|found| chosen.differ(found.own().p_value))?;
    let over = if found.paired { "trials of the same block" } else { "trials" };
    // Above the table: a caption inside it is as wide as the table, and cut off on a narrow screen.
    let caption = format!(
        "From A ({a}) to B ({b}), µs per transaction; intervals over {over}; * is shown, all parts tested together"
    );
    Some(html! {
        p { (words::extremes(&chosen)) " " (words::why(&found)) }
        p.note { (caption) }
        (drawn("From A to B", None, &tables::waterfall(&found)))
        @if !found.causes.is_empty() {
            p.note { "Suspects, the largest first; they may overlap. tare why A B prints the experiment that would \
                      decide about the first." }
            ul { @for cause in suspects::listed(&found) {
                li { (suspects::suspect(&cause.suspect)) ": " (suspects::evidence(cause)) }
            } }
        }
    })
}
