//! One module per chart. Every chart is inline SVG with a title and a description, coloured by the page's CSS
//! variables, so that it follows light and dark mode and prints.

pub mod alone;
pub mod axis;
pub mod claims;
pub mod curves;
pub mod distribution;
pub mod dots;
mod end_names;
pub mod flame;
pub mod flame_difference;
mod flame_tree;
pub mod forest;
pub mod frame;
pub mod heat;
pub mod history;
mod layout;
pub mod machine;
pub mod marks;
pub mod pairs;
pub mod queries;
mod ratio_axis;
pub mod run_order;
mod rungs;
pub mod search;
pub mod seconds;
pub mod small_multiples;
