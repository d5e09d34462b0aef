//! A test is named after the property that it protects, so that a failure says what no longer holds.

use crate::{Finding, Tree};
use syn::{ItemFn, visit::Visit};

/// A single word such as `parses` only names the tested function; two can state a property, such as `counts_agree`.
const WORDS_MIN: usize = 2;

/// Finds tests with a name that is too short for that, or that begins with `test`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        let mut tests = Tests::default();
        file.syntax.iter().for_each(|syntax| tests.visit_file(syntax));
        for (line, name) in tests.0 {
            if name.split('_').count() < WORDS_MIN || name.starts_with("test_") {
                let message =
                    format!("{name}: name the test by what it protects, such as `a_dead_server_is_restarted`");
                found.push(Finding::new(&file.path, line, message));
            }
        }
    }
    found
}

/// Lines and names of test functions.
#[derive(Default)]
struct Tests(Vec<(usize, String)>);

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let has = |name| item.attrs.iter().any(|attribute| attribute.path().is_ident(name));
        // An ignored test may be the child process of another test.
        if has("test") && !has("ignore") {
            self.0.push((item.sig.ident.span().start().line, item.sig.ident.to_string()));
        }
        syn::visit::visit_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_is_named_by_what_it_calls_is_found() {
        let source =
            "#[test]\nfn parses() {}\n#[test]\nfn test_a_b_c() {}\n#[test]\nfn a_bad_line_is_named() {}\nfn f() {}";
        let found: Vec<_> = check(&Tree::of(&[("a.rs", source)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2, 4]);
    }
}
