//! History: many results in chronological order, with the steps and drift of each metric and what else changed there.

mod lines;
mod model;
mod run;

pub use lines::{MOST_LINES, history};
pub use model::{
    Change, ChangedFact, ERROR_RATE, Gate, History, HistoryError, MetricHistory, NotTested, Options, Place, Point,
    Segment, Since, Slower,
};
pub use run::{KeptError, NotAdded, Run, add, in_order};
