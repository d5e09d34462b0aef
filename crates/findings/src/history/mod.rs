//! Many results in the order of their time: where a metric stepped, whether it drifts, and what else changed there.

mod environment;
mod line;
mod lines;
mod model;
mod run;

pub use lines::{MOST_LINES, history};
pub use model::{Change, ERROR_RATE, History, HistoryError, MetricHistory, NotTested, Options, Point, Segment};
pub use run::{Run, commit_of, in_order};
