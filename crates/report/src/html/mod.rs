//! One self-contained HTML file: no network access, complete without its script, light and dark mode by the reader's
//! setting, readable on paper.
//!
//! Every string from outside goes through `maud`, which escapes it; nothing here uses `PreEscaped` on such a string.

mod captures;
mod comparisons;
mod distance;
mod document;
mod given;
mod machines;
mod page;
mod plots;
mod record;
mod samples;
mod scaling;
mod stability;
mod tables;

pub use comparisons::{changes, claims, history_page, history_picture};
pub use distance::render_measured;
pub(crate) use page::charts;
pub use page::{WriteError, render, write_report_in, write_report_to};
pub(crate) use plots::dot_plot;
