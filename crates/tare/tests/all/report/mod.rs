//! Results read back, analysed and drawn.

mod browser;
mod captures;
mod command_sentences;
mod commands;
mod distance;
mod export;
mod fake;
mod first_lines;
mod grid;
mod histories;
mod hostile_names;
mod html;
mod latencies;
mod numbers;
mod probed;
mod reading_files;
mod relative;
mod stability;
mod terminal;
mod why_sentences;
mod words;
