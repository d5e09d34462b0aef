//! The server's own counters as differences, and its storage engine's report.

use super::place::{Captured, Place};
use std::collections::BTreeMap;
use tare_engine::{Diagnostics, Unavailable};
use tare_results::captures::{STATUS, StatusFile};
use tare_results::schema::SCHEMA;

pub(super) struct Status {
    before: Result<BTreeMap<String, f64>, Unavailable>,
}

impl Status {
    pub fn begin(diagnostics: &mut dyn Diagnostics) -> Self {
        Self { before: diagnostics.counters() }
    }

    pub fn end(self, diagnostics: &mut dyn Diagnostics, elapsed_s: f64, place: &Place, captured: &mut Captured) {
        match self.before.and_then(|before| Ok((before, diagnostics.counters()?))) {
            Ok((before, after)) => {
                let differences = differences(&before, &after);
                place.write_json(
                    captured,
                    STATUS,
                    "status.json",
                    &StatusFile { schema: SCHEMA, elapsed_s, differences },
                );
            }
            Err(e) => drop(captured.missing.insert(STATUS.to_owned(), e.to_string())),
        }
        match diagnostics.report() {
            Ok((name, text)) => place.write(captured, &format!("{STATUS}.report"), name, text.as_bytes()),
            Err(e) => drop(captured.missing.insert(format!("{STATUS}.report"), e.to_string())),
        }
    }
}

fn differences(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let changed = |(name, value): (&String, &f64)| {
        let difference = value - before.get(name)?;
        (difference != 0.0).then(|| (name.clone(), difference))
    };
    after.iter().filter_map(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told() {
        let map = |values: &[(&str, f64)]| values.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        let found =
            differences(&map(&[("a", 1.0), ("b", 2.0), ("c", 9.0)]), &map(&[("a", 5.0), ("b", 2.0), ("d", 3.0)]));
        assert_eq!(found, map(&[("a", 4.0)]));
    }
}
