//! Call chains as boxes: every box is a function, as wide as its share, with its callees above it.

use super::axis::px;
use maud::{Markup, html};
use std::collections::BTreeMap;

const WIDTH: f64 = 960.0;
const ROW: f64 = 17.0;
const DESCRIBED: usize = 8;
/// Width of a character of a label, in pixels.
const CHARACTER: f64 = 6.6;
/// Maximum number of boxes in a drawing; beyond this the smallest are left out.
pub(crate) const BOXES: usize = 260;
const ROWS: usize = 48;
const DEEPEST: usize = 256;
/// Maximum nodes of a tree: beyond this the lightest chains are cut, so that no file of chains exhausts the memory.
pub(crate) const NODES: usize = 100_000;

#[derive(Default)]
pub(crate) struct Node {
    weight: u64,
    /// The weights on the two sides, if there are two.
    sides: [u64; 2],
    callees: BTreeMap<String, Node>,
}

pub(crate) struct Frame<'n> {
    pub name: &'n str,
    pub row: usize,
    pub root: &'n str,
    /// Where it begins and ends, as shares of the whole.
    pub from: f64,
    pub to: f64,
    /// The weights on the two sides, if there are two.
    pub sides: [u64; 2],
}

pub(crate) struct Look<'l> {
    pub class: &'l dyn Fn(&Frame<'_>) -> String,
    pub description_of: &'l dyn Fn(&Frame<'_>) -> String,
    /// The importance of a box: the most important are in the description.
    pub matters: &'l dyn Fn(&Frame<'_>) -> f64,
    /// What the chains consist of, for instance samples.
    pub of: &'l str,
    pub width: &'l str,
}

pub(crate) fn draw(title: &str, mut root: Node, look: &Look<'_>) -> Option<Markup> {
    let left_out = root.without_trunk();
    if root.weight == 0 {
        return None;
    }
    let (frames, rows) = root.frames();
    let height = rows as f64 * ROW + 22.0;
    let mut first: Vec<&Frame<'_>> = frames.iter().collect();
    first.sort_by(|a, b| (look.matters)(b).total_cmp(&(look.matters)(a)));
    let description: Vec<String> = first.into_iter().take(DESCRIBED).map(look.description_of).collect();
    Some(html! {
        svg.chart.flame viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (title) }
            desc { (description.join("; ")) }
            @for frame in &frames {
                @let (x, width) = (frame.from * WIDTH, (frame.to - frame.from) * WIDTH);
                @let y = (rows - 1 - frame.row) as f64 * ROW;
                g {
                    title { ((look.description_of)(frame)) }
                    rect class=((look.class)(frame)) x=(px(x)) y=(px(y)) width=(px((width - 0.6).max(0.4))) height=(px(ROW - 1.0)) {}
                    @if let Some(label) = label(frame.name, width) { text x=(px(x + 3.0)) y=(px(y + 12.0)) { (label) } }
                }
            }
            text.tick x="0" y=(px(height - 5.0)) {
                @if left_out > 0 { "above " (left_out) " callers that all " (look.of) " have in common; " }
                "width: " (look.width) "; `_[k]`: the kernel"
            }
        }
    })
}

impl Node {
    /// A tree of chains, `caller;callee`, with the weight of each in all and on two sides.
    pub(crate) fn of<'c>(chains: impl Iterator<Item = (&'c str, u64, [u64; 2])>) -> Self {
        let mut chains: Vec<_> = chains.collect();
        chains.sort_unstable_by_key(|(_, weight, _)| std::cmp::Reverse(*weight));
        let (mut root, mut room) = (Self::default(), NODES);
        for (chain, weight, sides) in chains {
            root.add(chain, weight, sides, &mut room);
        }
        root
    }

    fn add(&mut self, chain: &str, weight: u64, sides: [u64; 2], room: &mut usize) {
        self.more(weight, sides);
        let mut node = self;
        for name in chain.split(';').take(DEEPEST) {
            if !node.callees.contains_key(name) {
                let Some(left) = room.checked_sub(1) else { return };
                *room = left;
            }
            node = node.callees.entry(name.to_owned()).or_default();
            node.more(weight, sides);
        }
    }

    #[cfg(test)]
    pub(crate) fn nodes(&self) -> usize {
        self.callees.values().map(|callee| 1 + callee.nodes()).sum()
    }

    fn more(&mut self, weight: u64, sides: [u64; 2]) {
        self.weight = self.weight.saturating_add(weight);
        for (sum, side) in self.sides.iter_mut().zip(sides) {
            *sum = sum.saturating_add(side);
        }
    }

    /// Removes the callers that all chains share; returns their number.
    fn without_trunk(&mut self) -> usize {
        let mut cut = 0;
        while self.callees.len() == 1 {
            let Some((name, only)) = self.callees.pop_first() else { break };
            // The last one is kept, because a single box is better than none.
            if only.weight < self.weight || only.callees.is_empty() {
                self.callees.insert(name, only);
                break;
            }
            *self = only;
            cut += 1;
        }
        cut
    }

    /// The widest boxes, and the number of their rows.
    fn frames(&self) -> (Vec<Frame<'_>>, usize) {
        let mut frames = Vec::new();
        lay_out(self, (0, None), 0.0, self.weight as f64, &mut frames);
        // Only the widest are visible.
        frames.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        frames.truncate(BOXES);
        let rows = frames.iter().map(|frame| frame.row + 1).max().unwrap_or(1);
        (frames, rows)
    }
}

/// Adds boxes for the callees of a node, from a row on; `root` is the first function of the chains.
fn lay_out<'n>(
    node: &'n Node,
    (row, root): (usize, Option<&'n str>),
    mut from: f64,
    whole: f64,
    frames: &mut Vec<Frame<'n>>,
) {
    if row >= ROWS {
        return;
    }
    for (name, callee) in &node.callees {
        let to = from + callee.weight as f64 / whole;
        // Less than half a pixel is invisible.
        if (to - from) * WIDTH >= 0.5 {
            let root = root.unwrap_or(name);
            frames.push(Frame { name, row, root, from, to, sides: callee.sides });
            lay_out(callee, (row + 1, Some(root)), from, whole, frames);
        }
        from = to;
    }
}

/// A name shortened to fit a box of this width; `None` if nothing fits. The end of a path is more useful than its
/// beginning.
fn label(name: &str, width: f64) -> Option<String> {
    let room = ((width - 6.0) / CHARACTER).max(0.0) as usize;
    (room >= 3).then(|| shortened(name, room))
}

fn shortened(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let last = name.rsplit("::").next().unwrap_or(name);
    let name = if last.len() > 2 { last } else { name };
    if name.chars().count() <= room {
        return name.to_owned();
    }
    name.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}
