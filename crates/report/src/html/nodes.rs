//! Memory by node.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use maud::{Markup, html};
use tare_findings::figures::{figure, percent};
use tare_findings::nodes::NodeSummary;

/// Rows of the table; a study of many conditions has the rest in `tare show --json`.
const ROWS: usize = 400;

/// Where the server's memory was; none on a machine with a single node.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let nodes = &page.summary.nodes;
    (!nodes.is_empty()).then(|| {
        html! {
            p.note {
                "Means over samples. Pages of the whole machine: given on this node as asked (hit), given here because another node was "
                "full (miss), given here to a thread of another node (other)."
            }
            (table("Memory by node", &[L("condition"), R("node"), R("server's memory"), R("share"), R("hit, pages"),
                R("miss, pages"), R("other, pages")], nodes.iter().take(ROWS).map(|node| row![
                node.condition, node.node, figure(node.server_bytes, "bytes"), percent(share(node, nodes)),
                format!("{:.0}", node.hit_pages), format!("{:.0}", node.miss_pages), format!("{:.0}", node.other_pages)
            ])))
        }
    })
}

/// Share of the server's memory that is on this node.
fn share(node: &NodeSummary, nodes: &[NodeSummary]) -> f64 {
    let all: f64 = nodes.iter().filter(|other| other.condition == node.condition).map(|other| other.server_bytes).sum();
    if all > 0.0 { node.server_bytes / all } else { 0.0 }
}
