//! Results in the words of the programs that measured them.
//!
//! | file | holds |
//! | --- | --- |
//! | `parser` | what a study looks for in an output |
//! | `own` | what it finds by a JSON pointer or a pattern |
//! | `sysbench`, `pgbench` | the reports and interval lines of these two |
//! | `report` | what all of them give |

mod own;
mod parser;
pub mod pgbench;
mod report;
pub mod sysbench;

pub use parser::Parser;
pub use report::{Interval, Report};
