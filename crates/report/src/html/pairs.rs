//! A paired comparison: the ratio after each pair, and what is known of it.

use super::given::Page;
use super::scroll::scroll;
use crate::charts::pairs;
use crate::words::{ab as words, ab_rows};
use maud::{Markup, html};
use tare_findings::ab::{Ab, course};

/// The picture of `tare ab` with its rows; none where no pairs were made.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let plan = page.results.plan.as_ref()?;
    let ab = Ab::of(plan, &page.results.trials)?;
    let course = course(plan, &page.results.trials);
    Some(html! {
        @if !course.is_empty() { (scroll("The ratio after each pair", &pairs::draw(&words::sentence(&ab), &ab, &course))) }
        dl.first { @for (name, value) in ab_rows::rows(&ab) { dt { (name) } dd { (value) } } }
    })
}
