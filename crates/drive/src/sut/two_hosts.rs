//! The two halves of a watch whose clients and server are on two hosts.

use super::{Partner, SutError, SutWatch};
use std::collections::BTreeSet;
use tare_cpuset::{ThreadRef, observe};
use tare_topology::Bind;

/// A verified thread of the server and its start time, because thread ids are reused.
type Proved = (ThreadRef, u64);

impl SutWatch {
    /// A watch over client threads of this host whose server is on another host, where `partner` watches it.
    #[must_use]
    pub fn with_partner(mut self, partner: Box<dyn Partner>) -> Self {
        self.partner = Some(partner);
        self
    }

    /// A watch over a server of this host with at most `most` clients on another host.
    #[must_use]
    pub fn without_clients(mut self, most: usize) -> Self {
        self.clients_elsewhere = Some(most);
        self
    }

    /// Binds the server threads behind connections of clients on another host, given as thread ids of this host. The
    /// other host is not trusted: each id must be a thread of the server's processes before and after it is bound, and
    /// threads bound by an earlier call are no longer watched.
    ///
    /// # Errors
    /// As [`SutWatch::connected`]; also when a thread does not belong to the server, and then nothing is bound.
    pub fn serves(&mut self, serving: &[Option<i32>]) -> Result<(), SutError> {
        let most = self.clients_elsewhere.unwrap_or(0);
        if serving.len() > most {
            let what = format!("it has {} connections, expected at most {most}", serving.len());
            return Err(SutError::OtherHost(what));
        }
        if self.is_open() {
            return Err(SutError::OtherHost("its clients connected during a measurement".to_owned()));
        }
        self.clear();
        let proved = self.of_server(serving)?;
        self.join(proved.iter().map(|known| (None, known.map(|(thread, _)| thread))).collect())?;
        // If a thread ended in the meantime, its id may belong to another thread now.
        if self.of_server(serving)? == proved {
            return Ok(());
        }
        Err(SutError::OtherHost("a thread that serves its connections ended while it was bound".to_owned()))
    }

    /// Checks before a sample that the thread of every connection was bound, if each is to be bound: the other host
    /// could say that it has fewer connections, and the others would run anywhere.
    pub(super) fn all_serving(&self) -> Result<(), SutError> {
        let placement = &self.settings.placement;
        let Some(all) = self.clients_elsewhere.filter(|_| placement.bind == Bind::Thread) else { return Ok(()) };
        let bound = self.sides().connections.len();
        if placement.server.is_empty() || bound == all {
            return Ok(());
        }
        let what = format!("a sample begins with {bound} connections, expected {all}, whose threads are to be bound");
        Err(SutError::OtherHost(what))
    }

    fn of_server(&self, serving: &[Option<i32>]) -> Result<Vec<Option<Proved>>, SutError> {
        let named = serving.iter().enumerate();
        let found = named.map(|(connection, tid)| {
            let no_thread = |tid: i32| SutError::NotOfServer { connection, tid };
            let proved = |tid: i32| -> Result<Proved, SutError> {
                let thread = ThreadRef::of_tid(tid).map_err(|_| no_thread(tid))?;
                Ok((thread, observe::started_ticks(thread).map_err(|_| no_thread(tid))?))
            };
            tid.map(proved).transpose()
        });
        let found: Vec<Option<Proved>> = found.collect::<Result<_, SutError>>()?;
        // The processes are read last, so that each id is checked against the processes that exist now.
        let processes: BTreeSet<i32> = self.processes().into_iter().collect();
        for (connection, (thread, _)) in found.iter().enumerate().filter_map(|(at, known)| Some((at, (*known)?))) {
            if !processes.contains(&thread.pid) {
                return Err(SutError::NotOfServer { connection, tid: thread.tid });
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sut::{LoadAround, Owner, SystemUnderTest, WatchSettings};
    use std::process::{Child, Command};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};
    use tare_cpuset::{CpuSet, affinity_of};
    use tare_noise::{HostLock, Journal, ThreadAffinities};
    use tare_topology::{MemoryPolicy, Pairing, ResolvedPlacement};

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn watch(root: i32, cpu: u32, threads: usize) -> SutWatch {
        let placement = ResolvedPlacement {
            client: Vec::new(),
            server: vec![CpuSet::from(cpu); threads],
            background: None,
            bind: Bind::Thread,
            pairing: Pairing::None,
            memory: MemoryPolicy::Default,
            pool_memory: MemoryPolicy::Default,
        };
        let settings = WatchSettings {
            placement,
            chance_seed: 1,
            memory: false,
            schedule: false,
            cache: false,
            probe_share: None,
            spinning: None,
        };
        let sut = SystemUnderTest { root: Some(root), owner: Owner::Us, data: None };
        SutWatch::new(sut, settings).without_clients(threads)
    }

    #[test]
    fn a_thread_of_another_process_is_neither_bound_nor_accepted_as_proof() {
        let server = Ended(Command::new("sleep").arg("60").spawn().unwrap());
        let stranger = Ended(Command::new("sleep").arg("60").spawn().unwrap());
        let [own, other] = [&server, &stranger].map(|process| process.0.id().cast_signed());
        let found = affinity_of(ThreadRef::main_of(other)).unwrap();
        let cpu = found.iter().next().unwrap();
        assert!(found.iter().count() > 1, "this test needs two CPUs");
        for (serving, named) in
            [(vec![Some(own), Some(other)], other), (vec![Some(i32::MAX)], i32::MAX), (vec![Some(-1)], -1)]
        {
            let error = watch(own, cpu, 2).serves(&serving).unwrap_err();
            assert!(matches!(error, SutError::NotOfServer { tid, .. } if tid == named), "{error}");
        }
        for pid in [own, other] {
            assert_eq!(affinity_of(ThreadRef::main_of(pid)).unwrap(), found, "nothing was bound");
        }
        let error = watch(own, cpu, 2).serves(&[None; 3]).unwrap_err();
        assert!(matches!(error, SutError::OtherHost(_)), "{error}");
    }

    #[test]
    fn a_server_thread_is_bound_after_it_is_journalled_and_restored() {
        let server = Ended(Command::new("sleep").arg("60").spawn().unwrap());
        let thread = ThreadRef::main_of(server.0.id().cast_signed());
        let found = affinity_of(thread).unwrap();
        let cpu = found.iter().next().unwrap();
        let state = tempfile::tempdir().unwrap();
        let lock = HostLock::acquire(state.path()).unwrap();
        let affinities = Arc::new(Mutex::new(ThreadAffinities::new(state.path(), &lock)));
        let mut watch = watch(thread.pid, cpu, 1).journalled(Some(Arc::clone(&affinities)));
        assert!(watch.start(LoadAround::GoesOn).unwrap_err().to_string().contains("0 connections, expected 1"));
        watch.serves(&[Some(thread.tid)]).unwrap();
        assert_eq!(affinity_of(thread).unwrap(), CpuSet::from(cpu));
        assert!(Journal::pending(state.path()), "its original affinity is on disk");
        // A sample within a sample, and connections within a sample, are refused: each would start threads here.
        watch.start(LoadAround::GoesOn).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        assert!(
            watch.start(LoadAround::GoesOn).is_err()
                && watch.serves(&[Some(thread.tid)]).is_err()
                && Instant::now() < deadline
        );
        watch.finish().unwrap();
        affinities.lock().unwrap().put_back().unwrap().check().unwrap();
        assert_eq!(affinity_of(thread).unwrap(), found);
        assert!(!Journal::pending(state.path()));
    }
}
