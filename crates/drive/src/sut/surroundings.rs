//! Data recorded with a measurement in addition to the metrics of its load.

use super::window::take_share;
use super::{LoadAround, SutError, Usage};
use crate::capture::interference::OthersSeen;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::take;
use tare_results::covariate::FOREIGN_FRACTION;
use tare_results::schema::{ThreadClass, ThreadRecord};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Surroundings {
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    pub covariates: BTreeMap<String, f64>,
    /// The other programs that used most CPU time, as in [`crate::capture::interference::OthersSeen`].
    pub users: Vec<(String, u32, f64)>,
    pub threads: Vec<ThreadRecord>,
    /// Length of the measurement that `threads` and `used` describe, seconds.
    #[serde(default)]
    pub watched_s: f64,
    /// Resources that the server used; None without an observable server.
    pub used: Option<Usage>,
    /// Disturbances on the clients' host, if it is not the server's host.
    pub client_host: Option<OthersSeen>,
}

impl Surroundings {
    /// CPU time of the threads of a class, seconds: exact if the kernel reports it, else in clock ticks. None without
    /// such threads.
    pub(crate) fn cpu_s(&self, class: ThreadClass) -> Option<f64> {
        let mut of_class = self.threads.iter().filter(|thread| thread.class == class).peekable();
        of_class.peek()?;
        let used =
            |thread: &ThreadRecord| thread.schedule.map_or(thread.user_s + thread.system_s, |schedule| schedule.ran_s);
        Some(of_class.map(used).sum())
    }

    /// Subtracts CPU time that was counted as foreign, but belongs to processes of the benchmark that have ended.
    pub(crate) fn not_foreign(&mut self, own_s: f64) {
        let Some(foreign_s) = self.covariates.get("foreign_cpu_s").copied().filter(|s| *s > 0.0) else { return };
        let left_s = (foreign_s - own_s.max(0.0)).max(0.0);
        self.covariates.insert("foreign_cpu_s".to_owned(), left_s);
        self.covariates.entry(FOREIGN_FRACTION.to_owned()).and_modify(|share| *share *= left_s / foreign_s);
    }

    /// Takes this share of what the server's half of a watch saw; the measurement is `watched_s` long.
    pub(super) fn take_share(&mut self, share: f64, watched_s: f64) {
        self.threads.iter_mut().for_each(|thread| take_share(thread, share, watched_s));
        self.used.iter_mut().for_each(|used| used.take_share(share));
        self.watched_s = watched_s;
    }

    /// Merges the data of a server with those of its clients on another host; client threads belong to that host.
    #[must_use]
    pub(crate) fn with_clients(mut self, clients: Self) -> Self {
        let (own, mut of_host): (BTreeMap<_, _>, BTreeMap<_, _>) =
            clients.covariates.into_iter().partition(|(name, _)| name.starts_with("client_"));
        self.covariates.extend(own);
        // The clients' host has no server threads.
        of_host.retain(|name, _| !name.starts_with("server_") && !name.starts_with("background_"));
        self.threads.splice(0..0, clients.threads);
        self.client_host = Some(OthersSeen { covariates: of_host, users: clients.users });
        self
    }

    /// Merges a later measurement of the same sample, each covariate by the rules of the registry.
    pub fn merge(&mut self, later: Self) {
        let mut others = OthersSeen { covariates: take(&mut self.covariates), users: take(&mut self.users) };
        others.merge(OthersSeen { covariates: later.covariates, users: later.users });
        OthersSeen { covariates: self.covariates, users: self.users } = others;
        self.watched_s += later.watched_s;
        self.used = self.used.zip(later.used).map(|(mut all, more)| {
            all.add(&more);
            all
        });
        if let (Some(all), Some(more)) = (&mut self.client_host, later.client_host) {
            all.merge(more);
        }
        for thread in later.threads {
            match self.threads.iter_mut().find(|known| (known.class, known.tid) == (thread.class, thread.tid)) {
                Some(known) => add(known, thread),
                None => self.threads.push(thread),
            }
        }
    }
}

fn add(sum: &mut ThreadRecord, later: ThreadRecord) {
    for (cpu, count) in later.seen_cpus {
        *sum.seen_cpus.entry(cpu).or_default() += count;
    }
    sum.migrations += later.migrations;
    sum.voluntary_switches += later.voluntary_switches;
    sum.involuntary_switches += later.involuntary_switches;
    sum.user_s += later.user_s;
    sum.system_s += later.system_s;
    if let (Some(sum), Some(later)) = (&mut sum.schedule, later.schedule) {
        sum.ran_s += later.ran_s;
        sum.waited_s += later.waited_s;
        sum.slept_s += later.slept_s;
    }
}

/// What the watch over clients requires of the watch over their server on another host.
pub trait Partner: Send {
    /// Whether probes are requested there, which need an idle server before and after every sample.
    fn probes(&self) -> bool;
    /// Binds the server thread of each connection, identified by its thread id on that host.
    fn connected(&mut self, serving: &[Option<i32>]) -> Result<(), SutError>;
    /// Called while nothing runs, so that a probe may be read there.
    fn idle(&mut self) -> Result<(), SutError>;
    fn start(&mut self, load: LoadAround) -> Result<(), SutError>;
    /// Ends the measurement and returns what was observed there.
    fn finish(&mut self) -> Result<Surroundings, SutError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::ScheduleRecord;

    fn around(elapsed_s: f64, steal: f64, switches: f64, bytes: f64, seen: &[(usize, u64)]) -> Surroundings {
        let thread = ThreadRecord {
            class: ThreadClass::Connection,
            pair: Some(0),
            pid: 6,
            tid: 7,
            name: "server".into(),
            allowed_cpus: "0-1".parse().unwrap(),
            seen_cpus: seen.iter().copied().collect(),
            migrations: 1,
            voluntary_switches: 2,
            involuntary_switches: 3,
            user_s: 0.5,
            system_s: 0.25,
            schedule: Some(ScheduleRecord { ran_s: 0.5, waited_s: 0.25, slept_s: 1.0 }),
        };
        let covariates = [
            ("elapsed_s", elapsed_s),
            ("steal_fraction", steal),
            ("context_switches", switches),
            ("server_memory_bytes_node0", bytes),
        ];
        Surroundings {
            started_at: format!("{elapsed_s}"),
            covariates: covariates.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            users: Vec::new(),
            threads: vec![thread],
            watched_s: elapsed_s,
            used: Some(Usage::default()),
            client_host: None,
        }
    }

    #[test]
    fn surroundings_of_the_parts_of_a_sample_are_merged() {
        let mut all = around(1.0, 0.3, 10.0, 500.0, &[(0, 4)]);
        all.users = vec![("rustc".into(), 50, 1.0), ("cc1".into(), 51, 0.5)];
        let mut second = around(3.0, 0.1, 5.0, 600.0, &[(0, 1), (1, 2)]);
        second.users = vec![("rustc".into(), 50, 1.0), ("rustc".into(), 52, 1.0)];
        all.merge(second);
        all.merge(around(4.0, 0.0, 1.0, 400.0, &[]));
        let of = |name: &str| all.covariates[name];
        assert_eq!(all.started_at, "1");
        assert_eq!((of("elapsed_s"), of("context_switches"), of("server_memory_bytes_node0")), (8.0, 16.0, 400.0));
        assert!((of("steal_fraction") - 0.6 / 8.0).abs() < 1e-12);
        // Shares of the whole sample: its parts ran one after another.
        let users: Vec<(u32, f64)> = all.users.iter().map(|user| (user.1, user.2)).collect();
        assert_eq!(users, [(50, 0.5), (52, 0.375), (51, 0.0625)]);
        assert_eq!(all.threads.len(), 1);
        let thread = &all.threads[0];
        assert_eq!((thread.migrations, thread.voluntary_switches, thread.involuntary_switches), (3, 6, 9));
        assert_eq!((thread.user_s, thread.system_s), (1.5, 0.75));
        assert_eq!(thread.schedule, Some(ScheduleRecord { ran_s: 1.5, waited_s: 0.75, slept_s: 3.0 }));
        assert_eq!(thread.seen_cpus, BTreeMap::from([(0, 5), (1, 2)]));
    }
}
