//! What is shipped: commands that the docs show, pages of reference, packages, completions.

mod documented;
mod housekeeping;
mod package;
mod reference;
mod shell;
