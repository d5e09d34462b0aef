//! Call chains as boxes: every box a function, as wide as its share, what it calls above it.

use std::collections::BTreeMap;

/// Width of a drawing, pixels.
pub const WIDTH: f64 = 960.0;
/// Height of a row of boxes.
pub const ROW: f64 = 17.0;
/// Pixels a character of a label takes.
const CHARACTER: f64 = 6.6;
/// Boxes in a drawing: the smallest are left out beyond this.
pub const BOXES: usize = 260;
/// Rows in a drawing.
const ROWS: usize = 48;

/// Call chains as a tree.
#[derive(Default)]
pub struct Node {
    pub weight: u64,
    /// What two sides have of it, where there are two.
    pub sides: [u64; 2],
    callees: BTreeMap<String, Node>,
}

/// One function in the drawing.
pub struct Frame<'n> {
    pub name: &'n str,
    pub row: usize,
    /// The first of its chain.
    pub root: &'n str,
    /// Where it begins and ends, as shares of the whole.
    pub from: f64,
    pub to: f64,
    /// What two sides have of it, where there are two.
    pub sides: [u64; 2],
}

impl Node {
    /// Adds a chain, `caller;callee`.
    pub fn add(&mut self, chain: &str, weight: u64, sides: [u64; 2]) {
        self.more(weight, sides);
        let mut node = self;
        for name in chain.split(';').take(256) {
            node = node.callees.entry(name.to_owned()).or_default();
            node.more(weight, sides);
        }
    }

    fn more(&mut self, weight: u64, sides: [u64; 2]) {
        self.weight = self.weight.saturating_add(weight);
        for (sum, side) in self.sides.iter_mut().zip(sides) {
            *sum = sum.saturating_add(side);
        }
    }

    /// Cuts off the callers that all chains share; how many.
    pub fn without_trunk(&mut self) -> usize {
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
    pub fn frames(&self) -> (Vec<Frame<'_>>, usize) {
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
pub fn label(name: &str, width: f64) -> Option<String> {
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
