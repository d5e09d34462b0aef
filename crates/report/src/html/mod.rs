//! One self-contained HTML file: no network access, complete without its script, light and dark mode by the reader's
//! setting, readable on paper.
//!
//! Every string from outside goes through `maud`, which escapes it; nothing here uses `PreEscaped` on such a string.

mod captures;
mod changes;
mod claims;
mod distance;
mod document;
mod environment;
mod first_screen;
mod given;
mod grid;
mod history;
mod latencies;
mod machines;
mod measured;
mod page;
mod pairs;
mod plots;
mod probes;
mod record;
mod scaling;
mod scroll;
mod searches;
mod seconds;
mod stability;
mod tables;
mod time;

pub use changes::changes;
pub use claims::claims;
pub use history::{history_page, history_picture};
pub use measured::render as render_measured;
pub(crate) use page::charts;
pub use page::render;
pub(crate) use plots::dot_plot;
