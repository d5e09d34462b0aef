//! Sentences on what disturbed a run, by program.

use tare_findings::collect::is_usable;
use tare_findings::figures::{count, percent};
use tare_findings::state::{self, State};
use tare_results::Results;
use tare_results::disturbed::{Disturbing, by_program};
use tare_results::schema::TrialRecord;

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
        0 => "no trial that counts was disturbed".to_owned(),
        _ => format!(
            "{counted} of {} that count were disturbed, as none of their attempts was clean",
            count(usable, "trial")
        ),
    };
    let aside = match disturbed.len() - counted {
        0 => String::new(),
        n => format!("; {} put aside", if n == 1 { "1 attempt was".into() } else { format!("{n} attempts were") }),
    };
    let results_path = tare_text::quoted(&results.path.display().to_string());
    let head = format!("{counted_words}{aside}; each by itself: tare show {results_path} --all");
    let programs = by_program(disturbed.iter().map(|trial| &trial.disturbed_by));
    let line = |by: &Disturbing<'_>| {
        format!(
            "{} took up to {} of a CPU in {} of {}",
            by.program,
            percent(by.cpus),
            by.attempts,
            count(disturbed.len(), "disturbed attempt")
        )
    };
    let others = (programs.len() > PROGRAMS)
        .then(|| format!("{} took less, or in fewer attempts", count(programs.len() - PROGRAMS, "other program")));
    // Disturbances without a known program, and those recorded before programs were.
    let unnamed = disturbed.iter().filter(|trial| trial.disturbed_by.is_empty());
    let first = unnamed.clone().next().map(|trial| {
        let reason = trial.reason.as_deref().unwrap_or_default();
        format!(
            "{} by an unknown program, like trial {}: {reason}",
            count(unnamed.count(), "disturbed attempt"),
            trial.trial
        )
    });
    let named = programs.iter().take(PROGRAMS).map(line);
    Some(std::iter::once(head).chain(named).chain(others).chain(first).collect())
}
