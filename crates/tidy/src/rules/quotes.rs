//! Code that a page quotes is in the file that it names: ```` ```rust path/of/file.rs ````.

use crate::{Finding, Tree};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Finds quoted lines that the named file does not contain, and files that do not exist.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for page in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut quote: Option<(usize, String, String)> = None;
        for (event, range) in Parser::new(&page.text).into_offset_iter() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    let line = page.text[..range.start].lines().count() + 1;
                    quote = info.split_once(' ').map(|(_, path)| (line, path.to_string(), String::new()));
                }
                Event::Text(text) => quote.iter_mut().for_each(|(.., code)| code.push_str(&text)),
                Event::End(TagEnd::CodeBlock) => {
                    let Some((line, path, code)) = quote.take() else { continue };
                    match tree.get(&path) {
                        None => found.push(Finding::new(&page.path, line, format!("there is no {path}"))),
                        Some(file) if file.text.contains(&code) => {}
                        Some(_) => {
                            let message = format!("this is no longer in {path}: update the quotation");
                            found.push(Finding::new(&page.path, line, message));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_no_longer_in_its_file_is_found() {
        let page = "```rust a.rs\nfn f() {}\n```\n\n```rust a.rs\nfn g() {}\n```\n\n```\nfn h() {}\n```\n\n\
                    ```rust b.rs\nx\n```\n";
        let tree = Tree::of(&[("a.md", page), ("a.rs", "struct A;\nfn f() {}\nfn i() {}\n")]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [5, 13]);
    }
}
