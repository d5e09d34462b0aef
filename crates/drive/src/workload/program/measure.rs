//! One run of a program as the client: it is started in its placement; its threads are found, bound, paired with those
//! of the server, watched while it measures, and verified to have stayed in their placement.

use super::line::file_of;
use super::process::{Ended, Job, Running};
use super::{Interval, ProgramError};
use crate::sut::{Connections, LoadAround, Surroundings, SutError, SystemUnderTest, Unpaired, Watched};
use crate::workload::{LoadContext, LoadError, Progress};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_cpuset::{AffinityError, CpuSet, ThreadRef, bind_thread};
use tare_engine::remembered_sha1;
use tare_files::open_named;
use tare_results::schema::ThreadClass;
use tare_topology::bind::Placed;
use tare_topology::{Bind, MemoryPolicy};

/// Interval between two looks for connections, until they are found.
const FIND_EVERY: Duration = Duration::from_millis(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const FIND: Duration = Duration::from_secs(20);
/// Time limit of the search for connections since the first or the client's start, if threads are not bound
/// individually.
const FIND_UNBOUND: Duration = Duration::from_secs(2);
/// Further looks after every connection has its thread: threads of a pool would be seen in several connections.
const LOOKS_MORE: usize = 5;
/// Looks, counted from when all connections exist, during which the client is stopped.
const LOOKS_HELD: std::ops::Range<usize> = 4..14;
/// The watch ends this long before the expected end of the client, so that its threads still exist.
const BEFORE_END: Duration = Duration::from_millis(100);

pub(crate) enum Begins<'a> {
    AtOnce,
    Line(&'a dyn Fn(&str) -> bool),
    /// This many seconds after its first connection.
    After(f64),
}

pub(crate) struct Client<'a> {
    pub job: Job,
    /// Connections to the server; None without a server.
    pub connections: Option<usize>,
    pub begins: Begins<'a>,
    /// Length of its measurement, if known.
    pub measures_s: Option<f64>,
    pub limit_s: f64,
    pub interval: &'a dyn Fn(&str) -> Option<Interval>,
}

pub(crate) struct Ran {
    pub ended: Ended,
    pub surroundings: Surroundings,
    /// Transactions per second from its own output, since it began to measure.
    pub tps_each_second: Vec<f64>,
    /// SHA-1 of its program, and of the script as which it was started.
    pub programs: BTreeSet<String>,
}

pub(crate) fn run(client: &Client<'_>, stage: &mut LoadContext<'_>) -> Result<Ran, LoadError> {
    let all = union(&stage.placement.placement.client);
    stage.watch.forget();
    stage.watch.idle()?;
    if client.connections.is_none() {
        // It is measured from its start to its end.
        stage.watch.start(LoadAround::Idle)?;
    }
    // The process inherits both. With a server, the memory policy applies only to the server.
    let memory = match client.connections {
        Some(_) => MemoryPolicy::Default,
        None => stage.placement.placement.memory.clone(),
    };
    let placed = Placed::apply(all.as_ref(), &memory).map_err(SutError::from)?;
    let files = ClientFiles::of(&client.job);
    let process = Running::start(&client.job).map_err(LoadError::own)?;
    placed.restore().map_err(SutError::from)?;
    let root = process.pid();
    let run = Run {
        client,
        stage,
        process,
        files,
        tree: SystemUnderTest::running(Some(root)),
        began: Instant::now(),
        all,
        known: BTreeSet::new(),
        measuring: None,
        surroundings: None,
        readings: Vec::new(),
    };
    run.until_it_ends()
}

fn union(sets: &[CpuSet]) -> Option<CpuSet> {
    let all: CpuSet = sets.iter().flat_map(CpuSet::iter).collect();
    (!all.is_empty()).then_some(all)
}

struct Run<'c, 's, 'a> {
    client: &'c Client<'c>,
    stage: &'s mut LoadContext<'a>,
    process: Running,
    files: ClientFiles,
    tree: SystemUnderTest,
    began: Instant,
    all: Option<CpuSet>,
    known: BTreeSet<ThreadRef>,
    measuring: Option<Instant>,
    surroundings: Option<Surroundings>,
    readings: Vec<f64>,
}

impl Run<'_, '_, '_> {
    fn until_it_ends(mut self) -> Result<Ran, LoadError> {
        let connected = match self.client.connections {
            Some(expected) => self.connect(expected)?,
            None => {
                self.measuring = Some(self.began);
                self.began
            }
        };
        loop {
            let ended = self.step(LOOK_EVERY)?;
            self.find_more()?;
            if let (None, Begins::After(seconds)) = (self.measuring, &self.client.begins)
                && connected.elapsed().as_secs_f64() >= *seconds
            {
                self.begin()?;
            }
            let measured = self.measuring.zip(self.client.measures_s).is_some_and(|(since, seconds)| {
                since.elapsed() + BEFORE_END >= Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            });
            if (ended || measured) && self.measuring.is_some() && self.surroundings.is_none() {
                self.surroundings = Some(self.stage.watch.finish()?);
            }
            if ended {
                break;
            }
        }
        self.finish()
    }

    /// Waits, reads new output, checks for an interrupt and the time limit; returns whether the program has ended.
    fn step(&mut self, wait: Duration) -> Result<bool, LoadError> {
        let ended = self.process.has_ended(wait).map_err(LoadError::own)?;
        self.listen()?;
        if self.stage.host.interrupted() {
            return Err(LoadError::Interrupted);
        }
        if !ended && self.began.elapsed().as_secs_f64() > self.client.limit_s {
            let (limit_s, tail) = (self.client.limit_s, self.process.tail());
            return Err(LoadError::own(ProgramError::TimedOut { program: self.client.job.program(), limit_s, tail }));
        }
        Ok(ended)
    }

    fn listen(&mut self) -> Result<(), LoadError> {
        while let Some(line) = self.process.line() {
            if let (None, Begins::Line(says)) = (self.measuring, &self.client.begins)
                && says(&line)
            {
                self.begin()?;
            }
            if let Some(interval) = (self.client.interval)(&line) {
                let warming_up = self.measuring.is_none();
                if !warming_up {
                    self.readings.push(interval.tps);
                }
                let second = interval.second as u64;
                self.stage.host.progress(Progress::Reading { tps: interval.tps, second, warming_up });
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), LoadError> {
        self.files.look(self.process.pid());
        self.measuring = Some(Instant::now());
        // A program whose length is not known is measured to its end.
        let load = if self.client.measures_s.is_some() { LoadAround::GoesOn } else { LoadAround::Idle };
        Ok(self.stage.watch.start(load)?)
    }

    /// Finds the connections with the threads at both ends, binds and watches them. Returns when the first was seen.
    fn connect(&mut self, expected: usize) -> Result<Instant, LoadError> {
        let mut connections = Connections::default();
        let mut looks_more = LOOKS_MORE;
        let deadline = Instant::now() + FIND;
        let (mut seen, mut looks) = (None, 0);
        while looks_more > 0 && Instant::now() < deadline {
            let server = self.stage.watch.processes();
            let client = self.tree.processes();
            if connections.found() == expected {
                looks += 1;
            }
            // Client and server threads that alternate on the same logical CPU are hardly ever seen asleep.
            let held = LOOKS_HELD.contains(&looks).then(|| StopGuard::stop(&client));
            connections.look(&client, &server);
            drop(held);
            if connections.is_complete(expected) {
                looks_more -= 1;
            }
            if connections.found() > 0 {
                seen.get_or_insert_with(Instant::now);
            }
            if !self.is_bound() && seen.unwrap_or(self.began).elapsed() > self.find_unbound() {
                break;
            }
            if self.step(FIND_EVERY)? || (self.measuring.is_some() && looks_more > 0 && self.is_bound()) {
                break;
            }
        }
        match connections.pairs(expected) {
            Ok(pairs) => {
                if self.measuring.is_some() && self.is_bound() {
                    return Err(LoadError::own(ProgramError::TooEarly { program: self.client.job.program() }));
                }
                for (index, pair) in pairs.iter().enumerate() {
                    if let Some(cpus) = self.stage.placement.placement.client_cpus(index) {
                        bind_thread(pair.client, cpus).map_err(SutError::from)?;
                    }
                    self.known.insert(pair.client);
                }
                self.stage.watch.connected(&pairs)?;
            }
            // If the program has ended, its own error is the reason.
            Err(_) if self.process.has_ended(Duration::ZERO).map_err(LoadError::own)? => {}
            Err(unpaired) if self.is_bound() => return Err(SutError::from(unpaired).into()),
            // No individual placement was requested: the threads are watched without pairs.
            Err(Unpaired::Count { found: 0, .. }) => {}
            Err(_) => self.watch_apart(&connections),
        }
        Ok(seen.unwrap_or(self.began))
    }

    /// Time limit of the search for connections if threads are not bound individually: a server on another host has
    /// none that can be found here, and the measurement does not wait for them.
    fn find_unbound(&self) -> Duration {
        match self.client.begins {
            Begins::After(seconds) => {
                Duration::try_from_secs_f64(seconds).map_or(FIND_UNBOUND, |s| s.min(FIND_UNBOUND))
            }
            _ => FIND_UNBOUND,
        }
    }

    fn is_bound(&self) -> bool {
        let placement = &self.stage.placement.placement;
        placement.bind == Bind::Thread && !(placement.client.is_empty() && placement.server.is_empty())
    }

    fn watch_apart(&mut self, connections: &Connections) {
        let (clients, servers) = connections.threads();
        let of_server = union(&self.stage.placement.placement.server);
        let mut add = |class, thread, requested: &Option<CpuSet>| {
            self.stage.watch.also(Watched { class, pair: None, thread, requested: requested.clone() });
        };
        for thread in clients {
            add(ThreadClass::Client, thread, &self.all);
            self.known.insert(thread);
        }
        servers.into_iter().for_each(|thread| add(ThreadClass::Connection, thread, &of_server));
    }

    fn find_more(&mut self) -> Result<(), LoadError> {
        // A process tree whose first process has ended has no threads to look at.
        let threads = self.tree.threads().unwrap_or_default();
        for thread in threads {
            if !self.known.insert(thread) {
                continue;
            }
            let placement = &self.stage.placement.placement;
            let mut requested = self.all.clone();
            // Without a server, threads are bound individually in the order in which they start.
            if self.client.connections.is_none() && placement.bind == Bind::Thread && !placement.client.is_empty() {
                let number = (self.known.len() - 1) % placement.client.len();
                requested = placement.client_cpus(number).cloned();
                match requested.as_ref().map(|cpus| bind_thread(thread, cpus)) {
                    // The thread has ended already.
                    Some(Err(AffinityError::NoThread { .. })) => continue,
                    Some(Err(e)) => return Err(SutError::from(e).into()),
                    _ => {}
                }
            }
            self.stage.watch.also(Watched { class: ThreadClass::Client, pair: None, thread, requested });
        }
        Ok(())
    }

    fn finish(self) -> Result<Ran, LoadError> {
        let program = self.client.job.program();
        let alone_s = self.process.alone_s();
        let ended = self.process.finish().map_err(LoadError::own)?;
        if !ended.status.success() {
            return Err(LoadError::own(ProgramError::Failed { program, status: ended.status, tail: ended.tail }));
        }
        if !ended.left.is_empty() {
            return Err(LoadError::own(ProgramError::LeftRunning { program, left: ended.left }));
        }
        if self.surroundings.is_none() && self.client.measures_s.is_some() {
            return Err(LoadError::own(ProgramError::TooEarly { program }));
        }
        let mut surroundings = self.surroundings.unwrap_or_default();
        // CPU time of children that ended before the last reading of all processes was counted as foreign.
        surroundings.not_foreign(ended.usage.cpu_s() - alone_s);
        let programs = self.files.sha1(&self.stage.cache);
        Ok(Ran { ended, surroundings, tps_each_second: self.readings, programs })
    }
}

/// Processes that are stopped until this is dropped.
struct StopGuard(Vec<Pid>);

impl StopGuard {
    pub(crate) fn stop(processes: &[i32]) -> Self {
        let pids = processes.iter().filter_map(|pid| Pid::from_raw(*pid));
        Self(pids.filter(|pid| kill_process(*pid, Signal::STOP).is_ok()).collect())
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        for pid in &self.0 {
            // The process may have ended.
            let _ = kill_process(*pid, Signal::CONT);
            // Otherwise it would count as stopped by someone else.
            let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG);
        }
    }
}

/// The started file, and the program that its process runs when it begins to measure, which is another one if the file
/// is a script, or a wrapper that calls exec. The files are kept open, and read when nothing is timed any more.
#[derive(Debug, Default)]
struct ClientFiles {
    started: Option<File>,
    measured: Option<File>,
}

impl ClientFiles {
    /// Opens the file that is about to be started.
    pub(super) fn of(job: &Job) -> Self {
        let own = || std::env::var_os("PATH").unwrap_or_default();
        let path = job.environment.iter().find(|(name, _)| name == "PATH").map_or_else(own, |(_, path)| path.clone());
        let file = file_of(&job.program(), &path).map(|file| match &job.directory {
            Some(directory) => directory.join(file),
            None => file,
        });
        Self { started: file.and_then(|file| open_named(&file).ok()?), measured: None }
    }

    /// Opens the program that this process runs now.
    pub(super) fn look(&mut self, pid: i32) {
        self.measured = open_named(&PathBuf::from(format!("/proc/{pid}/exe"))).ok().flatten();
    }

    /// SHA-1 of each file that could be read.
    fn sha1(self, cache: &Path) -> BTreeSet<String> {
        self.started.into_iter().chain(self.measured).filter_map(|file| remembered_sha1(file, cache)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Whether the process reaches a state, given as the kernel's letter (proc_pid_stat(5)).
    fn becomes(pid: i32, wanted: char) -> bool {
        let until = Instant::now() + Duration::from_secs(10);
        let state = || {
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        while state() != Some(wanted) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        state() == Some(wanted)
    }

    #[test]
    fn a_stopped_client_process_runs_again_after_the_guard_is_dropped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let held = StopGuard::stop(&[pid, i32::MAX]);
        assert!(becomes(pid, 'T'), "stopped");
        drop(held);
        assert!(becomes(pid, 'S'), "asleep again");
        assert_eq!(tare_engine::stopped_processes(), 0, "no one else stopped it");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
