//! The options that a server program knows, as the program itself lists them.

use super::arguments::variable_name;
use super::kind::Kind;
use crate::EngineError;
use std::collections::BTreeSet;
use std::path::Path;

/// Whether the program knows the option. An unknown `loose-` option is ignored, so these count as known.
pub(crate) fn knows(kind: &Kind, option: &str, explicit: Option<&Path>) -> Result<bool, EngineError> {
    if is_loose(option) {
        return Ok(true);
    }
    let known = all(kind, explicit)?;
    Ok(is_among(&known, option, |known, name| known.contains(name)))
}

/// The options of a file that the program does not know. A prefix of an option's name counts as known.
pub(crate) fn unknown(kind: &Kind, options: &[&str], program: &Path) -> Result<Vec<String>, EngineError> {
    let known = all(kind, Some(program))?;
    let begins = |known: &BTreeSet<String>, name: &str| known.iter().any(|option| option.starts_with(name));
    let unknown = options.iter().filter(|option| !is_loose(option) && !is_among(&known, option, begins));
    Ok(unknown.map(|option| (*option).to_owned()).collect())
}

fn is_loose(option: &str) -> bool {
    option.trim_start_matches('-').starts_with("loose")
}

pub(crate) fn all(kind: &Kind, explicit: Option<&Path>) -> Result<BTreeSet<String>, EngineError> {
    let binary = (kind.find)(explicit)?;
    Ok(names(&binary.ask(&["--no-defaults", "--verbose", "--help"])?))
}

/// A switch can have a prefix, such as `skip_` or `enable_`.
fn is_among(known: &BTreeSet<String>, option: &str, has: impl Fn(&BTreeSet<String>, &str) -> bool) -> bool {
    let name = variable_name(option.trim_start_matches('-'));
    let plain = ["skip_", "disable_", "enable_", "maximum_"].iter().find_map(|word| name.strip_prefix(word));
    has(known, &name) || plain.is_some_and(|plain| has(known, plain))
}

/// The names in the output of `--verbose --help`: options as `  --name=#`, then a table of variables.
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
        let requested = ["key_buffer", "cache_size", "loose_anything", "skip_networking", "innodb_nothing"];
        let program = (crate::mariadb::own::KIND.find)(None).unwrap().path;
        let unknown = unknown(&crate::mariadb::own::KIND, &requested, &program).unwrap();
        assert_eq!(unknown, ["cache_size", "innodb_nothing"]);
    }
}
