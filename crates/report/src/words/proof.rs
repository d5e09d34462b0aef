//! Sentences on experiments that test suspects.

use super::suspects::suspect;
use tare_findings::figures::{change, changes_of, count, list, percent};
use tare_findings::why::{Change, Expected, Proof, ProofVerdict, Trial};

/// The changed settings, in the notation of a study.
pub fn changes(changes: &[Change]) -> String {
    let words = |change: &Change| format!("{}={}", change.key, change.shown());
    changes.iter().map(words).collect::<Vec<_>>().join(" ")
}

/// What an experiment will do, and which result confirms the suspect.
pub fn plan(trial: &Trial) -> String {
    let must = match trial.expected {
        Expected::Faster => format!("falls by {} or more", percent(trial.effect)),
        Expected::Unchanged => format!("does not fall by {}", percent(trial.effect)),
        Expected::Named => "names functions".to_owned(),
    };
    format!(
        "{}: {} with {}; the suspect is confirmed if the time per transaction {must}",
        suspect(&trial.suspect),
        trial.condition,
        changes(&trial.changes)
    )
}

pub fn outcome(proof: &Proof) -> String {
    let name = suspect(&proof.trial.suspect);
    let verdict = match proof.verdict {
        ProofVerdict::Stands => format!("{name}: confirmed"),
        ProofVerdict::Refuted => format!("{name}: ruled out"),
        ProofVerdict::Undecided => format!("{name}: undecided"),
    };
    let seen = match (proof.ratio, proof.ci) {
        (Some(ratio), Some(ci)) => format!(
            "the time per transaction changed by {} ({}) with {}",
            change(ratio - 1.0),
            changes_of(ci),
            changes(&proof.trial.changes)
        ),
        _ => format!("too few pairs of trials completed with {}", changes(&proof.trial.changes)),
    };
    format!("{verdict}: {seen}; {}", count(proof.pairs, "pair"))
}

pub fn answer(proofs: &[Proof]) -> String {
    let of = |verdict: ProofVerdict| -> Vec<String> {
        proofs.iter().filter(|proof| proof.verdict == verdict).map(|proof| suspect(&proof.trial.suspect)).collect()
    };
    let (stand, out) = (of(ProofVerdict::Stands), of(ProofVerdict::Refuted));
    match (stand.is_empty(), out.is_empty()) {
        (false, true) => format!("By experiment: {}.", list(&stand)),
        (false, false) => format!("By experiment: {}; not {}.", list(&stand), list(&out)),
        (true, false) => format!("By experiment it is not {}.", list(&out)),
        (true, true) => "No experiment was conclusive.".to_owned(),
    }
}
