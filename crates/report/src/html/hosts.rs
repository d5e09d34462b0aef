//! The machines that shared a study, side by side.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use maud::{Markup, html};
use tare_findings::figures::percent;

/// None where one machine ran it all.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let hosts = page.summary.machines.as_ref()?;
    let covs = hosts.between_cov.zip(hosts.within_cov);
    Some(html! {
        p.note {
            "A block ran whole on one machine, so no comparison of conditions contains what machines differ by."
            @if let Some((between, within)) = covs {
                " Coefficient of variation between machines " (percent(between)) ", between blocks of one machine " (percent(within)) "."
            }
        }
        (table("Machines side by side", &[L("machine"), R("blocks"), R("trials"), R("against the others"),
            R("95% interval"), R("spread in a block"), L("odd")], hosts.rows.iter().map(|host| row![
            host.name, host.blocks, host.trials,
            host.ratio.map(|ratio| format!("{ratio:.3}x")).unwrap_or_default(),
            host.ci.map(|ci| format!("{:.3} to {:.3}", ci.low, ci.high)).unwrap_or_default(),
            host.spread.map(percent).unwrap_or_default(), host.odd_words()
        ])))
    })
}
