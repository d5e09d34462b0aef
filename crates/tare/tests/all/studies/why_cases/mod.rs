//! `benches/why`: known causes, comparisons of equal sides, the unexplained part, and the cost of recording.

mod bench;
mod cases;
mod made;
mod rows;
