//! The documentation of a public item says more than its name.

use crate::{Finding, Tree};
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Visibility, spanned::Spanned, visit::Visit};

/// With fewer words, as in "Its rows." and "Runs it.", a comment says nothing.
const WORDS_MIN: usize = 4;

/// Finds doc comments of fewer than four words. The compiler finds missing ones.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust() {
        let mut short = Short::default();
        file.syntax.iter().for_each(|syntax| short.visit_file(syntax));
        found.extend(short.0.into_iter().map(|(line, words)| {
            Finding::new(
                &file.path,
                line,
                format!("{words:?} only repeats the name: add the unit, the errors or the reason, or remove it"),
            )
        }));
    }
    found
}

/// Lines and texts of comments that are too short.
#[derive(Default)]
struct Short(Vec<(usize, String)>);

impl Short {
    fn judge(&mut self, shown: bool, attributes: &[Attribute]) {
        let mut line = None;
        let mut text = String::new();
        for attribute in attributes {
            if let Some(part) = doc(attribute) {
                // "# Errors" says when the item fails, not what it is.
                if part.trim_start().starts_with("# ") {
                    break;
                }
                line = line.or(Some(attribute.span().start().line));
                text.push_str(&part);
            }
        }
        if let Some(line) = line
            && shown
            && text.split_whitespace().count() < WORDS_MIN
        {
            self.0.push((line, text.trim().to_string()));
        }
    }
}

fn doc(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the item is visible outside its own module.
fn shown(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

impl<'ast> Visit<'ast> for Short {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.judge(shown(&field.vis), &field.attrs);
    }
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.judge(shown(&item.vis), &item.attrs);
        syn::visit::visit_item_struct(self, item);
    }
    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.judge(shown(&item.vis), &item.attrs);
    }
    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.judge(shown(&item.vis), &item.attrs);
        for part in &item.items {
            if let syn::TraitItem::Fn(method) = part {
                self.judge(shown(&item.vis), &method.attrs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_says_nothing_is_found_on_public_items_of_every_kind() {
        let source = "\
/// Its rows.
pub struct Table {
    /// How many.
    pub rows: u64,
    /// Why.
    why: String,
}
impl Table {
    /// Runs it.
    ///
    /// # Errors
    /// When it cannot be run to its end.
    pub fn run(&self) {}
    /// Runs every row of it once.
    pub fn run_all(&self) {}
}
pub trait Engine {
    /// Stops.
    fn stop(&self);
}
/// The limit.
pub(crate) const LIMIT: u8 = 1;
/// Hidden.
const HIDDEN: u8 = 1;
";
        let found: Vec<_> = check(&Tree::of(&[("a.rs", source)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [1, 3, 9, 18, 21]);
    }
}
