//! Which threads wake which: scheduler tracepoints during the capture sample. Waiting time is attributed along the
//! chain of wakers as in wPerf (Zhou, Gan, Ma & Wang, OSDI 2018). Call chains of some sleeps show which functions led
//! to them.

use super::frames::{KERNEL, Weights, samples};
use super::perf::{Perf, Recording, TRACEPOINTS, next_line, unreadable};
use super::place::{CALLERS_RECORDING, Captured, Place, WAKES_RECORDING};
use super::settings::CallGraph;
use super::wake_charges::{Threads, Timeline, charge, event, nanoseconds};
use std::collections::BTreeSet;
use std::io::{self, BufRead, Take};
use std::path::Path;
use tare_cpuset::{ThreadRef, observe};
use tare_engine::{Unavailable, interrupted};
use tare_results::captures::{CALLERS, WAKES};
use tare_results::waits::{CallerShare, WakesFile};

/// Limit of events read: some seconds of a server that switches for every statement.
const EVENTS: u64 = 2_000_000;
const LARGEST: &str = "256M";
/// The identity of the namespace in which the kernel starts (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";
const IN_CONTAINER: &str = "perf's tracepoints name threads by the numbers of the first PID namespace, and this is \
     another: run tare outside of the container, or in one with --pid host; capture.waits records what threads sleep \
     in and the callers here too";

pub(super) struct Wakes {
    recording: Recording,
    pub(super) callers: Result<Recording, Unavailable>,
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
        let callers = begin_callers(place, graph, connections);
        Ok(Self { recording, callers, threads: threads(pid, connections) })
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
                let read = |recording| read_callers(&recording, &timeline, &self.threads.connections);
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

/// Limits of recorded sleeps, per second over all CPUs, and in total: each record contains a copy of the stack.
const SLEEPS_PER_S: f64 = 400.0;
const SLEEPS: f64 = 10_000.0;
const LARGEST_CALLERS: &str = "256M";
/// Limit of observed threads: the kernel's event filter may not exceed a page.
const THREADS: usize = 128;
/// Selects threads that go to sleep, interruptible or not, and excludes preempted threads.
const SLEEPS_NOW: &str = "prev_state & 3";
/// Tolerance between the timestamps of the same event in the two recordings, nanoseconds.
const NEAR_NS: u64 = 200_000;

pub(super) fn begin_callers(
    place: &Place,
    graph: CallGraph,
    connections: &[ThreadRef],
) -> Result<Recording, Unavailable> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let per_s = SLEEPS_PER_S.min(SLEEPS / place.sample_s.max(0.1)) / cpus as f64;
    let (frequency, graph) = ((per_s.max(1.0) as u64).to_string(), graph.argument());
    let threads: Vec<String> =
        connections.iter().take(THREADS).map(|thread| format!("prev_pid == {}", thread.tid)).collect();
    let filter = format!("({SLEEPS_NOW}) && ({})", threads.join(" || "));
    let arguments = ["record", "-a", "-e", "sched:sched_switch", "--filter", &filter, "-F", &frequency];
    let arguments = [arguments.as_slice(), &["--call-graph", &graph, "--max-size", LARGEST_CALLERS]].concat();
    Recording::begin(place, CALLERS_RECORDING, &arguments, TRACEPOINTS)
}

/// The chains of a recording, as shares of these threads' time; they add up to the share for which the threads slept.
fn read_callers(
    recording: &Recording,
    timeline: &Timeline,
    connections: &BTreeSet<u32>,
) -> Result<Vec<CallerShare>, Unavailable> {
    let fields = ["--ns", "-F", "tid,time,event,period,ip,sym,dso"];
    let output = Perf::script(&recording.path(), &fields)?;
    of(output, timeline, connections).map_err(unreadable)
}

fn of(script: Take<impl BufRead>, timeline: &Timeline, connections: &BTreeSet<u32>) -> io::Result<Vec<CallerShare>> {
    let mut weights = Weights::default();
    samples(script, head, |switch, mut frames| {
        let slept_ns = timeline.slept_ns(switch.tid, switch.at_ns, NEAR_NS).unwrap_or(0);
        frames.retain(|frame| !frame.ends_with(KERNEL));
        if slept_ns > 0 && !frames.is_empty() && connections.contains(&switch.tid) {
            weights.add(&frames, slept_ns as f64 * switch.stands_for as f64);
        }
    })?;
    let whole = weights.sum();
    Ok(weights.shares(timeline.slept_fraction(connections), whole))
}

/// A recorded sleep, which represents `stands_for` sleeps (the sampling period).
struct Switch {
    tid: u32,
    at_ns: u64,
    stands_for: u32,
}

/// Parses `31628 26448.779615165:          7 sched:sched_switch:`.
fn head(text: &str) -> Option<Switch> {
    let (tid, rest) = text.split_once(char::is_whitespace)?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (period, event) = rest.trim_start().split_once(char::is_whitespace)?;
    let is_switch = event.trim() == "sched:sched_switch:";
    let (tid, stands_for) = (tid.parse().ok()?, period.parse().ok()?);
    is_switch.then_some(Switch { tid, at_ns: nanoseconds(time.trim())?, stands_for })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::perf::ALL;
    use proptest::prelude::*;
    use std::io::{Cursor, Read};
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    #[inline(never)]
    fn planted_wait(from: &mut UnixStream, byte: &mut [u8]) -> bool {
        Read::read_exact(from, byte).is_ok()
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

    /// In 10 ms thread 7 sleeps for 3 ms and for 1 ms, and is preempted once; thread 8 sleeps for 5 ms.
    fn timeline() -> Timeline {
        let switch = |at_ms: f64, from: u32, state: &str, to: u32| {
            let at = 5.0 + at_ms / 1000.0;
            format!(
                "{from} {at:.9}: sched:sched_switch: prev_comm=a prev_pid={from} prev_prio=120 prev_state={state} ==> \
                 next_comm=a next_pid={to} next_prio=120"
            )
        };
        let mut timeline = Timeline::default();
        for line in [
            switch(0.0, 0, "R", 7),
            switch(1.0, 7, "S", 8),
            switch(4.0, 8, "S", 7),
            switch(6.0, 7, "S", 0),
            switch(7.0, 0, "R", 7),
            switch(8.0, 7, "R", 0),
            switch(9.0, 0, "R", 8),
            switch(10.0, 8, "R", 0),
        ] {
            timeline.add(&event(&line).unwrap());
        }
        timeline.end();
        timeline
    }

    fn sample(tid: u32, at: &str, period: u32, inner: &str) -> String {
        format!(
            "{tid} {at}: {period} sched:sched_switch: \n\tffffffff81 schedule ([kernel.kallsyms])\n\t1 futex (/libc.so)\n\
             \t2 {inner} (/m)\n\t3 serve (/m)\n\n"
        )
    }

    #[test]
    fn a_call_chain_is_weighted_by_the_sleep_that_began_in_it() {
        // The second sample represents two sleeps; the third is not a sleep, the fourth is of another thread, the
        // fifth has an unknown time.
        let script = sample(7, "5.001000100", 1, "lock(int)")
            + &sample(7, "5.006000000", 2, "log")
            + &sample(7, "5.008000000", 1, "none")
            + &sample(8, "5.004000000", 1, "none")
            + &sample(7, "9.000000000", 1, "none");
        let found = of(Cursor::new(script).take(ALL), &timeline(), &[7].into()).unwrap();
        let found: Vec<(&str, f64)> =
            found.iter().map(|one| (one.chain.as_str(), (1000.0 * one.fraction).round() / 1000.0)).collect();
        // 4 ms of 10 ms, divided 3 to 2.
        assert_eq!(found, [("serve;lock;futex", 0.24), ("serve;log;futex", 0.16)]);
        assert_eq!(of(Cursor::new("").take(ALL), &timeline(), &[7].into()).unwrap(), []);
    }

    proptest! {
        #[test]
        fn no_output_of_perf_makes_it_panic(text in "[0-9 .:\t\nschedwit_f();]{0,300}") {
            let _ = of(Cursor::new(format!("7 5.001000000: 1 sched:sched_switch:\n{text}")).take(ALL), &timeline(), &[7].into());
        }
    }
}
