//! Comparing an option's value as it was requested with the value that is read back.

use std::collections::BTreeMap;

/// Whether `found`, as the server prints it, is what `asked` means: numbers with K, M, G, T (powers of 1024), switches
/// in all spellings, lists as subsets ("a=on" in a longer list), else the same word in any case.
pub fn same_value(asked: &str, found: &str) -> bool {
    let (asked, found) = (asked.trim(), found.trim());
    if asked.eq_ignore_ascii_case(found) {
        return true;
    }
    if let (Some(asked), Some(found)) = (number(asked), number(found)) {
        return asked == found;
    }
    if let (Some(asked), Some(found)) = (switch(asked), switch(found)) {
        return asked == found;
    }
    let has = |item: &str| found.split(',').any(|have| have.trim().eq_ignore_ascii_case(item.trim()));
    asked.contains(['=', ',']) && asked.split(',').all(has)
}

/// The bytes that an option of this name, in any spelling, is set to; none where it is not among the options.
pub(crate) fn bytes_of(options: &BTreeMap<String, String>, name: &str) -> Option<u64> {
    let plain = |option: &str| option.trim_start_matches('-').replace('-', "_").to_lowercase();
    bytes(options.iter().rfind(|(option, _)| plain(option) == name)?.1)
}

/// A number of bytes as options are written: with K, M, G or T (powers of 1024), which PostgreSQL writes as kB, MB, GB.
pub fn bytes(text: &str) -> Option<u64> {
    number(text.trim().trim_end_matches('B')).map(|bytes| bytes as u64)
}

fn number(text: &str) -> Option<f64> {
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1u64 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        (at, 't' | 'T') => (&text[..at], 1 << 40),
        _ => (text, 1),
    };
    digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * unit as f64)
}

fn switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spellings_of_one_value_are_the_same_and_others_are_not() {
        for (asked, found) in [
            ("256M", "268435456"),
            ("1g", "1073741824"),
            ("0.5", "0.500000"),
            ("on", "1"),
            ("OFF", "0"),
            ("o_direct", "O_DIRECT"),
            ("mrr=on", "index_merge=on,mrr=on,firstmatch=off"),
        ] {
            assert!(same_value(asked, found), "{asked} {found}");
        }
        for (asked, found) in
            [("100M", "134217728"), ("on", "0"), ("mrr=on", "mrr=off"), ("WAL", "delete"), ("2", "ON")]
        {
            assert!(!same_value(asked, found), "{asked} {found}");
        }
    }
}
