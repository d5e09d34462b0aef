//! Sentences on the machines of a study that ran on several.

use tare_findings::hosts::{HostRow, Hosts};
use tare_text::percent;

pub(super) fn sentences(hosts: &Hosts) -> Vec<String> {
    let mut message: Vec<String> = hosts.rows.iter().filter(|row| row.odd_level).filter_map(level_sentence).collect();
    message.extend(hosts.rows.iter().filter(|row| row.odd_spread).map(|row| {
        let spread = row.spread.map_or(String::new(), |spread| format!(" (spread within a block {})", percent(spread)));
        format!("{} varies more or less than the other machines{spread}.", row.name)
    }));
    message.extend(hosts.rows.iter().filter(|row| row.open_level).filter_map(open_level));
    message.extend(hosts.rows.iter().filter(|row| !row.differs.is_empty()).map(|row| {
        format!("{} is set up differently from {}: {}.", row.name, hosts.rows[0].name, row.differs.join("; "))
    }));
    message
}

fn open_level(row: &HostRow) -> Option<String> {
    Some(format!(
        "{} measures {:.3}x what the other machines do. Whether it differs from them is not shown: blocks that are \
         like the ones before them differ as much by chance.",
        row.name, row.ratio?
    ))
}

fn level_sentence(row: &HostRow) -> Option<String> {
    let (ratio, ci) = (row.ratio?, row.ci?);
    Some(format!(
        "{} measures {ratio:.3}x what the other machines do ({:.3} to {:.3}); conditions are compared only within \
         machines.",
        row.name, ci.low, ci.high
    ))
}
