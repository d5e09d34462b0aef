//! What is shipped: commands in the docs, reference pages, packages, completions.

mod ci;
mod documented;
mod documents;
mod housekeeping;
mod package;
mod reference;
mod shell;
