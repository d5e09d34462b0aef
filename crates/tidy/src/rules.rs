//! The rules, by what they check, and their table.

mod comments;
mod leftovers;
mod length;
mod links;
mod manifests;
mod pages;
mod prose;
mod safety;
mod structure;
mod test_names;

use crate::{Finding, Tree};

/// A rule: a function that checks the whole tree and returns its findings.
pub type Rule = fn(&Tree) -> Vec<Finding>;

/// Every rule, with the name that its findings show.
pub const RULES: &[(&str, Rule)] = &[
    ("directions", structure::check_directions),
    ("circles", structure::check_circles),
    ("docs", comments::check_docs),
    ("opening", comments::check_openings),
    ("folders", structure::check_folders),
    ("length", length::check),
    ("leftovers", leftovers::check),
    ("links", links::check_links),
    ("book", links::check_book),
    ("prose", prose::check),
    ("quotes", pages::check_quotes),
    ("proofs", safety::check_proofs),
    ("mutants", safety::check_mutants),
    ("manifests", manifests::check),
    ("comments", comments::check_repeated),
    ("variables", pages::check_variables),
    ("test names", test_names::check),
];
