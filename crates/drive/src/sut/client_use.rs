//! How near the clients were to the limit of their CPUs, and how long they waited for one.

use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::schema::{ThreadClass, ThreadRecord};

/// CPU time of the clients over what they may have at most, and the share of their time that they waited for a CPU.
/// Nothing where there are no clients, or the kernel does not tell.
pub(super) fn covariates(threads: &[ThreadRecord]) -> BTreeMap<String, f64> {
    let clients: Vec<_> = threads
        .iter()
        .filter(|thread| thread.class == ThreadClass::Client)
        .filter_map(|thread| Some((thread.schedule?, &thread.allowed_cpus)))
        .collect();
    let mut found = BTreeMap::new();
    let length = |s: &tare_results::schema::ScheduleRecord| s.ran_s + s.waited_s + s.slept_s;
    let longest_s = clients.iter().map(|(schedule, _)| length(schedule)).fold(0.0, f64::max);
    if longest_s <= 0.0 {
        return found;
    }
    // A thread has one CPU at a time, and all of them together no more than those that they may run on.
    let busiest = clients.iter().map(|(schedule, _)| schedule.ran_s / longest_s).fold(0.0, f64::max);
    let all: f64 = clients.iter().map(|(schedule, _)| schedule.ran_s).sum();
    let cpus = clients.iter().flat_map(|(_, allowed)| allowed.iter()).collect::<CpuSet>().iter().count().max(1);
    let together = all / longest_s / cpus as f64;
    found.insert("client_busy_fraction".to_owned(), busiest.max(together));
    let waited: f64 = clients.iter().map(|(schedule, _)| schedule.waited_s).sum();
    let time: f64 = clients.iter().map(|(schedule, _)| length(schedule)).sum();
    found.insert("client_waited_for_cpu_fraction".to_owned(), waited / time);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::ScheduleRecord;

    fn thread(class: ThreadClass, allowed: &str, ran_s: f64, waited_s: f64) -> ThreadRecord {
        let schedule = Some(ScheduleRecord { ran_s, waited_s, slept_s: 10.0 - ran_s - waited_s });
        ThreadRecord {
            class,
            pair: None,
            pid: 1,
            tid: 1,
            name: String::new(),
            allowed_cpus: allowed.parse().unwrap(),
            seen_cpus: BTreeMap::new(),
            migrations: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            user_s: 0.0,
            system_s: 0.0,
            schedule,
        }
    }

    #[test]
    fn the_limit_is_that_of_one_thread_or_of_the_cpus_of_all() {
        use ThreadClass::{Client, Connection};
        let of = |threads: &[ThreadRecord]| {
            let found = covariates(threads);
            let get = |name: &str| found.get(name).map(|value| (value * 1000.0).round() / 1000.0);
            (get("client_busy_fraction"), get("client_waited_for_cpu_fraction"))
        };
        let server = thread(Connection, "0-1", 9.9, 0.0);
        assert_eq!(of(std::slice::from_ref(&server)), (None, None), "only clients count");
        assert_eq!(
            of(&[thread(Client, "0-7", 9.5, 0.0), thread(Client, "0-7", 1.0, 0.0), server]),
            (Some(0.95), Some(0.0))
        );
        let four = [2.4; 4].map(|ran| thread(Client, "3", ran, 6.0));
        assert_eq!(of(&four), (Some(0.96), Some(0.6)), "four threads share a PU");
        assert_eq!(of(&[2.4; 4].map(|ran| thread(Client, "0-3", ran, 0.0))), (Some(0.24), Some(0.0)));
    }
}
