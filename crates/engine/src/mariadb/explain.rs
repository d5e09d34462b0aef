//! Finds the reason of a failed start in the server's log.

use super::arguments::variable_name;
use crate::EngineError;
use std::path::Path;

pub(crate) fn explain(engine: &'static str, log: &str, data: &Path, expected: &str) -> Option<EngineError> {
    log.lines().find_map(|line| refused_option(engine, line).or_else(|| full_disk(line, data))).or_else(|| {
        let foreign = log.lines().find(|line| is_foreign(line))?;
        let (directory, expected) = (data.to_owned(), expected.to_owned());
        Some(EngineError::OtherVersion {
            directory,
            found: format!("another version ({})", message(foreign)),
            expected,
        })
    })
}

/// A line about an option that the server does not know, cannot parse, or changed to another value.
pub(super) fn refused_option(engine: &'static str, line: &str) -> Option<EngineError> {
    let text = message(line);
    let lower = text.to_lowercase();
    // For `loose-` options the server only warns, which is what the caller chose.
    let about = ["unknown variable '", "unknown option '", "ambiguous option '"].iter().find_map(|start| {
        let at = lower.find(start)?;
        (!lower.contains("[warning]") && !lower.contains("loose")).then(|| &text[at + start.len()..])
    });
    let adjusted = || {
        let at = lower.find("option '")?;
        let bad =
            lower.contains("adjusted to") || lower.contains("unknown suffix") || lower.contains("unsupported value");
        bad.then(|| &text[at + "option '".len()..])
    };
    let wrong_value = || {
        let at = lower.find("while setting value '")?;
        let (_, rest) = text[at..].split_once(" to '")?;
        Some(rest)
    };
    let quoted = about.or_else(adjusted).or_else(wrong_value)?;
    let name = variable_name(quoted.split(['\'', '=']).next()?);
    Some(EngineError::OptionRefused { engine, option: name, reason: text.to_owned() })
}

fn full_disk(line: &str, data: &Path) -> Option<EngineError> {
    let full = ["no space left on device", "errcode: 28", "error number 28", "error 28", "disk is full", "disk full"];
    let lower = line.to_lowercase();
    let detail = message(line).to_owned();
    full.iter().any(|words| lower.contains(words)).then(|| EngineError::DiskFull { place: data.to_owned(), detail })
}

fn is_foreign(line: &str) -> bool {
    let lower = line.to_lowercase();
    [
        "unsupported redo log format",
        "unsupported undo log",
        "upgrade after a crash is not supported",
        "was created with",
        "invalid flags 0x",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

/// A log line without its date, time and thread number.
fn message(line: &str) -> &str {
    line.find('[').map_or(line, |at| &line[at..]).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<EngineError> {
        explain("mariadb", log, Path::new("/data"), "10.11")
    }

    #[test]
    fn log_lines_become_typed_errors() {
        let unknown = "2026-01-01 10:00:00 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'innodb_bufer_pool=1'\n[ERROR] Aborting";
        assert!(
            matches!(of(unknown), Some(EngineError::OptionRefused { option, .. }) if option == "innodb_bufer_pool")
        );
        let adjusted = "2026-01-01 10:00:00 0 [Warning] option 'table_open_cache': unsigned value 1 adjusted to 10";
        assert!(
            matches!(of(adjusted), Some(EngineError::OptionRefused { option, .. }) if option == "table_open_cache")
        );
        let value = "2026-01-01 10:00:00 0 [ERROR] mariadbd: Error while setting value 'x' to 'innodb-flush-method'";
        assert!(
            matches!(of(value), Some(EngineError::OptionRefused { option, .. }) if option == "innodb_flush_method")
        );
        let full = "2026-01-01 10:00:00 0 [ERROR] mariadbd: Disk is full writing './x' (Errcode: 28 \"No space left on device\")";
        assert!(matches!(of(full), Some(EngineError::DiskFull { .. })));
        let newer =
            "2026-01-01 10:00:00 0 [ERROR] InnoDB: Unsupported redo log format. The redo log was created with MySQL 8";
        assert!(matches!(of(newer), Some(EngineError::OtherVersion { .. })));
        assert!(of("2026-01-01 10:00:00 0 [Note] InnoDB: 128 rollback segments are active.").is_none());
        assert!(of("2026-01-01 10:00:00 0 [Warning] mariadbd: unknown variable 'loose-x=1'").is_none());
    }
}
