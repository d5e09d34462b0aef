//! Sentences on a comparison.

use tare_findings::compare::Note;
use tare_findings::probes::Refusal;

/// Both sides are the same thing, by the SHA-1 of their server programs.
pub fn identical(programs: &[String]) -> String {
    let digits: Vec<&str> = programs.iter().map(|sha1| sha1.get(..12).unwrap_or(sha1)).collect();
    format!(
        "A and B are the same thing: the same server program (SHA-1 {}), settings and data. What differs below is the \
         machine's, or chance.",
        digits.join(", ")
    )
}

/// What to know before believing it, one sentence each.
pub fn notes(notes: &[Note]) -> Vec<String> {
    notes.iter().map(note).collect()
}

/// A note as a sentence without its full stop.
pub fn note(note: &Note) -> String {
    match note {
        Note::Identical { side, first } => format!("{side} is the same program, settings and data as {first}"),
        Note::OnlyIn { condition, side } => format!("{condition} is only in {side} and is not compared"),
        Note::Refused(why) => refusal(why),
        Note::Unprobed(probe) => {
            format!("not adjusted by the probe {}: that takes 4 trials a side, each with a reading", probe.word())
        }
        Note::Disturbed { side, condition, trials, of } => format!(
            "{side}, {condition}: {trials} of {of} trials were disturbed and count all the same, for no attempt was \
             left; a verdict that would be another one without them is inconclusive"
        ),
        Note::NotCompared { side, condition, failed, put_aside } => {
            format!("{side}, {condition}: {failed} failed and {put_aside} disturbed and put aside, not compared")
        }
        Note::Modes { side, condition, metric, modes } => {
            format!("{side}, {condition}: {metric} has {modes} modes; a ratio of means describes no trial of it")
        }
        Note::SingleTrial => "a side with a single trial has no interval: nothing can be concluded from it".to_owned(),
        Note::Drifted { widest } => format!(
            "trials resemble the ones before them within a run, and the runs came one after the other: intervals are up \
             to {widest:.1} times as wide as independent trials would make them; run both in one study, block by block, \
             to be rid of it"
        ),
    }
}

/// Why a probe adjusts nothing.
pub(super) fn refusal(why: &Refusal) -> String {
    let more = match why.more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!(
        "nothing is adjusted by the probe {}: what differs can move it ({}{more}), and a control that the treatment \
         moves ruins the comparison",
        why.probe.word(),
        why.first
    )
}
