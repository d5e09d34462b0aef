//! Names at the ends of a chart's lines, in a stack at its right, each with its mark and a leader from its line.

use super::axis::px;
use super::marks;
use maud::{Markup, html};

/// Height of a name in the stack.
pub const NAME: f64 = 16.0;
/// Letters of a name at most; all of it is in the tooltip.
const LETTERS: usize = 36;

/// Where the name of each line stands: at its end, moved apart where two would touch. Given the number of each line and
/// the height of its end, in pixels; nothing stands below `bottom`.
pub fn placed(ends: impl Iterator<Item = (usize, f64)>, bottom: f64) -> Vec<(usize, f64)> {
    let mut names: Vec<(usize, f64)> = ends.map(|(line, end)| (line, end + 4.0)).collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    for index in 1..names.len() {
        names[index].1 = names[index].1.max(names[index - 1].1 + NAME);
    }
    // Pushed out at the bottom: the whole stack moves up.
    for index in (0..names.len()).rev() {
        let limit = if index + 1 < names.len() { names[index + 1].1 - NAME } else { bottom + 4.0 };
        names[index].1 = names[index].1.min(limit);
    }
    names
}

/// Draws one, at the height where it was placed; `end` is that of its line, `right` that of the chart, in pixels.
pub fn draw(label: &str, mark: usize, end: (f64, f64), name_y: f64, right: f64) -> Markup {
    let long = label.chars().count() > LETTERS;
    let shown: String = if long { label.chars().take(LETTERS - 1).chain(['…']).collect() } else { label.to_owned() };
    html! {
        path.leader d=(format!("M{} {}L{} {}", px(end.0 + 7.0), px(end.1), px(right + 8.0), px(name_y - 4.0))) {}
        path class=(marks::class(mark)) d=(marks::path(mark, right + 16.0, name_y - 4.0, 4.6)) {}
        text.value x=(px(right + 27.0)) y=(px(name_y)) { title { (label) } (shown) }
    }
}
