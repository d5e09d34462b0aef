//! Results read back, analysed and drawn.

mod fake;
mod html;
mod numbers;
mod reading_files;
mod terminal;
