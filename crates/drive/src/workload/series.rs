//! What a series of readings, one a second, and the times without any transaction say of a sample.

use std::collections::BTreeMap;
use tare_load::Stall;

/// Below this many transactions a second, few or none in a second are chance.
const FEW: f64 = 20.0;
const READINGS: usize = 5;

/// How many seconds had less than half the throughput of the usual one; none where that cannot be told.
pub fn slow_seconds(tps_each_second: &[f64]) -> Option<f64> {
    let mut sorted = tps_each_second.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2).filter(|median| sorted.len() >= READINGS && **median >= FEW)?;
    Some(sorted.iter().filter(|tps| **tps < median / 2.0).count() as f64)
}

/// Covariates of the times in which nothing was completed.
pub fn stalled(stalls: &[Stall]) -> BTreeMap<String, f64> {
    let of = |of_client: bool| stalls.iter().filter(move |stall| stall.of_client == of_client);
    let sum = |of_client| of(of_client).map(|stall| stall.length_s).sum::<f64>();
    let mut found =
        BTreeMap::from([("stalled_s".to_owned(), sum(true) + sum(false)), ("client_stalled_s".to_owned(), sum(true))]);
    if let Some(longest) = stalls.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s)) {
        found.insert("longest_stall_s".to_owned(), longest.length_s);
        found.insert("longest_stall_from_s".to_owned(), longest.from_s);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_slow_beside_the_usual_one() {
        assert_eq!(slow_seconds(&[1000.0, 990.0, 0.0, 1010.0, 1005.0, 400.0]), Some(2.0));
        assert_eq!(slow_seconds(&[1000.0, 990.0, 0.0]), None, "too few");
        assert_eq!(slow_seconds(&[3.0, 0.0, 1.0, 2.0, 4.0]), None, "chance");
    }

    #[test]
    fn stalls_are_summed_by_side_and_the_longest_has_its_place() {
        let stall = |from_s, length_s, of_client| Stall { from_s, length_s, of_client };
        let found = stalled(&[stall(1.0, 0.5, false), stall(4.0, 2.0, true), stall(8.0, 1.0, false)]);
        let names = ["stalled_s", "client_stalled_s", "longest_stall_s", "longest_stall_from_s"];
        assert_eq!(names.map(|name| found[name]), [3.5, 2.0, 2.0, 4.0]);
        assert_eq!(stalled(&[]).len(), 2);
    }
}
