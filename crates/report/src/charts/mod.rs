//! One module per chart. Every chart is inline SVG with a title and a description, coloured by the page's CSS
//! variables, so that it follows light and dark mode and prints.

pub(crate) mod alone;
mod axis;
pub(crate) mod claims;
pub(crate) mod curves;
pub(crate) mod distribution;
pub(crate) mod dots;
mod end_names;
pub(crate) mod flame;
pub(crate) mod flame_difference;
mod flame_tree;
pub(crate) mod forest;
pub(crate) mod frame;
pub(crate) mod heat;
pub(crate) mod history;
mod layout;
pub(crate) mod machine;
pub(crate) mod machine_view;
pub(crate) mod marks;
pub mod pairs;
pub(crate) mod queries;
mod ratio_axis;
pub(crate) mod run_order;
mod rungs;
pub mod search;
pub(crate) mod seconds;
mod small_multiples;
