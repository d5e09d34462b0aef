//! The 22 queries of TPC-H as DBT-3 runs them: one connection, one query many times, then the next.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings`, `scale`, `query_set` | the queries, their order, the size of the tables |
//! | `tables`, `rows` | the eight tables, and their rows as text |
//! | `fill` | creation of the tables in a server |
//! | `queries`, `queries.sql` | the texts of the queries |
//! | `answers`, `answers/`, `compare` | the expected answer of each query, and the comparison |
//! | `load` | the interface to the rest of the program |
//! | `runner`, `client` | a trial with the queries, and the thread that executes them |
//! | `preload` | reading all data once |

mod answers;
mod client;
mod compare;
mod error;
mod fill;
mod load;
mod preload;
mod queries;
mod query_set;
mod rows;
mod runner;
mod scale;
mod settings;
mod tables;

use super::SessionError;
pub(crate) use answers::RECIPE;
pub use answers::{Answer, check, write_section};
pub use compare::{AnswerRow, Difference, SIX_DECIMALS, compare};
pub use error::Dbt3Error;
pub use fill::{Fill, prepare};
pub use preload::{Preloaded, preload, set_up};
pub use queries::Query;
pub use query_set::QUERIES;
pub(crate) use query_set::{Order, QuerySet};
pub use rows::{Piece, generate};
pub use scale::Scale;
pub(crate) use settings::Dbt3Settings;
pub use tables::{Indexes, TABLES, Table};
