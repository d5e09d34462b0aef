//! This tree, held against every rule of tidiness.

use std::path::Path;
use tare_tidy::{Tree, judge, map::KNOWN, rules::RULES};

#[test]
fn the_tree_is_tidy() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&top).unwrap();
    assert!(tree.get("crates/tidy/src/lib.rs").is_some(), "this is not the tree: {}", top.display());
    let verdict = judge(&tree, RULES, KNOWN);
    for (rule, finding) in &verdict.known {
        println!("known, to be mended: {rule}: {finding}");
    }
    for (rule, finding) in &verdict.new {
        println!("{rule}: {finding}");
    }
    let (new, known) = (verdict.new.len(), verdict.known.len());
    println!("{new} findings; {known} known ones");
    assert!(new == 0, "{new} findings, listed above: repair them; crates/tidy/src/map.rs says what may use what");
}
