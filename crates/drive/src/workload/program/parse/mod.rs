//! Parsers of the results that programs print.
//!
//! | file | holds |
//! | --- | --- |
//! | `parser` | the parsers that a study can name |
//! | `own` | results found by a JSON pointer or a pattern |
//! | `sysbench`, `pgbench` | the reports and interval lines of these two |
//! | `report` | the common result type |

mod own;
mod parser;
pub mod pgbench;
mod report;
pub(crate) mod sysbench;

pub use parser::Parser;
pub use report::{Interval, Report};
