//! Results read back, analysed and drawn.

mod fake;
mod html;
mod reading_files;
