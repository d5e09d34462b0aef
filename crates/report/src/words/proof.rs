//! Sentences on experiments that test suspects.

use super::suspects::suspect;
use crate::figures::{change, changes_of};
use tare_findings::why::{Change, Expected, Proof, ProofVerdict, Trial};
use tare_text::{count, list, percent};

/// The changed settings, in the notation of a study.
pub(crate) fn changes(changes: &[Change]) -> String {
    let words = |change: &Change| format!("{}={}", change.key, change.shown());
    changes.iter().map(words).collect::<Vec<_>>().join(" ")
}

/// What an experiment will do, and which result confirms the suspect.
pub fn plan(trial: &Trial) -> String {
    let effect = percent(trial.effect);
    let result = match trial.expected {
        Expected::Faster => format!("confirmed if the time per transaction falls by {effect} or more"),
        Expected::Unchanged => format!("ruled out if the time per transaction falls by {effect} or more"),
        Expected::OwnPart => {
            format!(
                "confirmed if the time per transaction and the suspect's own waits fall by {effect}, and no others do"
            )
        }
        Expected::Named => "confirmed if it names functions".to_owned(),
    };
    format!(
        "{}: {} with {}; the suspect is {result}",
        suspect(&trial.suspect),
        trial.condition,
        changes(&trial.changes)
    )
}

pub(crate) fn outcome(proof: &Proof) -> String {
    let name = suspect(&proof.trial.suspect);
    let verdict = match proof.verdict {
        ProofVerdict::Stands => format!("{name}: confirmed"),
        ProofVerdict::Refuted => format!("{name}: ruled out"),
        ProofVerdict::NotRefuted => format!("{name}: not ruled out"),
        ProofVerdict::Undecided => format!("{name}: undecided"),
    };
    if let Some(problem) = &proof.problem {
        return format!("{verdict}: the experiment could not be completed: {problem}");
    }
    let seen = match (proof.ratio, proof.ci) {
        (Some(ratio), Some(ci)) => format!(
            "the time per transaction changed by {} ({}) with {}",
            change(ratio - 1.0),
            changes_of(ci),
            changes(&proof.trial.changes)
        ),
        _ => format!("too few pairs of trials completed with {}", changes(&proof.trial.changes)),
    };
    let waits = proof.waits.map_or_else(String::new, |waits| {
        let change = |us: f64| change(us / waits.of_us);
        format!(", the suspect's own waits by {} of it, others by {}", change(waits.own_us), change(waits.others_us))
    });
    format!("{verdict}: {seen}{waits}; {}", count(proof.pairs, "pair"))
}

pub(crate) fn answer(proofs: &[Proof]) -> String {
    let of = |verdict: ProofVerdict| -> Vec<String> {
        proofs.iter().filter(|proof| proof.verdict == verdict).map(|proof| suspect(&proof.trial.suspect)).collect()
    };
    let (stand, out) = (of(ProofVerdict::Stands), of(ProofVerdict::Refuted));
    let possible = of(ProofVerdict::NotRefuted);
    match (stand.is_empty(), out.is_empty()) {
        (false, true) => format!("By experiment: {}.", list(&stand)),
        (false, false) => format!("By experiment: {}; not {}.", list(&stand), list(&out)),
        (true, false) => format!("By experiment it is not {}.", list(&out)),
        (true, true) if !possible.is_empty() => format!("By experiment: {} not ruled out.", list(&possible)),
        (true, true) => "No experiment was conclusive.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_findings::why::Suspect;

    #[test]
    fn an_experiment_whose_result_has_other_reasons_too_confirms_nothing() {
        let trial = Trial {
            suspect: Suspect::GlobalLock("dict_sys".to_owned()),
            condition: "tables=1".to_owned(),
            changes: Vec::new(),
            expected: Expected::Unchanged,
            effect: 0.2,
        };
        assert!(
            plan(&trial).ends_with("ruled out if the time per transaction falls by 20% or more"),
            "{}",
            plan(&trial)
        );
        let proof = Proof { verdict: ProofVerdict::NotRefuted, problem: None, ..Proof::failed(trial, String::new()) };
        let said = outcome(&proof);
        assert!(said.starts_with("the lock dict_sys: not ruled out: "), "{said}");
        assert_eq!(answer(&[proof]), "By experiment: the lock dict_sys not ruled out.");
    }
}
