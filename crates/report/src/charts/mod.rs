//! One module per chart. Every chart is inline SVG with a title and a description, coloured by the page's CSS
//! variables, so that it follows light and dark mode and prints.

pub(crate) mod alone;
mod axis;
pub(crate) mod curves;
pub(crate) mod distribution;
pub(crate) mod dots;
pub(crate) mod flame;
pub(crate) mod heat;
pub(crate) mod history;
pub(crate) mod machine;
pub(crate) mod machine_view;
pub(crate) mod marks;
pub(crate) mod over_time;
pub mod pairs;
pub(crate) mod ratios;
pub mod search;
mod small_multiples;
