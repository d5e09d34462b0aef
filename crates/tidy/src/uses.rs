//! The paths in a piece of Rust source, including those inside macros.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, Meta, UseTree, spanned::Spanned};

/// One name that a `use` imports.
pub(crate) struct Leaf {
    /// None for `*`, which imports all names of the path.
    pub name: Option<String>,
    /// The path that the name stands for, or the path before `*`.
    pub path: Vec<String>,
    pub line: usize,
}

/// The names that a `use` imports.
pub(crate) fn leaves(tree: &UseTree) -> Vec<Leaf> {
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
pub(crate) fn paths(item: &Item) -> Vec<(usize, Vec<String>)> {
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

/// Whether an item exists only in tests.
pub(crate) fn only_for_tests(item: &Item) -> bool {
    of_tests(attributes(item))
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
pub(crate) fn path_attribute(attributes: &[Attribute]) -> Option<String> {
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
