//! The positions of the boxes of a machine: nested, children side by side, wrapped into equally full rows.

use std::collections::BTreeMap;
use tare_findings::machine_view::{BoxKind, MachineBox};

const PU_WIDTH: f64 = 46.0;
const PU_HEIGHT: f64 = 46.0;
pub(super) const PAD: f64 = 5.0;
const HEAD: f64 = 14.0;
/// Width at which children wrap into the next row.
const WRAP: f64 = 620.0;
#[derive(Debug, Clone, Copy)]
pub(super) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The layout of a machine: the position of every PU (logical CPU), and the boxes around them.
pub struct Layout {
    pub(super) boxes: Vec<(Rect, BoxKind, String)>,
    pub(super) pus: BTreeMap<usize, Rect>,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl Layout {
    pub fn new(machine: &MachineBox) -> Self {
        let mut layout = Self { boxes: Vec::new(), pus: BTreeMap::new(), width: 0.0, height: 0.0 };
        let size = layout.place(machine, 1.0, 1.0);
        layout.width = size.0 + 2.0;
        layout.height = size.1 + 2.0;
        layout
    }

    /// Places a box with its corner at (x, y) and returns its size.
    fn place(&mut self, item: &MachineBox, x: f64, y: f64) -> (f64, f64) {
        if let Some(cpu) = item.cpu {
            let rect = Rect { x, y, width: PU_WIDTH, height: PU_HEIGHT };
            self.boxes.push((rect, item.kind, item.label.clone()));
            self.pus.insert(cpu, rect);
            return (PU_WIDTH, PU_HEIGHT);
        }
        let slot = self.boxes.len();
        self.boxes.push((Rect { x, y, width: 0.0, height: 0.0 }, item.kind, item.label.clone()));
        let head = if item.label.is_empty() { 0.0 } else { HEAD };
        let (mut right, mut bottom): (f64, f64) = (x + PAD, y + head + PAD);
        let (mut at_x, mut at_y) = (x + PAD, y + head + PAD);
        let per_row = per_row(&item.children);
        for (index, child) in item.children.iter().enumerate() {
            if index > 0 && index % per_row == 0 {
                at_x = x + PAD;
                at_y = bottom + PAD;
            }
            let (width, height) = self.place(child, at_x, at_y);
            right = right.max(at_x + width);
            bottom = bottom.max(at_y + height);
            at_x += width + PAD;
        }
        let label_width = item.label.chars().count() as f64 * 6.2 + 2.0 * PAD;
        let size = ((right + PAD - x).max(label_width), bottom + PAD - y);
        self.boxes[slot].0 = Rect { x, y, width: size.0, height: size.1 };
        size
    }
}

/// Children per row: as many rows as the width requires, equally full.
fn per_row(children: &[MachineBox]) -> usize {
    let widest = children.iter().map(|child| measure(child).0 + PAD).fold(1.0, f64::max);
    let fit = ((WRAP / widest) as usize).max(1);
    let rows = children.len().div_ceil(fit).max(1);
    children.len().div_ceil(rows).max(1)
}

/// Size of a box when placed; placing it twice is simpler than storing sizes.
fn measure(item: &MachineBox) -> (f64, f64) {
    Layout { boxes: Vec::new(), pus: BTreeMap::new(), width: 0.0, height: 0.0 }.place(item, 0.0, 0.0)
}
