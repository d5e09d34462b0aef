//! The rules, one per file.

mod book;
mod circles;
mod comments;
mod directions;
mod docs;
mod folders;
mod leftovers;
mod length;
mod links;
mod manifests;
mod mutants;
mod opening;
mod proofs;
mod prose;
mod quotes;
mod test_names;
mod variables;

mod table;

pub use table::{RULES, Rule};
