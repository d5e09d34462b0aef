//! Parsers of the results that programs print.
//!
//! | file | holds |
//! | --- | --- |
//! | `parser` | the parsers that a study can name, and results found by a JSON pointer or a pattern |
//! | `report` | the reports and interval lines of sysbench and pgbench, and the common result type |

mod parser;
pub(crate) mod report;

pub use parser::Parser;
pub use report::{Interval, Logged, Report};
