//! Names of the counts of errors in the user's own statements: by class, and of a load with steps also by step.

const PREFIX: &str = "statement_errors_";
const IN_STEP: &str = "_in_";

/// The class of errors after which the same transaction is run again. Other classes are codes of the engine.
pub const RETRY: &str = "retry";

/// The covariate with the count of a class, of one step if it is named.
pub fn name(class: &str, step: Option<&str>) -> String {
    match step {
        Some(step) => format!("{PREFIX}{class}{IN_STEP}{step}"),
        None => format!("{PREFIX}{class}"),
    }
}

/// The class that a covariate counts, of errors that ended a transaction: `None` if it was run again, and for other
/// covariates.
pub fn ended_a_transaction(covariate: &str) -> Option<&str> {
    let class = covariate.strip_prefix(PREFIX)?;
    let class = class.split_once(IN_STEP).map_or(class, |(class, _)| class);
    (class != RETRY).then_some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_after_which_a_transaction_is_run_again_ended_none_in_no_step() {
        for step in [None, Some("fill_in_1")] {
            assert_eq!(ended_a_transaction(&name("23505", step)), Some("23505"));
            assert_eq!(ended_a_transaction(&name("no_code", step)), Some("no_code"));
            assert_eq!(ended_a_transaction(&name(RETRY, step)), None);
        }
        assert_eq!(ended_a_transaction("statement_rows_a"), None);
    }
}
