//! The number that a linker gives every build of a program.

use std::fs::File;
use std::path::Path;

use object::{Object, ReadCache};

/// The GNU build id of a program, in hexadecimal digits; none for scripts, and where the linker gave none.
pub(super) fn build_id(program: &Path) -> Option<String> {
    // Only the parts that are asked for are read: a server with debug information has hundreds of megabytes.
    let file = ReadCache::new(File::open(program).ok()?);
    let parsed = object::File::parse(&file).ok()?;
    let id = parsed.build_id().ok()??;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_one_and_a_script_has_none() {
        let id = build_id(Path::new("/usr/sbin/mariadbd")).unwrap();
        assert!(id.len() >= 16 && id.chars().all(|c| c.is_ascii_hexdigit()), "{id}");
        assert_eq!(build_id(Path::new("/usr/bin/mariadb-install-db")), None);
        assert_eq!(build_id(Path::new("/nonexistent")), None);
    }
}
