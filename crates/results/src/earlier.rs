//! Converts fields that earlier versions of this program wrote differently.

use super::schema::Outlived;
use super::search::Slo;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Why a trial failed, or what disturbed it. Earlier versions added a sentence to the reason of a disturbed trial that
/// counts; it is removed, because the outcome contains this.
pub fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(|reason| alone(&reason).to_owned()))
}

fn alone(reason: &str) -> &str {
    let Some(rest) = reason.strip_prefix("counted although disturbed, ") else { return reason };
    let without = || Some(rest.split_once(" repeats were disturbed too; ")?.1);
    rest.strip_prefix("for no attempt is left: ").or_else(without).unwrap_or(reason)
}

/// The limit of a search, which earlier versions wrote as in a study: `latency_ms_p99 <= 5`.
pub fn slo<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slo, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Slo(Slo),
        Text(String),
    }
    let of_text = |text: &str| {
        let (metric, limit) = text.split_once(" <= ")?;
        Some(Slo { metric: metric.to_owned(), limit_ms: limit.parse().ok()? })
    };
    match Written::deserialize(deserializer)? {
        Written::Slo(slo) => Ok(slo),
        Written::Text(text) => of_text(&text).ok_or_else(|| D::Error::custom("expected METRIC <= MILLISECONDS")),
    }
}

/// The processes that outlived a server, which earlier versions described: `process 123 (name)`.
pub fn outlived<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Outlived>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Process(Outlived),
        Text(String),
    }
    let of_text = |text: String| {
        let found = text.strip_prefix("process ").and_then(|rest| rest.strip_suffix(')')?.split_once(" ("));
        let found = found.and_then(|(pid, name)| Some((pid.parse().ok()?, name.to_owned())));
        let (pid, name) = found.unwrap_or((0, text));
        Outlived { pid, name }
    };
    let written = Vec::<Written>::deserialize(deserializer)?.into_iter();
    Ok(written
        .map(|one| match one {
            Written::Process(process) => process,
            Written::Text(text) => of_text(text),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_outlived_its_server_is_read_from_its_description() {
        let read = |text: &str| outlived(&mut serde_json::Deserializer::from_str(text)).unwrap();
        let process = |pid, name: &str| Outlived { pid, name: name.to_owned() };
        let text = r#"["process 12 (a (b) c)", {"pid": 7, "name": "sleep"}, "process x (y)"]"#;
        assert_eq!(read(text), [process(12, "a (b) c"), process(7, "sleep"), process(0, "process x (y)")]);
    }

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
