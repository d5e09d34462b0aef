//! Names of a chart's lines: stacked to the right of the plot, each with its mark and a leader from the end of its
//! line, or in a list below the plot.

use super::axis::px;
use super::dots::shortened;
use super::frame::{Frame, LETTERS};
use super::marks;
use maud::{Markup, html};

const NAME: f64 = 16.0;
/// Maximum characters of a name below the plot; the tooltip has the full name.
const LETTERS_BELOW: usize = 46;
/// Distance from the end of the plot to the first name below it, with the axis in between.
const AXIS: f64 = 54.0;

pub(crate) struct End<'a> {
    pub label: &'a str,
    pub mark: usize,
    pub at: (f64, f64),
}

/// Height of a drawing with this many lines whose plot ends at `bottom`.
pub(crate) fn height(lines: usize, frame: &Frame, bottom: f64) -> f64 {
    if frame.slim && lines > 0 { bottom + AXIS + NAME * lines as f64 } else { bottom + 42.0 }
}

/// Draws the names of all lines, with leaders if they are next to the plot, which ends at `bottom`.
pub(crate) fn draw(ends: &[End<'_>], frame: &Frame, bottom: f64) -> Markup {
    let (x, letters) = if frame.slim { (9.0, LETTERS_BELOW) } else { (frame.right + 16.0, LETTERS) };
    let placed: Vec<(usize, f64)> = if frame.slim {
        (0..ends.len()).map(|line| (line, bottom + AXIS + 8.0 + NAME * line as f64)).collect()
    } else {
        placed(ends.iter().map(|end| end.at.1), bottom)
    };
    html! {
        @for (line, name_y) in placed {
            @let end = &ends[line];
            @if !frame.slim {
                path.leader d=(format!("M{} {}L{} {}", px(end.at.0 + 7.0), px(end.at.1), px(frame.right + 8.0), px(name_y - 4.0))) {}
            }
            path class=(marks::class(end.mark)) d=(marks::path(end.mark, x, name_y - 4.0, 4.6)) {}
            text.value x=(px(x + 11.0)) y=(px(name_y)) { title { (end.label) } (shortened(end.label, letters)) }
        }
    }
}

/// The position of each name: at the end of its line, moved if two would overlap. No name is below `bottom`.
fn placed(ends: impl Iterator<Item = f64>, bottom: f64) -> Vec<(usize, f64)> {
    let mut names: Vec<(usize, f64)> = ends.enumerate().map(|(line, end)| (line, end + 4.0)).collect();
    names.sort_by(|a, b| a.1.total_cmp(&b.1));
    for index in 1..names.len() {
        names[index].1 = names[index].1.max(names[index - 1].1 + NAME);
    }
    // If names are below the bottom, the whole stack moves up.
    for index in (0..names.len()).rev() {
        let limit = if index + 1 < names.len() { names[index + 1].1 - NAME } else { bottom + 4.0 };
        names[index].1 = names[index].1.min(limit);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_touch_and_stay_inside() {
        let (top, bottom) = (22.0, 282.0);
        for lines in 1..=marks::MEANT {
            for height in [top, 170.0, bottom] {
                // All lines end within a few pixels of each other.
                let names = placed((0..lines).map(|line| (height + line as f64 / 4.0).min(bottom)), bottom);
                assert_eq!(names.len(), lines);
                assert!(names.windows(2).all(|pair| pair[1].1 - pair[0].1 >= NAME - 0.01), "{names:?}");
                assert!(names.iter().all(|(_, y)| (top - 10.0..=bottom + 4.1).contains(y)), "{names:?}");
            }
        }
    }

    #[test]
    fn names_below_a_chart_lie_within_its_height() {
        let ends: Vec<End<'_>> = (0..3).map(|mark| End { label: "a", mark, at: (10.0, 10.0) }).collect();
        let drawn = draw(&ends, &Frame::SLIM, 100.0).into_string();
        assert!(drawn.contains("y=\"194\"") && height(3, &Frame::SLIM, 100.0) >= 194.0, "{drawn}");
    }
}
