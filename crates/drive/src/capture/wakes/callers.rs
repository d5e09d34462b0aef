//! Callers of the sleeps of threads that serve connections: call chains of a sample of the sleeps, recorded when each
//! begins, and weighted by its duration.

use super::super::callers::Weights;
use super::super::perf::{Perf, Recording, TRACEPOINTS, unreadable};
use super::super::place::{CALLERS_RECORDING, Place};
use super::super::profile::{KERNEL, samples};
use super::charge::Timeline;
use super::script::nanoseconds;
use crate::capture::settings::CallGraph;
use std::collections::BTreeSet;
use std::io::{self, BufRead, Take};
use tare_cpuset::ThreadRef;
use tare_engine::Unavailable;
use tare_results::waits::CallerShare;

/// Limits of recorded sleeps, per second over all CPUs, and in total: each record contains a copy of the stack.
const SLEEPS_PER_S: f64 = 400.0;
const SLEEPS: f64 = 10_000.0;
const LARGEST: &str = "256M";
/// Limit of observed threads: the kernel's event filter may not exceed a page.
const THREADS: usize = 128;
/// Selects threads that go to sleep, interruptible or not, and excludes preempted threads.
const SLEEPS_NOW: &str = "prev_state & 3";
/// Tolerance between the timestamps of the same event in the two recordings, nanoseconds.
const NEAR_NS: u64 = 200_000;

pub(super) fn begin(place: &Place, graph: CallGraph, connections: &[ThreadRef]) -> Result<Recording, Unavailable> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let per_s = SLEEPS_PER_S.min(SLEEPS / place.sample_s.max(0.1)) / cpus as f64;
    let (frequency, graph) = ((per_s.max(1.0) as u64).to_string(), graph.argument());
    let threads: Vec<String> =
        connections.iter().take(THREADS).map(|thread| format!("prev_pid == {}", thread.tid)).collect();
    let filter = format!("({SLEEPS_NOW}) && ({})", threads.join(" || "));
    let arguments = ["record", "-a", "-e", "sched:sched_switch", "--filter", &filter, "-F", &frequency];
    let arguments = [arguments.as_slice(), &["--call-graph", &graph, "--max-size", LARGEST]].concat();
    Recording::begin(place, CALLERS_RECORDING, &arguments, TRACEPOINTS)
}

/// The chains of a recording, as shares of these threads' time; they add up to the share for which the threads slept.
pub(super) fn read(
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
    use super::super::script::event;
    use super::*;
    use crate::capture::perf::ALL;
    use proptest::prelude::*;
    use std::io::{Cursor, Read};

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
