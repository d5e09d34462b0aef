//! A mod.rs declares the modules of its folder and contains no items.

use crate::{Finding, Tree};
use syn::{Item, spanned::Spanned};

/// Finds items in a mod.rs other than modules and `use`.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.name() == "mod.rs" && !file.is_test()) {
        let items = file.syntax.iter().flat_map(|syntax| &syntax.items);
        for item in items.filter(|item| !matches!(item, Item::Mod(_) | Item::Use(_))) {
            let line = item.span().start().line;
            found.push(Finding::new(&file.path, line, "a mod.rs has no items of its own: move this to its own file"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::places;

    #[test]
    fn an_item_in_a_folders_list_is_found() {
        let tree = Tree::of(&[
            ("c/src/a/mod.rs", "//! Things.\nmod b;\npub use b::B;\n\nconst X: u8 = 1;\n"),
            ("c/src/a/b.rs", "pub struct B;"),
            ("c/tests/common/mod.rs", "pub fn shared() {}"),
        ]);
        assert_eq!(places(&check(&tree)), ["c/src/a/mod.rs:5"]);
    }
}
