//! Comments of the code: the documentation of a public item says more than its name, every Rust file begins with a line
//! that describes its contents, and no comment line is repeated.

use crate::{Finding, Tree};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Visibility};

/// With fewer words, as in "Its rows." and "Runs it.", a comment says nothing.
const DOC_WORDS_MIN: usize = 4;

/// Finds doc comments of fewer than four words. The compiler finds missing ones.
pub fn check_docs(tree: &Tree) -> Vec<Finding> {
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
            && text.split_whitespace().count() < DOC_WORDS_MIN
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

/// Visits items of these kinds.
macro_rules! judged {
    ($($visit:ident $item:ident),*) => {
        $(fn $visit(&mut self, item: &'ast syn::$item) {
            self.judge(shown(&item.vis), &item.attrs);
        })*
    };
}

impl<'ast> Visit<'ast> for Short {
    judged!(
        visit_item_const ItemConst, visit_item_static ItemStatic, visit_item_type ItemType, visit_item_fn ItemFn,
        visit_item_enum ItemEnum, visit_impl_item_fn ImplItemFn, visit_impl_item_const ImplItemConst, visit_field Field
    );
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.judge(shown(&item.vis), &item.attrs);
        syn::visit::visit_item_struct(self, item);
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

/// An opening line with fewer words says nothing.
const OPENING_WORDS_MIN: usize = 3;

/// Finds files whose first line is not a `//!` line, or one that says nothing.
pub fn check_openings(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| {
            let first = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
            first.is_none_or(|words| words.split_whitespace().count() < OPENING_WORDS_MIN)
        })
        .map(|file| Finding::new(&file.path, 1, "open the file with a line `//! ...` that says what it holds"))
        .collect()
}

/// Finds comment lines that are equal to the line above.
pub fn check_repeated(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let marks: &[&str] = match file.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("rs") => &["//"],
            Some("md") => continue,
            _ => &["# "],
        };
        let mut before = "";
        for (number, line) in (1..).zip(file.text.lines().map(str::trim)) {
            let is_comment = marks.iter().any(|mark| line.starts_with(mark)) && line.contains(char::is_alphanumeric);
            if is_comment && line == before {
                found.push(Finding::new(&file.path, number, "the line above says the same"));
            }
            before = line;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

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
        let found: Vec<_> =
            check_docs(&Tree::of(&[("a.rs", source)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [1, 3, 9, 18, 21]);
    }

    #[test]
    fn a_file_without_its_opening_line_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! Adds two and two.\nfn f() {}"),
            ("b.rs", "fn f() {}"),
            ("c.rs", "\n//! Adds two and two."),
            ("d.rs", "//! Types."),
            ("e.md", "text"),
        ]);
        let found: Vec<_> = check_openings(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["b.rs", "c.rs", "d.rs"]);
    }

    #[test]
    fn a_comment_that_stands_twice_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "/// One.\n    /// One.\nfn f() {}\n// -\n// -\n// Two.\nlet x;\n// Two.\n"),
            ("b.toml", "# One.\n# One.\n"),
            ("c.md", "# One.\n# One.\n"),
        ]);
        assert_eq!(places(&check_repeated(&tree)), ["a.rs:2", "b.toml:2"]);
    }
}
