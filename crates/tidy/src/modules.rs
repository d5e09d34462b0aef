//! The modules of a crate as the compiler sees them, to find the file that defines what a path names, and the paths in
//! a piece of Rust source, including those inside macros.

use crate::Tree;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::{Attribute, Item, Meta, UseTree, Visibility};

/// A module: a file, or an inline module in one.
#[derive(Debug)]
pub(crate) struct Module {
    /// The file that contains it, relative to the top of the tree.
    pub file: String,
    parent: Option<usize>,
    children: Vec<(String, usize)>,
    /// Names that `use` imports, with the paths they stand for.
    imported: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Every path in the module's own lines, with its line number.
    pub used: Vec<(usize, Vec<String>)>,
}

/// All modules of one crate, without test modules; the root is the first.
#[derive(Debug, Default)]
pub(crate) struct Modules(pub Vec<Module>);

/// What a path names.
#[derive(Debug, Clone, Copy)]
enum End {
    Module(usize),
    /// An item of this module.
    Item(usize),
}

/// Limit on following aliases of aliases; deeper ones are cycles.
const DEPTH_MAX: usize = 16;

impl Modules {
    /// The modules of the crate with the root file `root`, such as `crates/load/src/lib.rs`.
    pub fn of(tree: &Tree, root: &str) -> Self {
        let mut modules = Self::default();
        modules.add_file(tree, root, None);
        modules
    }

    fn add_file(&mut self, tree: &Tree, path: &str, parent: Option<usize>) -> Option<usize> {
        let syntax = tree.get(path)?.syntax.as_ref()?;
        Some(self.add(tree, path, &syntax.items, parent))
    }

    fn add(&mut self, tree: &Tree, file: &str, items: &[Item], parent: Option<usize>) -> usize {
        let id = self.0.len();
        self.0.push(Module {
            file: file.into(),
            parent,
            children: Vec::new(),
            imported: HashMap::new(),
            globs: Vec::new(),
            used: Vec::new(),
        });
        for item in items.iter().filter(|item| !of_tests(attributes(item))) {
            match item {
                Item::Mod(module) => {
                    let child = match &module.content {
                        Some((_, items)) => Some(self.add(tree, file, items, Some(id))),
                        None => self.add_file(tree, &path_of_module(tree, file, module), Some(id)),
                    };
                    self.0[id].children.extend(child.map(|child| (module.ident.to_string(), child)));
                }
                Item::Use(item) => self.add_use(id, item),
                other => self.0[id].used.extend(paths(other)),
            }
        }
        id
    }

    fn add_use(&mut self, id: usize, item: &syn::ItemUse) {
        // A mod.rs or lib.rs re-exports items of its files, which does not count as a use of them.
        let file = &self.0[id].file;
        let shows =
            !matches!(item.vis, Visibility::Inherited) && (file.ends_with("/mod.rs") || file.ends_with("/lib.rs"));
        for leaf in leaves(&item.tree) {
            match leaf.name {
                Some(name) => _ = self.0[id].imported.insert(name, leaf.path.clone()),
                None => self.0[id].globs.push(leaf.path.clone()),
            }
            if !shows {
                self.0[id].used.push((leaf.line, leaf.path));
            }
        }
    }

    /// The file that defines what a path in a module names; none if that is in another crate.
    pub fn file_of(&self, module: usize, path: &[String]) -> Option<&str> {
        self.resolve(module, path, 0).map(|end| match end {
            End::Module(id) | End::Item(id) => self.0[id].file.as_str(),
        })
    }

    fn resolve(&self, module: usize, path: &[String], depth: usize) -> Option<End> {
        let (first, mut rest) = path.split_first()?;
        if depth > DEPTH_MAX {
            return None;
        }
        let mut here = match first.as_str() {
            "crate" => 0,
            "self" => module,
            "super" => self.0[module].parent?,
            name => match self.named(module, name, depth)? {
                End::Module(id) => id,
                item => return Some(item),
            },
        };
        while let Some((name, after)) = rest.split_first() {
            rest = after;
            here = match name.as_str() {
                "super" => self.0[here].parent?,
                name => match self.named(here, name, depth) {
                    Some(End::Module(id)) => id,
                    Some(item) => return Some(item),
                    None => return Some(End::Item(here)),
                },
            };
        }
        Some(End::Module(here))
    }

    /// What a name means in a module, unless the module itself defines it as something other than a module.
    fn named(&self, module: usize, name: &str, depth: usize) -> Option<End> {
        let here = &self.0[module];
        if let Some((_, child)) = here.children.iter().find(|(child, _)| child == name) {
            return Some(End::Module(*child));
        }
        if let Some(path) = here.imported.get(name) {
            return self.resolve(module, path, depth + 1);
        }
        here.globs.iter().find_map(|glob| match self.resolve(module, glob, depth + 1)? {
            End::Module(id) if id != module => self.named(id, name, depth + 1),
            _ => None,
        })
    }
}

/// The file of `mod x;`: next to a mod.rs or lib.rs, otherwise in the folder with the file's name.
fn path_of_module(tree: &Tree, file: &str, module: &syn::ItemMod) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    if let Some(path) = path_attribute(&module.attrs) {
        return format!("{folder}/{path}");
    }
    let is_folder = ["/mod.rs", "/lib.rs", "/main.rs"].iter().any(|name| file.ends_with(name));
    let folder = if is_folder { folder } else { file.trim_end_matches(".rs") };
    let flat = format!("{folder}/{}.rs", module.ident);
    if tree.get(&flat).is_some() { flat } else { format!("{folder}/{}/mod.rs", module.ident) }
}

/// One name that a `use` imports.
struct Leaf {
    /// None for `*`, which imports all names of the path.
    pub name: Option<String>,
    /// The path that the name stands for, or the path before `*`.
    pub path: Vec<String>,
    pub line: usize,
}

/// The names that a `use` imports.
fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(tree, &mut Vec::new(), &mut found);
    found
}

fn collect(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<Leaf>) {
    let line = tree.span().start().line;
    let with = |last: &syn::Ident| {
        let mut path = before.clone();
        // `a::{self}` is `a`.
        if last != "self" || path.is_empty() {
            path.push(last.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(part) => {
            before.push(part.ident.to_string());
            collect(&part.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) => {
            let path = with(&name.ident);
            found.push(Leaf { name: path.last().cloned(), path, line });
        }
        UseTree::Rename(as_) => {
            found.push(Leaf { name: Some(as_.rename.to_string()), path: with(&as_.ident), line });
        }
        UseTree::Glob(_) => found.push(Leaf { name: None, path: before.clone(), line }),
        UseTree::Group(group) => group.items.iter().for_each(|tree| collect(tree, before, found)),
    }
}

/// Every path of at least two parts in an item, with its line.
fn paths(item: &Item) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    scan(item.to_token_stream(), &mut found);
    found
}

fn scan(tokens: TokenStream, found: &mut Vec<(usize, Vec<String>)>) {
    let mut path: Vec<String> = Vec::new();
    let mut line = 0;
    let mut colons = 0;
    let mut end = |path: &mut Vec<String>, line| {
        if path.len() > 1 {
            found.push((line, std::mem::take(path)));
        }
        path.clear();
    };
    let mut inner = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(ident) => {
                if colons != 2 || path.is_empty() {
                    end(&mut path, line);
                    line = ident.span().start().line;
                }
                path.push(ident.to_string());
            }
            TokenTree::Group(group) => {
                end(&mut path, line);
                inner.push(group.stream());
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => end(&mut path, line),
        }
        colons = 0;
    }
    end(&mut path, line);
    for stream in inner {
        scan(stream, found);
    }
}

/// Whether an item with these attributes exists only in tests.
pub(crate) fn of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        Meta::Path(path) => path.is_ident("test"),
        _ => false,
    })
}

/// The file named by `#[path = "..."]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => {
            Some(pair.value.to_token_stream().to_string().trim_matches('"').to_string())
        }
        _ => None,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses_of(file: &str, tree: &Tree) -> Vec<String> {
        let modules = Modules::of(tree, "c/src/lib.rs");
        let mut found = Vec::new();
        for (id, module) in modules.0.iter().enumerate().filter(|(_, module)| module.file == file) {
            found.extend(module.used.iter().filter_map(|(_, path)| modules.file_of(id, path).map(String::from)));
        }
        found
    }

    #[test]
    fn a_path_leads_through_what_folders_show_to_the_file_that_defines_it() {
        let tree = Tree::of(&[
            ("c/src/lib.rs", "mod a; pub mod b;"),
            ("c/src/a.rs", "use crate::b::Deep; use super::b; fn f() { b::leaf::g(); crate::b::h(); other::x(); }"),
            ("c/src/b/mod.rs", "pub mod leaf; pub use leaf::Deep; mod all; pub use all::*;"),
            ("c/src/b/leaf.rs", "pub struct Deep; pub fn g() {}"),
            ("c/src/b/all.rs", "pub use super::leaf::g as h;"),
        ]);
        assert_eq!(
            uses_of("c/src/a.rs", &tree),
            ["c/src/b/leaf.rs", "c/src/b/mod.rs", "c/src/b/leaf.rs", "c/src/b/leaf.rs"]
        );
        assert!(uses_of("c/src/b/mod.rs", &tree).is_empty(), "showing is not using");
    }

    #[test]
    fn paths_in_macros_are_seen_and_those_of_tests_are_not() {
        let tree = Tree::of(&[
            ("c/src/lib.rs", "mod a; mod b;"),
            (
                "c/src/a.rs",
                "fn f() { println!(\"{}\", crate::b::X); } #[cfg(test)] mod tests { use crate::b::Y; }
                 mod inner { use super::super::b::Z; }",
            ),
            ("c/src/b.rs", ""),
        ]);
        assert_eq!(uses_of("c/src/a.rs", &tree), ["c/src/b.rs", "c/src/b.rs"]);
    }
}
