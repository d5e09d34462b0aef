//! The positions of the boxes of a machine: nested, children side by side, wrapped into equally full rows.

use crate::charts::machine_view::{BoxKind, MachineBox};
use std::collections::BTreeMap;

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
pub(crate) struct Layout {
    pub(super) boxes: Vec<(Rect, BoxKind, String)>,
    pub(super) pus: BTreeMap<usize, Rect>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A box with its size and its parts, each with its position in the box.
struct SizedBox<'a> {
    item: &'a MachineBox,
    width: f64,
    height: f64,
    parts: Vec<(f64, f64, SizedBox<'a>)>,
}

impl Layout {
    pub(crate) fn new(machine: &MachineBox) -> Self {
        let sized = SizedBox::of(machine);
        let (width, height) = (sized.width + 2.0, sized.height + 2.0);
        let mut layout = Self { boxes: Vec::new(), pus: BTreeMap::new(), width, height };
        layout.place(&sized, 1.0, 1.0);
        layout
    }

    /// Places a box with its corner at (x, y).
    fn place(&mut self, sized: &SizedBox<'_>, x: f64, y: f64) {
        let rect = Rect { x, y, width: sized.width, height: sized.height };
        self.boxes.push((rect, sized.item.kind, sized.item.label.clone()));
        if let Some(cpu) = sized.item.cpu {
            self.pus.insert(cpu, rect);
        }
        for (at_x, at_y, part) in &sized.parts {
            self.place(part, x + at_x, y + at_y);
        }
    }
}

impl<'a> SizedBox<'a> {
    fn of(item: &'a MachineBox) -> Self {
        if item.cpu.is_some() {
            return Self { item, width: PU_WIDTH, height: PU_HEIGHT, parts: Vec::new() };
        }
        let sized: Vec<Self> = item.children.iter().map(Self::of).collect();
        let per_row = per_row(&sized);
        let head = if item.label.is_empty() { 0.0 } else { HEAD };
        let (mut right, mut bottom): (f64, f64) = (PAD, head + PAD);
        let (mut at_x, mut at_y) = (PAD, head + PAD);
        let mut parts = Vec::with_capacity(sized.len());
        for (index, part) in sized.into_iter().enumerate() {
            if index > 0 && index % per_row == 0 {
                at_x = PAD;
                at_y = bottom + PAD;
            }
            right = right.max(at_x + part.width);
            bottom = bottom.max(at_y + part.height);
            let x = at_x;
            at_x += part.width + PAD;
            parts.push((x, at_y, part));
        }
        let label_width = item.label.chars().count() as f64 * 6.2 + 2.0 * PAD;
        Self { item, width: (right + PAD).max(label_width), height: bottom + PAD, parts }
    }
}

/// Parts per row: as many rows as the width requires, equally full.
fn per_row(parts: &[SizedBox<'_>]) -> usize {
    let widest = parts.iter().map(|part| part.width + PAD).fold(1.0, f64::max);
    let fit = ((WRAP / widest) as usize).max(1);
    let rows = parts.len().div_ceil(fit).max(1);
    parts.len().div_ceil(rows).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Measuring each box again for each box around it took time with 2 to the power of their number.
    #[test]
    fn nested_boxes_are_placed_at_once() {
        let mut nested = MachineBox { kind: BoxKind::Pu, label: "0".to_owned(), cpu: Some(0), children: Vec::new() };
        for _ in 0..24 {
            nested = MachineBox { kind: BoxKind::Cache, label: String::new(), cpu: None, children: vec![nested] };
        }
        let began = Instant::now();
        let layout = Layout::new(&nested);
        assert_eq!((layout.boxes.len(), layout.width), (25, 46.0 + 24.0 * 2.0 * PAD + 2.0));
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }
}
