//! What distance costs, in words.

use tare_findings::distance::{Cost, DistanceCost, PER_NS};
use tare_findings::figures::{change, count, percent};
use tare_findings::level_words::words_of;

/// "each 100 ns that a cache line takes between client and server changes tps by -6.1% (95% interval -7.2% to -5.0%)",
/// with how well the line fits.
pub fn distance(found: &DistanceCost) -> String {
    let at = if found.levels.is_empty() { String::new() } else { format!("{}: ", words_of(&found.levels)) };
    let of = |cost: &Option<Cost>, what: &str| {
        cost.as_ref().map(|cost| {
            let shown = if cost.shown { "" } else { ", which is not shown to be a cost" };
            format!(
                "each {PER_NS:.0} ns that {what} goes with {} of {}{}{shown}",
                change(cost.change),
                found.metric,
                interval(cost)
            )
        })
    };
    let parts: Vec<String> = [
        of(&found.line, "a cache line takes between client and server, there and back,"),
        of(&found.memory, "a load takes from the server to its memory"),
    ]
    .into_iter()
    .flatten()
    .collect();
    format!(
        "{at}{}; the line explains {} of what {} differ by",
        parts.join("; "),
        percent(found.r_squared),
        count(found.conditions, "condition")
    )
}

fn interval(cost: &Cost) -> String {
    cost.ci.map_or(String::new(), |ci| format!(" (95% interval {} to {})", change(ci.low), change(ci.high)))
}
