//! A paired comparison: the ratio after each pair, and a table of the results so far.

use super::document::either;
use super::given::Page;
use crate::charts::frame::Frame;
use crate::charts::pairs;
use crate::words::{ab as words, ab_rows};
use maud::{Markup, html};
use tare_findings::ab::course;

/// The chart of `tare ab` with its table; `None` if no pairs were measured.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let (plan, ab) = (page.results.plan.as_ref()?, page.summary.pairs.as_ref()?);
    let course = course(plan, &page.results.trials);
    let sentence = words::sentence(ab);
    let [wide, slim] = [pairs::WIDE, Frame::SLIM].map(|frame| pairs::draw(&sentence, ab, &course, &frame));
    Some(html! {
        @if !course.is_empty() {
            (either("The ratio after each pair", &wide, &slim))
            p.note.small-screen { (pairs::legend(ab, &course)) "." }
        }
        dl.first { @for (name, value) in ab_rows::rows(ab) { dt { (name) } dd { (value) } } }
    })
}
