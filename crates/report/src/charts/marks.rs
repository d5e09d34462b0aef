//! How the lines of a chart are told apart: marks by shape and colour, and names next to the plot or below it.

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

/// Maximum characters of a name next to a plot.
pub(crate) const LETTERS: usize = 36;
/// Average width of a character, and width of a name's mark and leader with some room for wide characters, in pixels.
pub(crate) const LETTER: f64 = 6.4;
const MARK_WIDTH: f64 = 56.0;

/// Left and right of a drawing, in pixels.
pub(crate) struct Frame {
    pub width: f64,
    /// Left and right end of the plot itself.
    pub left: f64,
    pub right: f64,
    pub slim: bool,
}

impl Frame {
    /// As wide as a phone in portrait orientation, so that characters have the size of the text around the chart.
    pub(crate) const SLIM: Self = Self { width: 340.0, left: 52.0, right: 332.0, slim: true };
    /// For pages of normal width, without names.
    pub(crate) const WIDE: Self = Self { width: 960.0, left: 70.0, right: 945.0, slim: false };

    /// For pages of normal width: names have as much room next to the plot as the longest of them needs.
    pub(crate) fn wide<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let longest = names.map(|name| name.chars().count().min(LETTERS)).max();
        let right = longest.map_or(Self::WIDE.right, |letters| Self::WIDE.width - MARK_WIDTH - LETTER * letters as f64);
        Self { right, ..Self::WIDE }
    }

    pub(crate) fn class(&self) -> &'static str {
        if self.slim { "chart slim" } else { "chart" }
    }
}

const NAME_HEIGHT: f64 = 16.0;
/// Maximum characters of a name below the plot; the tooltip has the full name.
const LETTERS_BELOW: usize = 46;
/// Distance from the end of the plot to the first name below it, with the axis in between.
const AXIS_HEIGHT: f64 = 54.0;

pub(crate) struct End<'a> {
    pub label: &'a str,
    pub mark: usize,
    pub at: (f64, f64),
}

/// Height of a drawing with this many lines whose plot ends at `bottom`.
pub(crate) fn height_with_names(lines: usize, frame: &Frame, bottom: f64) -> f64 {
    if frame.slim && lines > 0 { bottom + AXIS_HEIGHT + NAME_HEIGHT * lines as f64 } else { bottom + 42.0 }
}

/// Draws the names of all lines, with leaders if they are next to the plot, which ends at `bottom`. Names are stacked
/// to the right of the plot, each with its mark and a leader from the end of its line, or in a list below the plot.
pub(crate) fn draw_names(ends: &[End<'_>], frame: &Frame, bottom: f64) -> Markup {
    let (x, letters) = if frame.slim { (9.0, LETTERS_BELOW) } else { (frame.right + 16.0, LETTERS) };
    let placed: Vec<(usize, f64)> = if frame.slim {
        (0..ends.len()).map(|line| (line, bottom + AXIS_HEIGHT + 8.0 + NAME_HEIGHT * line as f64)).collect()
    } else {
        placed(ends.iter().map(|end| end.at.1), bottom)
    };
    html! {
        @for (line, name_y) in placed {
            @let end = &ends[line];
            @if !frame.slim {
                path.leader d=(format!("M{} {}L{} {}", px(end.at.0 + 7.0), px(end.at.1), px(frame.right + 8.0), px(name_y - 4.0))) {}
            }
            path class=(class(end.mark)) d=(path(end.mark, x, name_y - 4.0, 4.6)) {}
            text.value x=(px(x + 11.0)) y=(px(name_y)) { title { (end.label) } (shortened(end.label, letters)) }
        }
    }
}

/// The position of each name: at the end of its line, moved if two would overlap. No name is below `bottom`.
fn placed(ends: impl Iterator<Item = f64>, bottom: f64) -> Vec<(usize, f64)> {
    let mut names: Vec<(usize, f64)> = ends.enumerate().map(|(line, end)| (line, end + 4.0)).collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    for index in 1..names.len() {
        names[index].1 = names[index].1.max(names[index - 1].1 + NAME_HEIGHT);
    }
    // If names are below the bottom, the whole stack moves up.
    for index in (0..names.len()).rev() {
        let limit = if index + 1 < names.len() { names[index + 1].1 - NAME_HEIGHT } else { bottom + 4.0 };
        names[index].1 = names[index].1.min(limit);
    }
    names
}

/// Shortens a text to its beginning and end if it is too long.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= characters {
        return text.to_owned();
    }
    let half = (characters - 1) / 2;
    all[..half].iter().chain(&['…']).chain(&all[all.len() - half..]).collect()
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

    #[test]
    fn names_never_touch_and_stay_inside() {
        let (top, bottom) = (22.0, 282.0);
        for lines in 1..=MEANT {
            for height in [top, 170.0, bottom] {
                // All lines end within a few pixels of each other.
                let names = placed((0..lines).map(|line| (height + line as f64 / 4.0).min(bottom)), bottom);
                assert_eq!(names.len(), lines);
                assert!(names.windows(2).all(|pair| pair[1].1 - pair[0].1 >= NAME_HEIGHT - 0.01), "{names:?}");
                assert!(names.iter().all(|(_, y)| (top - 10.0..=bottom + 4.1).contains(y)), "{names:?}");
            }
        }
    }

    #[test]
    fn names_below_a_chart_lie_within_its_height() {
        let ends: Vec<End<'_>> = (0..3).map(|mark| End { label: "a", mark, at: (10.0, 10.0) }).collect();
        let drawn = draw_names(&ends, &Frame::SLIM, 100.0).into_string();
        assert!(drawn.contains("y=\"194\"") && height_with_names(3, &Frame::SLIM, 100.0) >= 194.0, "{drawn}");
    }
}
