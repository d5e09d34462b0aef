//! The rules, one per file, and their table.

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

use crate::{Finding, Tree};

/// A rule: a function that checks the whole tree and returns its findings.
pub type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule, with the name that its findings show.
pub const RULES: &[(&str, Rule)] = &[
    ("directions", directions::check),
    ("circles", circles::check),
    ("docs", docs::check),
    ("opening", opening::check),
    ("folders", folders::check),
    ("length", length::check),
    ("leftovers", leftovers::check),
    ("links", links::check),
    ("book", book::check),
    ("prose", prose::check),
    ("quotes", quotes::check),
    ("proofs", proofs::check),
    ("mutants", mutants::check),
    ("manifests", manifests::check),
    ("comments", comments::check),
    ("variables", variables::check),
    ("test names", test_names::check),
];
