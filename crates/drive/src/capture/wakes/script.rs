//! Parses `perf script --ns -F tid,time,event,trace` of `sched:sched_switch` and `sched:sched_waking`.

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event<'t> {
    pub at_ns: u64,
    pub what: What<'t>,
}

/// A scheduler event. Names are the kernel's, of at most 15 bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What<'t> {
    /// A thread left a CPU, sleeping or not, and another got it.
    Switch { previous: Thread<'t>, sleeps: bool, next: Thread<'t> },
    /// `by` is the thread that ran on the CPU; 0 if the CPU was idle, so that an interrupt caused the wake-up.
    Waking { by: u32, woken: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Thread<'t> {
    pub tid: u32,
    pub name: &'t str,
}

/// Parses a line; None if it is not one of these events.
pub(super) fn event(line: &str) -> Option<Event<'_>> {
    let (tid, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (time, rest) = rest.trim_start().split_once(": ")?;
    let (name, trace) = rest.trim_start().split_once(": ")?;
    let at_ns = nanoseconds(time.trim())?;
    let what = match name.strip_prefix("sched:")? {
        "sched_switch" => switch(trace)?,
        "sched_waking" => What::Waking { by: tid.parse().ok()?, woken: thread(trace, "comm=", " pid=")?.tid },
        _ => return None,
    };
    Some(Event { at_ns, what })
}

/// Converts a time in seconds as `perf --ns` prints it, `3108.500808839`, to nanoseconds.
pub(super) fn nanoseconds(time: &str) -> Option<u64> {
    let (whole, part) = time.split_once('.')?;
    let nanoseconds: u64 = part.parse().ok().filter(|_| part.len() == 9)?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
}

/// Parses `prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120`.
fn switch(trace: &str) -> Option<What<'_>> {
    // The name of the next thread may contain the arrow, but no more: it would be longer than a name.
    let (from, to) = trace.rsplit_once(" ==> next_comm=")?;
    let (_, state) = from.rsplit_once(" prev_state=")?;
    let previous = thread(from, "prev_comm=", " prev_pid=")?;
    let next = thread(to, "", " next_pid=")?;
    // R: runnable; R+: preempted.
    Some(What::Switch { previous, sleeps: !state.starts_with('R'), next })
}

/// A name may contain any text, even the word after it: the last occurrence of the word counts.
fn thread<'t>(text: &'t str, name: &str, id: &str) -> Option<Thread<'t>> {
    let (before, after) = text.rsplit_once(id)?;
    let tid = after.split(' ').next()?.parse().ok()?;
    Some(Thread { tid, name: before.trim_start().strip_prefix(name)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn switches_and_wake_ups_are_parsed_whatever_the_thread_names() {
        let line = "   6204  3108.508729640: sched:sched_switch: prev_comm=a prev_pid=1 x prev_pid=6204 prev_prio=120 \
                    prev_state=R+ ==> next_comm=tare conn next_pid=5508 next_prio=125";
        let found = event(line).unwrap();
        let previous = Thread { tid: 6204, name: "a prev_pid=1 x" };
        let next = Thread { tid: 5508, name: "tare conn" };
        assert_eq!(found, Event { at_ns: 3_108_508_729_640, what: What::Switch { previous, sleeps: false, next } });
        let line = line.replace("a prev_pid=1 x", "S ==> a").replace("tare conn", "R ==> next_pid=");
        let What::Switch { previous, sleeps, next } = event(&line).unwrap().what else { panic!("{line}") };
        assert_eq!((previous.name, sleeps, next.name, next.tid), ("S ==> a", false, "R ==> next_pid=", 5508));
        let line = " 18  3108.500820440: sched:sched_waking: comm=perf pid=6446 prio=120 target_cpu=000";
        assert_eq!(event(line).unwrap().what, What::Waking { by: 18, woken: 6446 });
        for none in
            ["", "# a comment", "1 2.000000001: sched:sched_wakeup: comm=x pid=1", "1 2.0: sched:sched_waking: "]
        {
            assert_eq!(event(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[0-9a-z .:=_>]{0,120}") {
            let _ = event(&line);
        }
    }
}
