//! A sentence on the cost of distance.

use crate::figures::{change, changes};
use tare_findings::factors::words_of;
use tare_findings::placement::{Cost, DistanceCost, PER_NS};
use tare_text::{count, percent};

/// "Each 100 ns that a cache line takes between client and server, there and back, changes tps by -6.1% (95% interval
/// -7.2% to -5.0%).", with how well the line fits.
pub(crate) fn distance(found: &DistanceCost) -> String {
    let at = if found.levels.is_empty() { String::new() } else { format!("At {}: ", words_of(&found.levels)) };
    let of = |cost: &Option<Cost>, what: &str| {
        cost.as_ref().map(|cost| {
            let shown = if cost.shown { "" } else { ", which is not shown to be a cost" };
            let interval = cost.ci.map_or(String::new(), |ci| format!(" (95% interval {})", changes(ci)));
            format!(
                "Each {PER_NS:.0} ns that {what} corresponds to {} of {}{interval}{shown}. ",
                change(cost.change),
                found.metric
            )
        })
    };
    let line = of(&found.line, "a cache line takes between client and server, there and back,").unwrap_or_default();
    let memory = of(&found.memory, "a load takes from the server to its memory").unwrap_or_default();
    format!(
        "{at}{line}{memory}This explains {} of what {} differ by.",
        percent(found.r_squared),
        count(found.conditions, "condition")
    )
}
