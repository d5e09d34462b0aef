//! Converts fields that earlier versions of this program wrote differently.

use serde::{Deserialize, Deserializer};

/// Why a trial failed, or what disturbed it. Earlier versions added a sentence to the reason of a disturbed trial that
/// counts; it is removed, because the outcome contains this.
pub(crate) fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(|reason| alone(&reason).to_owned()))
}

fn alone(reason: &str) -> &str {
    let Some(rest) = reason.strip_prefix("counted although disturbed, ") else { return reason };
    let without = || Some(rest.split_once(" repeats were disturbed too; ")?.1);
    rest.strip_prefix("for no attempt is left: ").or_else(without).unwrap_or(reason)
}

/// A value that earlier versions wrote as text.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Written<T> {
    Now(T),
    Earlier(String),
}

/// Metric and milliseconds of an SLO, which earlier versions wrote as in a study: `latency_ms_p99 <= 5`.
pub(crate) fn slo(text: &str) -> Option<(String, f64)> {
    let (metric, limit_ms) = text.split_once(" <= ")?;
    Some((metric.to_owned(), limit_ms.parse().ok()?))
}

/// Number and name of a process that outlived its server, which earlier versions described: `process 123 (name)`.
/// Another description has the number 0.
pub(crate) fn process(text: String) -> (i32, String) {
    let found = text.strip_prefix("process ").and_then(|rest| rest.strip_suffix(')')?.split_once(" ("));
    let found = found.and_then(|(pid, name)| Some((pid.parse().ok()?, name.to_owned())));
    found.unwrap_or((0, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_disturbed_a_trial_is_read_without_that_it_counts() {
        for (written, read) in [
            ("counted although disturbed, for no attempt is left: sample 0: cc1 took 76%", "sample 0: cc1 took 76%"),
            (
                "counted although disturbed, as attempt 1 measured it: the last 5 repeats were disturbed too; cc1: 76%",
                "cc1: 76%",
            ),
            ("sample 0: cc1 took 76%", "sample 0: cc1 took 76%"),
            ("counted although disturbed, in a way of its own", "counted although disturbed, in a way of its own"),
        ] {
            assert_eq!(alone(written), read);
        }
    }
}
