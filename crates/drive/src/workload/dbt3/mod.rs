//! The 22 queries of TPC-H as DBT-3 runs them: one connection, one query many times, then the next.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the queries, their order, the size of the tables |
//! | `tables` | the eight tables, and the scale factor |
//! | `fill` | the rows as text, and creation of the tables in a server |
//! | `queries`, `queries.sql` | the texts of the queries, and a subset of them |
//! | `answers`, `answers/`, `compare` | the expected answer of each query, and the comparison; errors |
//! | `load` | the interface to the rest of the program, and a trial with the queries |
//! | `client` | the thread that executes the queries; reading all data once |

mod answers;
mod client;
mod compare;
mod fill;
mod load;
mod queries;
mod settings;
mod tables;

use super::SessionError;

pub(crate) use answers::RECIPE;
pub use answers::{Answer, check, write_section};
pub use client::{Preloaded, preload, set_up};
pub use compare::{AnswerRow, Dbt3Error, Difference, SIX_DECIMALS, compare};
pub use fill::{Fill, Piece, generate, prepare};
pub(crate) use queries::{Order, QuerySet};
pub use queries::{QUERIES, Query};
pub(crate) use settings::Dbt3Settings;
pub use tables::{Indexes, Scale, TABLES, Table};
