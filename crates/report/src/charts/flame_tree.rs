//! Call chains as boxes: every box a function, as wide as its share, what it calls above it.

use super::axis::px;
use maud::{Markup, html};
use std::collections::BTreeMap;

pub const WIDTH: f64 = 960.0;
const ROW: f64 = 17.0;
const DESCRIBED: usize = 8;
/// Pixels a character of a label takes.
const CHARACTER: f64 = 6.6;
/// Boxes in a drawing: the smallest are left out beyond this.
pub const BOXES: usize = 260;
const ROWS: usize = 48;
const DEEPEST: usize = 256;
/// Nodes of a tree at most: the lightest chains are cut beyond this, so that no file of chains fills the memory.
pub const NODES: usize = 100_000;

#[derive(Default)]
pub struct Node {
    weight: u64,
    /// What two sides have of it, where there are two.
    sides: [u64; 2],
    callees: BTreeMap<String, Node>,
}

pub struct Frame<'n> {
    pub name: &'n str,
    pub row: usize,
    pub root: &'n str,
    /// Where it begins and ends, as shares of the whole.
    pub from: f64,
    pub to: f64,
    /// What two sides have of it, where there are two.
    pub sides: [u64; 2],
}

pub struct Look<'l> {
    pub class: &'l dyn Fn(&Frame<'_>) -> String,
    /// What a box says when it is pointed at.
    pub said: &'l dyn Fn(&Frame<'_>) -> String,
    /// How much a box matters: those with most are in the description.
    pub matters: &'l dyn Fn(&Frame<'_>) -> f64,
    /// What the chains are: samples, or chains.
    pub of: &'l str,
    pub width: &'l str,
}

/// Draws chains; none where there are none.
pub fn draw(title: &str, mut root: Node, look: &Look<'_>) -> Option<Markup> {
    let left_out = root.without_trunk();
    if root.weight == 0 {
        return None;
    }
    let (frames, rows) = root.frames();
    let height = rows as f64 * ROW + 22.0;
    let mut first: Vec<&Frame<'_>> = frames.iter().collect();
    first.sort_by(|a, b| (look.matters)(b).total_cmp(&(look.matters)(a)));
    let description: Vec<String> = first.into_iter().take(DESCRIBED).map(look.said).collect();
    Some(html! {
        svg.chart.flame viewBox=(format!("0 0 {WIDTH} {height}")) role="img" {
            title { (title) }
            desc { (description.join("; ")) }
            @for frame in &frames {
                @let (x, width) = (frame.from * WIDTH, (frame.to - frame.from) * WIDTH);
                @let y = (rows - 1 - frame.row) as f64 * ROW;
                g {
                    title { ((look.said)(frame)) }
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
    /// A tree of chains, `caller;callee`, with what each weighs in all and on two sides.
    pub fn of<'c>(chains: impl Iterator<Item = (&'c str, u64, [u64; 2])>) -> Self {
        let mut chains: Vec<_> = chains.collect();
        chains.sort_unstable_by_key(|(_, weight, _)| std::cmp::Reverse(*weight));
        let (mut root, mut room) = (Self::default(), NODES);
        for (chain, weight, sides) in chains {
            root.add(chain, weight, sides, &mut room);
        }
        root
    }

    /// Adds a chain, as far as there is room for further nodes.
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
    pub fn nodes(&self) -> usize {
        self.callees.values().map(|callee| 1 + callee.nodes()).sum()
    }

    fn more(&mut self, weight: u64, sides: [u64; 2]) {
        self.weight = self.weight.saturating_add(weight);
        for (sum, side) in self.sides.iter_mut().zip(sides) {
            *sum = sum.saturating_add(side);
        }
    }

    /// Cuts off the callers that all chains share; how many.
    fn without_trunk(&mut self) -> usize {
        let mut cut = 0;
        while self.callees.len() == 1 {
            let Some((name, only)) = self.callees.pop_first() else { break };
            // The last one stays: a single box says more than none.
            if only.weight < self.weight || only.callees.is_empty() {
                self.callees.insert(name, only);
                break;
            }
            *self = only;
            cut += 1;
        }
        cut
    }

    /// The widest boxes, and how many rows they take.
    fn frames(&self) -> (Vec<Frame<'_>>, usize) {
        let mut frames = Vec::new();
        lay_out(self, (0, None), 0.0, self.weight as f64, &mut frames);
        // The widest are what is seen.
        frames.sort_by(|a, b| (b.to - b.from).total_cmp(&(a.to - a.from)));
        frames.truncate(BOXES);
        let rows = frames.iter().map(|frame| frame.row + 1).max().unwrap_or(1);
        (frames, rows)
    }
}

/// Boxes of what a node calls, from a row on; in chains that begin with `root`.
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
        // Less than half a pixel is not seen.
        if (to - from) * WIDTH >= 0.5 {
            let root = root.unwrap_or(name);
            frames.push(Frame { name, row, root, from, to, sides: callee.sides });
            lay_out(callee, (row + 1, Some(root)), from, whole, frames);
        }
        from = to;
    }
}

/// A name as it fits into a box of this width; none where nothing does. The end of a path says more than its beginning.
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
