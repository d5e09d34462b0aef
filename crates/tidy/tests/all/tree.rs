//! Checks this tree against every rule of tidiness.

use std::path::Path;
use tare_tidy::{Tree, rules::RULES};

#[test]
fn the_tree_is_tidy() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&top).unwrap();
    assert!(tree.get("crates/tidy/src/lib.rs").is_some(), "this is not the tree: {}", top.display());
    let mut count = 0;
    for (rule, check) in RULES {
        let mut found = check(&tree);
        found.sort();
        count += found.len();
        found.iter().for_each(|finding| println!("{rule}: {finding}"));
    }
    assert!(count == 0, "{count} findings, listed above: repair them; crates/tidy/src/map.rs says what may use what");
}
