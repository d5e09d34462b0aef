//! Marks that distinguish conditions by shape and colour.

use super::axis::px;
use maud::{Markup, PreEscaped, html};

/// Number of distinct marks in a page: as many as its palette has colours (`--c0` .. `--c7` in its CSS).
pub(crate) const MEANT: usize = 8;
/// Number of shapes; not a divisor of [`MEANT`].
const SHAPES: usize = 7;

pub(crate) fn class(index: usize) -> String {
    format!("m{}", index % MEANT)
}

/// The outline of mark `index` around a point, as path data.
pub(crate) fn path(index: usize, x: f64, y: f64, r: f64) -> String {
    let p = |dx: f64, dy: f64| format!("{} {}", px(x + dx * r), px(y + dy * r));
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<String> = points.iter().map(|(dx, dy)| p(*dx, *dy)).collect();
        format!("M{}Z", points.join("L"))
    };
    match index % SHAPES {
        0 => format!("M{}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0", p(-1.0, 0.0), r = px(r), d = px(2.0 * r)),
        1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        3 => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => polygon(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
        5 => polygon(&PLUS),
        _ => polygon(&[(0.0, -1.2), (1.15, -0.35), (0.7, 1.0), (-0.7, 1.0), (-1.15, -0.35)]),
    }
}

/// The mark of a value that is in no mean.
pub(crate) fn cross(x: f64, y: f64, r: f64) -> String {
    let (left, top, d) = (px(x - r), px(y - r), px(2.0 * r));
    format!("M{left} {top}l{d} {d}m0 -{d}l-{d} {d}")
}

const PLUS: [(f64, f64); 12] = [
    (-0.4, -1.2),
    (0.4, -1.2),
    (0.4, -0.4),
    (1.2, -0.4),
    (1.2, 0.4),
    (0.4, 0.4),
    (0.4, 1.2),
    (-0.4, 1.2),
    (-0.4, 0.4),
    (-1.2, 0.4),
    (-1.2, -0.4),
    (-0.4, -0.4),
];

/// One mark as a small picture for a legend or a table.
pub(crate) fn swatch(index: usize) -> Markup {
    html! {
        svg.swatch viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" {
            path class=(class(index)) d=(path(index, 7.0, 7.0, 5.0)) {}
        }
    }
}

/// Many small round dots as one path: a dot is a line of length 0 with round ends, which takes 8 bytes instead of 50.
pub(crate) fn dots(points: impl Iterator<Item = (f64, f64)>) -> PreEscaped<String> {
    let mut data = String::new();
    for (x, y) in points {
        data.push_str(&format!("M{} {}h0", px(x), px(y)));
    }
    PreEscaped(data)
}

/// Dots in one row, each position drawn once: a million of them take no more bytes than the width of the row allows.
pub(crate) fn dots_in_a_row(places: impl Iterator<Item = f64>, y: f64) -> PreEscaped<String> {
    let mut data = String::new();
    // Positions are rounded to a tenth; no row is wider than this.
    let mut drawn = vec![false; usize::from(u16::MAX) + 1];
    for x in places {
        let place = usize::from((x * 10.0).round() as u16);
        if !std::mem::replace(&mut drawn[place], true) {
            data.push_str(&format!("M{} {}h0", px(x), px(y)));
        }
    }
    PreEscaped(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_million_samples_are_no_more_than_their_row_is_wide() {
        let many = dots_in_a_row((0..1_000_000).map(|i| f64::from(i % 5000) / 10.0), 4.0).0;
        assert_eq!(many.matches('M').count(), 5000);
        assert_eq!(dots_in_a_row([1.0, 2.5].into_iter(), 4.0).0, dots([(1.0, 4.0), (2.5, 4.0)].into_iter()).0);
    }

    #[test]
    fn all_marks_with_a_meaning_differ() {
        let marks: BTreeSet<(String, String)> = (0..MEANT).map(|i| (class(i), path(i, 0.0, 0.0, 4.0))).collect();
        assert_eq!(marks.len(), MEANT);
    }
}
