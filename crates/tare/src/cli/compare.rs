//! `tare compare`: is B faster than A, and is that real.

use super::{Exit, Problem};
use crate::analysis::compare::{self, CompareError, Gate, Options, Side};
use crate::report::terminal::{self, Style};
use clap::Args;
use std::path::Path;
use tare_results::Results;

/// Compare two results, or two conditions of results: ratio, interval, verdict
#[derive(Debug, Args)]
pub struct Compare {
    /// A, the baseline: a results directory, a CSV file, or either with `:condition`
    a: String,
    /// B, the candidate, written the same way; ratios are B/A
    b: String,
    /// Gate: exit 1 when B is slower by more than PCT percent, 5 when the trials cannot tell
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    fail_if_slower: Option<f64>,
    /// Smallest change of interest in percent; smaller ones count as equivalent
    #[arg(long, value_name = "PCT", default_value = "1", value_parser = percentage)]
    min_effect: f64,
    /// Metric that the gate judges, may be repeated; by default throughput and query times
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Compares the sides and prints ratios, intervals and verdicts; as a gate it chooses the exit code.
///
/// # Errors
/// [`Problem`] when the results cannot be read or do not match.
pub fn run(args: Compare) -> Result<Exit, Problem> {
    let (results_a, condition_a) = side(&args.a)?;
    let (results_b, condition_b) = side(&args.b)?;
    let options = Options { min_effect: args.min_effect, fail_if_slower: args.fail_if_slower, judged: args.metrics };
    let a = Side { results: &results_a, condition: condition_a.as_deref() };
    let b = Side { results: &results_b, condition: condition_b.as_deref() };
    let found = compare::compare(a, b, &options)?;
    if args.json {
        super::output::json(&found)?;
    } else {
        super::output::text(&terminal::comparison(&found, &options, Style::of_stdout()))?;
    }
    Ok(match found.gate {
        None | Some(Gate::Passed) => Exit::Done,
        Some(Gate::Failed) => Exit::GateFailed,
        Some(Gate::Inconclusive) => Exit::Inconclusive,
    })
}

/// Reads `RESULTS` or `RESULTS:condition`. A path that exists as a whole is a path, colons and all.
fn side(text: &str) -> Result<(Results, Option<String>), Problem> {
    if !Path::new(text).exists() {
        let split = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
        for (path, condition) in split {
            if !path.is_empty() && Path::new(path).exists() {
                return Ok((super::results_problem::open(Path::new(path))?, Some(condition.to_owned())));
            }
        }
    }
    Ok((super::results_problem::open(Path::new(text))?, None))
}

/// `5` or `5%` as a fraction.
fn percentage(text: &str) -> Result<f64, String> {
    let number =
        text.trim().trim_end_matches('%').parse::<f64>().map_err(|_| "expected a percentage such as 5".to_owned())?;
    if (0.0..=1000.0).contains(&number) {
        Ok(number / 100.0)
    } else {
        Err("expected a percentage from 0 to 1000".to_owned())
    }
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            CompareError::NoCondition { name, known } => nearest(problem, &name, &known),
            CompareError::NoSuchMetric { name, known } => nearest(problem, &name, &known),
            CompareError::NothingShared { a, b } => problem
                .at(format!("A has {}; B has {}", a.join(", "), b.join(", ")))
                .expected("conditions of the same name, or one condition a side")
                .advice("name one condition a side: tare compare A:CONDITION B:CONDITION"),
            CompareError::NoMetric => problem.expected("at least one usable trial of the same metric on each side"),
        }
    }
}

fn nearest(problem: Problem, name: &str, known: &[String]) -> Problem {
    let problem = problem.expected(format!("one of: {}", known.join(", ")));
    match tare_text::nearest(name, known.iter().map(String::as_str)) {
        Some(near) => problem.advice(format!("did you mean `{near}`?")),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_fractions_inside() {
        assert_eq!(percentage("5"), Ok(0.05));
        assert_eq!(percentage("2.5%"), Ok(0.025));
        for bad in ["", "x", "-1", "NaN", "inf", "5000"] {
            assert!(percentage(bad).is_err(), "{bad}");
        }
    }
}
