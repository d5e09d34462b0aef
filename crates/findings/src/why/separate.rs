//! Which experiments separate the suspects best: each next one is that whose result says most about the reason.

use super::model::Cause;
use super::prove::{Expected, Experiment};
use super::suspect::Suspect;

/// Probability that the reason is none of the suspects, before any experiment.
const NONE: f64 = 0.1;
/// Bits that are no information, and no difference between two results.
const NOTHING: f64 = 1e-9;
/// Keys of a load by which its clients meet on fewer or more rows, pages and tables.
const SPREAD: [&str; 5] =
    ["workload.rows", "workload.tables", "workload.distribution", "workload.warehouses", "workload.pgbench_scale"];

/// The `candidates` in the order of what their results say, best first; without those that say nothing after the ones
/// before, unless it is the first. Each of `suspects` is taken as the reason with a probability in proportion to its
/// time. An experiment divides them: under some of them the time falls, under the others it stays.
pub(super) fn best_first<'c>(suspects: &[&'c Cause], candidates: &[&'c Cause]) -> Vec<&'c Cause> {
    let whole: f64 = suspects.iter().map(|cause| cause.us.abs()).sum();
    let share = |cause: &&Cause| (1.0 - NONE) * cause.us.abs() / whole;
    let probabilities: Vec<f64> = suspects.iter().map(share).chain([NONE]).collect();
    let falls = |of: &Cause| -> Vec<bool> { suspects.iter().map(|under| falls(of, under)).chain([false]).collect() };
    let mut left: Vec<(&Cause, Vec<bool>)> = candidates.iter().map(|cause| (*cause, falls(cause))).collect();
    // A result that other reasons would have too does not confirm; of two that say as much, the larger suspect's.
    left.sort_by(|(a, _), (b, _)| {
        let weak = |cause: &Cause| cause.prove.expected == Expected::Unchanged;
        weak(a).cmp(&weak(b)).then(b.us.abs().total_cmp(&a.us.abs()))
    });
    let mut groups: Vec<Vec<bool>> = vec![Vec::new(); probabilities.len()];
    let mut chosen = Vec::new();
    while !left.is_empty() {
        let says: Vec<f64> = left.iter().map(|(_, falls)| information(&probabilities, &groups, falls)).collect();
        let most = says.iter().copied().fold(0.0, f64::max);
        let best = says.iter().position(|bits| *bits >= most - NOTHING).unwrap_or_default();
        if most <= NOTHING && !chosen.is_empty() {
            break;
        }
        let (cause, falls) = left.remove(best);
        groups.iter_mut().zip(falls).for_each(|(group, falls)| group.push(falls));
        chosen.push(cause);
    }
    chosen
}

/// Whether the experiment of a suspect has the result "the time falls" (for half the threads: with its own waits alone)
/// if the reason is `under`.
fn falls(of: &Cause, under: &Cause) -> bool {
    let Experiment { changes, expected, .. } = &of.prove;
    let spreads = changes.iter().any(|change| SPREAD.contains(&change.key.as_str()));
    let on_rows = matches!(under.suspect, Suspect::RowLock | Suspect::PageLock(_) | Suspect::IndexLock(_));
    match expected {
        Expected::OwnPart => of.suspect == under.suspect,
        Expected::Faster if of.suspect == under.suspect => true,
        Expected::Faster | Expected::Unchanged if spreads => on_rows,
        Expected::Faster => under.prove.expected == Expected::Faster && under.prove.changes == *changes,
        Expected::Unchanged | Expected::Named => false,
    }
}

/// Bits that a result adds to those known, which divided the suspects into `groups`: the mean entropy of the result.
fn information(probabilities: &[f64], groups: &[Vec<bool>], falls: &[bool]) -> f64 {
    let sum = |is: &dyn Fn(usize) -> bool| -> f64 {
        (0..probabilities.len()).filter(|one| is(*one)).map(|one| probabilities[one]).sum()
    };
    let bits = |one: usize| {
        let is_same = |other: usize| groups[other] == groups[one];
        let (group, same) = (sum(&is_same), sum(&|other| is_same(other) && falls[other] == falls[one]));
        -probabilities[one] * (same / group).log2()
    };
    (0..probabilities.len()).map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::super::prove::Change;
    use super::*;

    fn cause(suspect: Suspect, us: f64, expected: Expected, key: &str) -> Cause {
        let change = Change { key: key.to_owned(), value: Some("1".to_owned()) };
        let prove =
            Experiment { arguments: Vec::new(), changes: vec![change], same: false, expected, estimated_s: None };
        let condition = "b".to_owned();
        Cause { suspect, us, ci: None, share: None, condition, counts: None, shown: true, prove }
    }

    fn order(causes: &[Cause]) -> Vec<&'static str> {
        let all: Vec<&Cause> = causes.iter().collect();
        best_first(&all, &all).into_iter().map(|cause| cause.suspect.kind()).collect()
    }

    #[test]
    fn suspects_with_experiments_of_their_own_come_by_size() {
        let (commit, network) = ("engine.options.synchronous", "engine.transport");
        let row = cause(Suspect::RowLock, 300.0, Expected::Faster, "workload.rows");
        let commit = cause(Suspect::Commit, 200.0, Expected::Faster, commit);
        let network = cause(Suspect::Network, -500.0, Expected::Faster, network);
        assert_eq!(order(&[row, commit, network]), ["network", "row_lock", "commit"]);
    }

    /// More tables: with a lock of the whole server the time stays, as with wake-ups and a shortage of CPUs.
    #[test]
    fn an_experiment_with_the_same_result_under_every_suspect_is_not_made() {
        let global = cause(Suspect::GlobalLock("a".to_owned()), 600.0, Expected::Unchanged, "workload.tables");
        let wakes = cause(Suspect::WakeUps, 300.0, Expected::Faster, "client.spin");
        let cpus = cause(Suspect::CpuShortage, 100.0, Expected::OwnPart, "workload.threads");
        assert_eq!(order(&[global.clone(), wakes.clone(), cpus.clone()]), ["wake_ups", "cpu_shortage"]);
        assert_eq!(order(std::slice::from_ref(&global)), ["global_lock"], "there is no other one");
        // It separates an index that all tables share from this lock: with more tables the time falls.
        let index = cause(Suspect::IndexLock("b".to_owned()), 300.0, Expected::Named, "workload.tables");
        let all = [&global, &wakes, &cpus, &index];
        let found = best_first(&all, &all[..3]);
        assert_eq!(
            found.iter().map(|cause| cause.suspect.kind()).collect::<Vec<_>>()[..2],
            ["wake_ups", "global_lock"]
        );
    }

    #[test]
    fn a_second_experiment_that_divides_the_suspects_as_the_first_says_nothing() {
        let row = cause(Suspect::RowLock, 300.0, Expected::Faster, "workload.rows");
        let page = cause(Suspect::PageLock("p".to_owned()), 200.0, Expected::Faster, "workload.tables");
        let commit = cause(Suspect::Commit, 100.0, Expected::Faster, "engine.options.synchronous");
        assert_eq!(order(&[row, page, commit]), ["row_lock", "commit"]);
    }
}
