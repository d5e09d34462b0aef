//! What is shipped: commands that the docs show, pages of reference, packages, completions.

mod ci;
mod documented;
mod documents;
mod housekeeping;
mod package;
mod reference;
mod shell;
