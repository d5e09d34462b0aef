//! A thread that the system refuses is an error: what the standard library starts without a builder panics then.

use super::prose::is_test;
use crate::{Finding, Tree};
use syn::{Expr, ExprCall, ExprMethodCall, ImplItemFn, ItemFn, ItemMod, visit::Visit};

/// Finds threads outside of tests that are started by `thread::spawn` or by a scope's own `spawn`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    // A benchmark has no one to tell.
    for file in tree.rust().filter(|file| !file.is_test() && !file.path.contains("/benches/")) {
        let mut spawns = Spawns::default();
        file.syntax.iter().for_each(|syntax| spawns.visit_file(syntax));
        found.extend(spawns.0.into_iter().map(|line| {
            let message = "it panics where the system starts no thread: use thread::Builder, whose spawn and \
                           spawn_scoped return the error";
            Finding::new(&file.path, line, message.to_owned())
        }));
    }
    found
}

/// Lines of such calls outside of tests.
#[derive(Default)]
struct Spawns(Vec<usize>);

/// The last parts of a path.
fn last(expression: &Expr) -> Vec<String> {
    match expression {
        Expr::Path(path) => path.path.segments.iter().rev().take(2).map(|part| part.ident.to_string()).collect(),
        _ => Vec::new(),
    }
}

impl<'ast> Visit<'ast> for Spawns {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            syn::visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if last(&call.func) == ["spawn", "thread"]
            && let Expr::Path(path) = call.func.as_ref()
            && let Some(name) = path.path.segments.last()
        {
            self.0.push(name.ident.span().start().line);
        }
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        if call.method == "spawn" && last(&call.receiver) == ["scope"] {
            self.0.push(call.method.span().start().line);
        }
        syn::visit::visit_expr_method_call(self, call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_panics_when_it_is_refused_is_found_and_one_of_a_builder_or_a_test_is_not() {
        let source = r#"
            fn starts(command: &mut Command) {
                std::thread::spawn(|| ());
                thread::scope(|scope| {
                    scope.spawn(|| ());
                    thread::Builder::new().spawn_scoped(scope, || ())
                });
                let _ = (thread::Builder::new().spawn(|| ()), command.spawn());
            }
            #[cfg(test)]
            mod tests {
                fn starts() {
                    std::thread::spawn(|| ());
                }
            }
        "#;
        let tree = Tree::of(&[("crates/a/src/a.rs", source), ("crates/a/tests/all/b.rs", source)]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("crates/a/src/a.rs".to_owned(), 3), ("crates/a/src/a.rs".to_owned(), 5)]);
    }
}
