//! What is printed and asked before a run begins: what it will do, how long that takes, and whether the user wants it.

use super::output::{duration, note};
use super::{Exit, Problem, interrupt, plan_view};
use std::io::{IsTerminal, Write};
use tare_results::schema::Plan;
use tare_study::language::spec::Study;

/// A run that takes longer than this needs confirmation, seconds.
const LONG_S: f64 = 3600.0;

pub fn is_long(plan: &Plan) -> bool {
    plan.estimated_s > LONG_S
}

/// Prints on standard error what a run will do, how long it takes and what it needs.
pub fn announce(study: &Study, plan: &Plan) {
    let needs = plan_view::needs(plan).map_or(String::new(), |needs| format!("; needs {needs}"));
    note(&format!("{}{needs}", plan_view::first_line(study, plan)));
}

/// Asks on a terminal whether to begin a long run; without a terminal `--yes` is required. `shorter` names a way to a
/// first result in less time, if there is one. Returns false if the user declines.
pub fn is_wanted(plan: &Plan, yes: bool, shorter: Option<String>) -> Result<bool, Problem> {
    if yes || !is_long(plan) {
        return Ok(true);
    }
    let time = duration(plan.estimated_s);
    let shorter = shorter.map_or(String::new(), |shorter| format!("; shorter: {shorter}"));
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(Problem::new(
            Exit::Usage,
            format!("this takes about {time}, and standard input is not a terminal to ask on"),
        )
        .advice(format!("add --yes to start anyway{shorter}")));
    }
    let _ = write!(std::io::stderr(), "This takes about {time}{shorter}.\nStart? [y/N] ");
    let line = interrupt::awaited(|| {
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map(|_| line)
    });
    Ok(line.is_ok_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes")))
}
