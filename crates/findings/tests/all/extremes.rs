//! The default choice of two conditions to compare: the fastest and the slowest with the same load and number of
//! clients.

use crate::made_up::{results, trial, worked};
use tare_findings::compare::Side;
use tare_findings::time::{ConditionTime, extremes};
use tare_findings::why::{WhyError, times};
use tare_results::schema::{Outcome, ThreadClass};

/// Conditions by name, number of clients and microseconds per transaction.
fn conditions(of: &[(&str, usize, f64)]) -> Vec<ConditionTime> {
    let made = of.iter().enumerate().map(|(number, (name, clients, us))| {
        let mut record = trial(number, 0, name, 1e6 * *clients as f64 / us, false);
        record.samples[0].threads = vec![worked(ThreadClass::Client, 0.1); *clients];
        record
    });
    let results = results("best", made.collect());
    times(Side { results: &results, condition: None }).unwrap().conditions
}

#[test]
fn the_fastest_and_the_slowest_have_as_many_clients_where_any_do() {
    for (made, expected) in [
        (&[("a", 1, 30.0), ("b", 1, 20.0), ("c", 1, 25.0)][..], ("b", "a", true)),
        // Not the ones that lie farther apart but have different numbers of clients.
        (&[("one", 1, 10.0), ("four", 4, 90.0), ("near", 4, 60.0), ("far", 4, 80.0)], ("near", "four", true)),
        (&[("one", 1, 10.0), ("other", 1, 11.0), ("four", 4, 60.0), ("far", 4, 80.0)], ("four", "far", true)),
        (&[("four", 4, 90.0), ("one", 1, 10.0), ("two", 2, 40.0)], ("one", "four", false)),
    ] {
        let all = conditions(made);
        let chosen = extremes(&all).unwrap();
        let names = (chosen.fastest.name.as_str(), chosen.slowest.name.as_str(), chosen.alike);
        assert_eq!(names, expected);
    }
    assert_eq!(extremes(&conditions(&[("a", 1, 30.0)])), None);
}

#[test]
fn a_condition_whose_trials_all_failed_is_named() {
    let made = |outcomes: [Outcome; 2]| {
        let trials = ["a", "b"].into_iter().zip(outcomes).enumerate().map(|(number, (name, outcome))| {
            let mut record = trial(number, 0, name, 1000.0, false);
            record.outcome = outcome;
            record.samples[0].threads = vec![worked(ThreadClass::Client, 0.1)];
            record
        });
        let results = results("best", trials.collect());
        times(Side { results: &results, condition: None })
    };
    assert_eq!(made([Outcome::Ok, Outcome::Failed]).unwrap().lost, ["b"]);
    assert_eq!(made([Outcome::Ok, Outcome::Ok]).unwrap().lost, [""; 0]);
    let none = made([Outcome::Failed, Outcome::Failed]);
    assert!(matches!(&none, Err(WhyError::NoResult { .. })), "{none:?}");
}

#[test]
fn conditions_with_different_loads_are_not_compared() {
    let all = conditions(&[
        ("binary=a workload=look", 1, 10.0),
        ("binary=b workload=look", 1, 11.0),
        ("binary=a workload=write", 1, 700.0),
        ("binary=b workload=write", 1, 900.0),
    ]);
    let chosen = extremes(&all).unwrap();
    let names = (chosen.fastest.name.as_str(), chosen.slowest.name.as_str(), chosen.of);
    assert_eq!(names, ("binary=a workload=write", "binary=b workload=write", 2));
    assert!(chosen.differ(0.024) && !chosen.differ(0.026), "selected from two pairs");
    assert_eq!(extremes(&conditions(&[("workload=look", 1, 10.0), ("workload=write", 1, 700.0)])), None);
}

/// The two most different of many equal conditions differ by chance more than two arbitrary ones do.
#[test]
fn extremes_differ_only_beyond_what_choosing_among_many_explains() {
    let of = |number: usize| {
        let names: Vec<String> = (0..number).map(|one| format!("condition-{one}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 20.0)).collect();
        conditions(&all)
    };
    let (two, ten) = (of(2), of(10));
    let [two, ten] = [&two, &ten].map(|all| extremes(all).unwrap());
    assert!(two.differ(0.049) && !two.differ(0.051));
    // Adjusted for 45 pairs.
    assert!(ten.differ(0.0011) && !ten.differ(0.0012));
}
