//! No code decides by searching a sentence of this program: results are values, and become words last.

use crate::map::FOREIGN_PROSE;
use crate::modules::of_tests;
use crate::{Finding, Tree};
use syn::{Expr, ExprLit, ExprMethodCall, ImplItemFn, ItemFn, ItemMod, Lit, visit::Visit};

/// Methods that search a text.
const METHODS: &[&str] = &["contains", "starts_with", "ends_with", "strip_prefix", "strip_suffix", "split_once"];

/// Finds words that code outside tests searches for in texts, except where output of other programs is parsed.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        if FOREIGN_PROSE.iter().any(|foreign| is_below(&file.path, foreign.below)) {
            continue;
        }
        let mut looks = Looks::default();
        file.syntax.iter().for_each(|syntax| looks.visit_file(syntax));
        found.extend(looks.0.into_iter().map(|(line, method, text)| {
            let message = format!(
                ".{method}({text:?}) parses a sentence: decide from a value, or list the file in FOREIGN_PROSE of the \
                 map if another program wrote it"
            );
            Finding::new(&file.path, line, message)
        }));
    }
    found.extend(not_needed(tree));
    found
}

/// Entries of the list that search no text. Entries without a file are skipped, because the trees of tests are small.
fn not_needed(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for foreign in FOREIGN_PROSE {
        let mut files = tree.rust().filter(|file| is_below(&file.path, foreign.below)).peekable();
        if files.peek().is_none() {
            continue;
        }
        let mut looks = Looks::default();
        files.filter_map(|file| file.syntax.as_ref()).for_each(|syntax| looks.visit_file(syntax));
        if looks.0.is_empty() {
            let message = format!("it parses no text of {}: remove it from FOREIGN_PROSE", foreign.of);
            found.push(Finding::new(foreign.below, 1, message));
        }
    }
    found
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Lines, methods and texts of such calls outside tests.
#[derive(Default)]
struct Looks(Vec<(usize, String, String)>);

/// A blank and a word of at least two letters; ` -> ` is a format.
fn is_prose(text: &str) -> bool {
    text.contains(' ') && text.split(' ').any(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1)
}

impl<'ast> Visit<'ast> for Looks {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !of_tests(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !of_tests(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !of_tests(&item.attrs) {
            syn::visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        if METHODS.contains(&method.as_str())
            && let Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) = call.args.first()
            && is_prose(&text.value())
        {
            self.0.push((call.method.span().start().line, method, text.value()));
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn a_decision_from_a_sentence_is_found_and_one_from_a_format_or_a_foreign_text_is_not() {
        let source = r#"
            fn decides(text: &str) -> bool {
                text.starts_with("nothing is adjusted") || text.contains(" moved ")
            }
            fn parses(text: &str) -> bool {
                text.contains(" -> ") || text.contains('x') || text.starts_with("cpu") || text.contains(&other("a b"))
            }
            #[cfg(test)]
            mod tests {
                fn holds(text: &str) -> bool {
                    text.contains("nothing is adjusted")
                }
            }
        "#;
        let tree = Tree::of(&[("crates/a/src/a.rs", source), ("crates/a/tests/all/b.rs", source)]);
        assert_eq!(places(&check(&tree)), ["crates/a/src/a.rs:3"; 2]);
    }

    #[test]
    fn a_file_of_the_list_may_look_and_must() {
        let foreign = FOREIGN_PROSE.iter().map(|foreign| foreign.below).find(|below| below.ends_with(".rs")).unwrap();
        assert!(check(&Tree::of(&[(foreign, "fn f(t: &str) -> bool { t.contains(\"two words\") }")])).is_empty());
        assert_eq!(check(&Tree::of(&[(foreign, "fn f() {}")])).len(), 1);
    }
}
