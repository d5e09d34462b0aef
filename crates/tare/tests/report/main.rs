//! Results read back, analysed and drawn.

mod commands;
mod fake;
mod html;
mod numbers;
mod reading_files;
mod terminal;
