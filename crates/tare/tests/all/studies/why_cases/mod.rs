//! `benches/why`: planted causes, comparisons of two alike, how much is not explained, and what recording costs.

mod bench;
mod cases;
mod made;
mod rows;
