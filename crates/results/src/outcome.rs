//! How a trial ended.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Measured, and everything asked for was verified.
    Ok,
    /// No usable result; `reason` says why.
    Failed,
    /// Measured, but interfered with by the rules in the docs; kept, not analysed, run again.
    #[serde(alias = "contaminated")]
    Disturbed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_before_schema_3_have_the_older_name_of_an_outcome() {
        let read = |text: &str| serde_json::from_str::<Outcome>(text).unwrap();
        assert_eq!([read("\"contaminated\""), read("\"disturbed\"")], [Outcome::Disturbed; 2]);
        assert_eq!(serde_json::to_string(&Outcome::Disturbed).unwrap(), "\"disturbed\"");
    }
}
