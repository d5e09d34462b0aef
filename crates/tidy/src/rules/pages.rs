//! Pages agree with the code: quoted code is in the file that its block names, and the reference lists the environment
//! variables that change the behaviour of the program, which are part of its interface.

use crate::{Finding, Tree};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Finds quoted lines that the named file does not contain, and files that do not exist.
pub fn check_quotes(tree: &Tree) -> Vec<Finding> {
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

/// The page that documents them.
const PAGE: &str = "docs/reference.md";
/// Prefix of the names of this project's variables.
const PREFIX: &str = "\"TARE_";

/// Finds variables that a source file names and the reference does not document.
pub fn check_variables(tree: &Tree) -> Vec<Finding> {
    let page = tree.get(PAGE).map_or("", |page| page.text.as_str());
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| file.path.contains("/src/") && !file.path.starts_with("crates/tidy/")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (at, _) in line.match_indices(PREFIX) {
                let name: String = line[at + 1..].chars().take_while(|c| c.is_ascii_uppercase() || *c == '_').collect();
                if !page.contains(&format!("`{name}`")) {
                    found.push(Finding::new(&file.path, number, format!("{PAGE} does not explain {name}")));
                }
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
        let found: Vec<_> = check_quotes(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [5, 13]);
    }

    #[test]
    fn a_variable_that_the_reference_does_not_explain_is_found() {
        let tree = Tree::of(&[
            ("docs/reference.md", "`TARE_A`"),
            ("x/src/a.rs", "var(\"TARE_A\");\nvar(\"TARE_B\");"),
            ("x/tests/a.rs", "var(\"TARE_C\")"),
        ]);
        let found: Vec<_> = check_variables(&tree).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2]);
    }
}
