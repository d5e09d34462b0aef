//! `perf record` of two tracepoints during the capture sample; `perf script` reads the recording afterwards.

use super::super::perf::{Perf, Recording, TRACEPOINTS, next_line, unreadable};
use super::super::place::{Captured, Place, WAKES_RECORDING};
use super::callers;
use super::charge::{Threads, Timeline, charge};
use super::script::event;
use crate::capture::settings::CallGraph;
use std::collections::BTreeSet;
use std::path::Path;
use tare_cpuset::{ThreadRef, observe};
use tare_engine::{Unavailable, interrupted};
use tare_results::captures::{CALLERS, WAKES};
use tare_results::waits::WakesFile;

/// Limit of events read: some seconds of a server that switches for every statement.
const EVENTS: u64 = 2_000_000;
const LARGEST: &str = "256M";
/// The identity of the namespace in which the kernel starts (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
const IN_CONTAINER: &str = "perf's tracepoints name threads by the numbers of the first PID namespace, and this is \
     another: run tare outside of the container, or in one with --pid host; capture.waits records what threads sleep \
     in and the callers here too";

pub(in super::super) struct Wakes {
    recording: Recording,
    callers: Result<Recording, Unavailable>,
    threads: Threads,
}

impl Wakes {
    pub(crate) fn begin(
        place: &Place,
        graph: CallGraph,
        pid: u32,
        connections: &[ThreadRef],
    ) -> Result<Self, Unavailable> {
        if connections.is_empty() {
            return Err(Unavailable("no thread of the server is known to serve a connection".to_owned()));
        }
        if !in_first_pid_namespace() {
            return Err(Unavailable(IN_CONTAINER.to_owned()));
        }
        let arguments = ["record", "-a", "-e", "sched:sched_switch,sched:sched_waking", "--max-size", LARGEST];
        let recording = Recording::begin(place, WAKES_RECORDING, &arguments, TRACEPOINTS)?;
        let callers = callers::begin(place, graph, connections);
        Ok(Self { recording, callers, threads: threads(pid, connections) })
    }

    pub(crate) fn has_callers(&self) -> bool {
        self.callers.is_ok()
    }

    pub(crate) fn end(&mut self) -> Result<(), Unavailable> {
        if let Ok(callers) = &mut self.callers
            && let Err(why) = callers.end()
        {
            self.callers = Err(why);
        }
        self.recording.end()
    }

    pub(crate) fn finish(self, place: &Place, captured: &mut Captured) -> Option<WakesFile> {
        match read(&self.recording.path(), &self.threads) {
            Ok((mut file, timeline)) => {
                let read = |recording| callers::read(&recording, &timeline, &self.threads.connections);
                match self.callers.and_then(read) {
                    Ok(callers) => file.callers = callers,
                    Err(e) => drop(captured.missing.insert(CALLERS.to_owned(), e.to_string())),
                }
                place.write_json(captured, WAKES, "wakes.json", &file);
                Some(file)
            }
            Err(e) => {
                captured.missing.insert(WAKES.to_owned(), e.to_string());
                None
            }
        }
    }
}

fn in_first_pid_namespace() -> bool {
    std::fs::read_link("/proc/self/ns/pid").map_or(true, |found| found == Path::new(FIRST_PID_NAMESPACE))
}

/// Clients are threads of this process and its descendants; the server is `pid` and its descendants.
fn threads(pid: u32, connections: &[ThreadRef]) -> Threads {
    let of = |processes: Vec<i32>| -> BTreeSet<u32> {
        let all = processes.into_iter().flat_map(|pid| observe::threads_of(pid).unwrap_or_default());
        all.map(|thread| thread.tid.unsigned_abs()).collect()
    };
    let connections: BTreeSet<u32> = connections.iter().map(|thread| thread.tid.unsigned_abs()).collect();
    let server = of(observe::with_descendants(pid.cast_signed()));
    let own = of(observe::with_descendants(std::process::id().cast_signed()));
    let clients = own.difference(&server).copied().filter(|tid| !connections.contains(tid)).collect();
    let background = server.difference(&connections).copied().collect();
    Threads { connections, clients, background }
}

fn read(data: &Path, threads: &Threads) -> Result<(WakesFile, Timeline), Unavailable> {
    let mut output = Perf::script(data, &["--ns", "-F", "tid,time,event,trace"])?;
    let mut timeline = Timeline::default();
    let mut line = Vec::new();
    while timeline.events < EVENTS && !interrupted() {
        let Some(text) = next_line(&mut output, &mut line).map_err(unreadable)? else { break };
        if let Some(event) = event(&text) {
            timeline.add(&event);
        }
    }
    if timeline.events == 0 {
        return Err(Unavailable("perf recorded no event of the scheduler".to_owned()));
    }
    let cut = timeline.events >= EVENTS || output.limit() == 0;
    timeline.end();
    Ok((charge(&timeline, threads, cut), timeline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[inline(never)]
    fn planted_wait(from: &mut UnixStream, byte: &mut [u8]) -> bool {
        std::io::Read::read_exact(from, byte).is_ok()
    }

    /// Two threads of this process that answer each other are recorded for a tenth of a second, if perf may do so.
    #[test]
    fn wake_ups_between_threads_are_recorded_or_the_reason_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let results = tare_files::Folder::open(folder.path(), tare_files::Trust::Anyone).unwrap().unwrap();
        let place = Place::make(&results, 0, 1, 1, 0.1).unwrap();
        let (mut asks, mut answers) = UnixStream::pair().unwrap();
        let (says, receiver) = std::sync::mpsc::channel();
        let server = std::thread::spawn(move || {
            use std::io::Write;
            says.send(ThreadRef::of_this_thread()).unwrap();
            let mut byte = [0];
            while planted_wait(&mut answers, &mut byte) && answers.write_all(&byte).is_ok() {}
        });
        let connection = receiver.recv().unwrap();
        let begun = Wakes::begin(&place, CallGraph::Dwarf, 0, &[connection]);
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until {
            use std::io::{Read, Write};
            asks.write_all(b"x").unwrap();
            asks.read_exact(&mut [0]).unwrap();
        }
        let mut captured = Captured::default();
        match begun {
            Ok(mut wakes) => {
                wakes.end().unwrap();
                wakes.finish(&place, &mut captured);
                let text = std::fs::read(place.path("wakes.json")).unwrap_or_else(|_| panic!("{captured:?}"));
                let file: WakesFile = serde_json::from_slice(&text).unwrap();
                let by_client =
                    file.woken_by.iter().find(|one| one.who == "client").unwrap_or_else(|| panic!("{file:?}"));
                assert!(file.threads == 1 && by_client.wakes > 5, "{file:?}");
                let sum: f64 = file.charged.iter().map(|one| one.fraction).sum();
                assert!((sum - file.slept_fraction).abs() < 0.01, "{file:?}");
                let planted = file.callers.iter().filter(|one| one.chain.contains("planted_wait"));
                let planted: f64 = planted.map(|one| one.fraction).sum();
                assert!(planted > 0.5 * file.slept_fraction, "{captured:?} {file:?}");
            }
            Err(e) => assert!(e.to_string().contains("perf"), "{e}"),
        }
        drop(asks);
        server.join().unwrap();
        assert!(!place.path(WAKES_RECORDING).exists());
    }
}
