//! Results read back, analysed and drawn.

mod fake;
mod reading_files;
