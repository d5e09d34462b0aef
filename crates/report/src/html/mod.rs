//! One self-contained HTML file: no network, complete without its script, light and dark from the reader's setting,
//! readable on paper.
//!
//! Every outside string goes through `maud`, which escapes it; nothing here uses `PreEscaped` on such a string.

mod builds;
mod captures;
mod changes;
mod counters;
mod curves;
mod distance;
mod document;
mod environment;
mod first_screen;
mod given;
mod grid;
mod history;
mod hosts;
mod latencies;
mod machines;
mod measured;
mod nodes;
mod page;
mod pairs;
mod plans;
mod plots;
mod probes;
mod record;
mod relative;
mod scaling;
mod scroll;
mod searches;
mod seconds;
mod servers;
mod stability;
mod tables;
mod time;
mod waits;
mod wakes;
mod warm_up;

pub use changes::changes;
pub use history::{history_page, history_picture};
pub use measured::render as render_measured;
pub use page::{charts, render};
pub use plots::dot_plot;
