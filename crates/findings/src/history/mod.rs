//! History: many results in chronological order, with the steps and drift of each metric and what else changed there.

mod environment;
mod kept;
mod line;
mod lines;
mod model;
mod run;

pub use kept::{KeptError, NotAdded, add};
pub use lines::{MOST_LINES, history};
pub use model::{Change, ERROR_RATE, Gate, History, HistoryError, MetricHistory, NotTested, Options, Point, Segment};
pub use run::{Run, commit_of, in_order};
