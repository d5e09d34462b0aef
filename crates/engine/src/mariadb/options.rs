//! Which options a server program knows, asked of the program itself.

use std::collections::BTreeSet;
use std::path::Path;

use super::arguments::variable_name;
use super::kind::Kind;
use crate::EngineError;

/// Whether the program knows the option. `loose-` options are ignored where they are not known, so all know them.
pub(crate) fn knows(kind: &Kind, option: &str, explicit: Option<&Path>) -> Result<bool, EngineError> {
    let bare = option.trim_start_matches('-');
    if bare.starts_with("loose") {
        return Ok(true);
    }
    let binary = (kind.find)(explicit)?;
    let known = names(&binary.ask(&["--no-defaults", "--verbose", "--help"])?);
    let name = variable_name(bare);
    // Every switch can be given as --skip-NAME.
    Ok(known.contains(&name) || name.strip_prefix("skip_").is_some_and(|switch| known.contains(switch)))
}

/// The names in what `--verbose --help` prints: options as `  --name=#`, then a table of variables.
fn names(help: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_table = false;
    for line in help.lines() {
        in_table |= line.starts_with("-----");
        let name = match line.trim_start().strip_prefix("--") {
            Some(option) if !in_table => option,
            None if in_table => line,
            _ => continue,
        };
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(name.len());
        if end > 0 {
            names.insert(variable_name(&name[..end]));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_variables_are_found() {
        let help = "  --innodb-adaptive-hash-index \n                      Enable it (enabled by default; --x)\n  \
                    --plugin-load-add=name \n  --parts[=#] \nVariables (--variable-name=value)\n\
                    and boolean options {FALSE|TRUE}   Value\n---------------- -----\nbulk-size    8\n\nTo see\n";
        let names = names(help);
        for name in ["innodb_adaptive_hash_index", "plugin_load_add", "parts", "bulk_size"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.contains("enable") && !names.contains("x"), "{names:?}");
    }

    #[test]
    fn the_installed_server_knows_its_own_options_and_no_others() {
        for name in ["innodb_adaptive_hash_index", "--innodb-old-blocks-time", "skip-log-bin", "loose_anything"] {
            assert!(knows(&crate::mariadb::own::KIND, name, None).unwrap(), "{name}");
        }
        assert!(!knows(&crate::mariadb::own::KIND, "cache_size", None).unwrap());
    }
}
