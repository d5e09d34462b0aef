//! Sentences on what disturbed a run, by program.

use crate::figures::figure;
use tare_findings::collect::is_usable;
use tare_findings::compare::DisturbedSide;
use tare_findings::state::{self, Failure, State};
use tare_results::disturbed::{Disturbing, by_program};
use tare_results::metric;
use tare_results::schema::TrialRecord;
use tare_results::{Results, Source};
use tare_text::{count, percent, was};

/// Why a trial failed.
pub(crate) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Recorded(reason) => reason.clone(),
        Failure::NotANumber { metric, sample } => format!("{metric} of sample {sample} is not a number"),
        Failure::Nothing { metric, sample, value } => {
            let value = figure(*value, metric::describe(metric).unit);
            format!("{metric} of sample {sample} is {value}: nothing was done")
        }
    }
}

/// Up to this many disturbed attempts are listed individually.
const FEW: usize = 2;
const PROGRAMS: usize = 4;

/// How many trials were disturbed, then one line per program; `None` if the attempts are listed individually.
pub(super) fn in_short(results: &Results) -> Option<Vec<String>> {
    let disturbed: Vec<&TrialRecord> =
        results.trials.iter().filter(|trial| matches!(state::of(trial), State::Disturbed(_))).collect();
    if disturbed.len() <= FEW {
        return None;
    }
    let counted = disturbed.iter().filter(|trial| is_usable(trial)).count();
    let usable = results.trials.iter().filter(|trial| is_usable(trial)).count();
    let counted_words = match counted {
        0 if usable == 0 => "no trial counts".to_owned(),
        0 => "no trial that counts was disturbed".to_owned(),
        _ => format!("{counted} of {} {} disturbed in every attempt", count(usable, "trial"), was(counted)),
    };
    let aside = match disturbed.len() - counted {
        0 => String::new(),
        n => format!("; {} set aside", if n == 1 { "1 attempt was".into() } else { format!("{n} attempts were") }),
    };
    let head = format!("{counted_words}{aside}; {}", each(&results.path.display().to_string()));
    let programs = by_program(disturbed.iter().map(|trial| &trial.disturbed_by));
    let line = |by: &Disturbing<'_>| took(by.program, by.cpus, by.attempts, disturbed.len());
    let others = (programs.len() > PROGRAMS)
        .then(|| format!("{} took less, or in fewer attempts", count(programs.len() - PROGRAMS, "other program")));
    // Time of the hypervisor, swapping, a suspension, short-lived processes; and records of older versions.
    let unnamed = disturbed.iter().filter(|trial| trial.disturbed_by.is_empty());
    let first = unnamed.clone().next().map(|trial| {
        let reason = trial.reason.as_deref().unwrap_or_default();
        // A CSV file has the reason alone, which may name programs.
        let without = if results.source == Source::Csv { "" } else { " without a program" };
        format!("{}{without}, as in trial {}: {reason}", count(unnamed.count(), "disturbed attempt"), trial.trial)
    });
    let named = programs.iter().take(PROGRAMS).map(line);
    Some(std::iter::once(head).chain(named).chain(others).chain(first).collect())
}

/// How to list disturbed attempts individually.
fn each(results: &str) -> String {
    format!("each by itself: tare show {} --all", tare_text::quoted(results))
}

fn took(program: &str, cpus: f64, attempts: usize, of: usize) -> String {
    format!("{program} took up to {} of a CPU in {attempts} of {}", percent(cpus), count(of, "disturbed attempt"))
}

/// The disturbed attempts of one side of a comparison, in one line.
pub(super) fn of_side(side: &str, found: &DisturbedSide) -> String {
    let DisturbedSide { results, counted, of, set_aside, program } = found;
    let counts = match (*counted, *set_aside) {
        (0, aside) => format!("{} {} disturbed and set aside", count(aside, "attempt"), was(aside)),
        (counted, 0) => format!("{counted} of {} {} disturbed and counted", count(*of, "trial"), was(counted)),
        (counted, aside) => format!(
            "{counted} of {} {} disturbed and counted, {} set aside",
            count(*of, "trial"),
            was(counted),
            count(aside, "attempt")
        ),
    };
    let program = program.as_ref().map(|most| {
        let others = match most.others {
            0 => String::new(),
            others => format!(", {} less", count(others, "other program")),
        };
        took(&most.program, most.cpus, most.attempts, counted + set_aside) + &others
    });
    let list = Some(each(results)).filter(|_| !results.is_empty());
    let parts: Vec<String> = [Some(counts), program, list].into_iter().flatten().collect();
    format!("{side}: {}", parts.join("; "))
}
