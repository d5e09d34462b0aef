//! Attribution of sleeping time: a sleep is charged to the activity of the thread that ended it. Time that the waker
//! itself slept is charged to its own waker, and so on. The events are those of `perf script --ns -F
//! tid,time,event,trace` of `sched:sched_switch` and `sched:sched_waking`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use tare_results::schema::SCHEMA;
use tare_results::waits::{ChargedShare, Doing, WakerShare, WakesFile};

/// Maximum number of wakers in a chain: the remaining time is charged to the sleep of the last one.
const CHAIN: usize = 6;
const SMALLEST: f64 = 1e-4;
/// The idle thread of a CPU: a wake-up from it was caused by an interrupt.
const IDLE: u32 = 0;

#[derive(Debug, Default)]
pub(super) struct Threads {
    pub connections: BTreeSet<u32>,
    pub clients: BTreeSet<u32>,
    pub background: BTreeSet<u32>,
}

impl Threads {
    fn who(&self, tid: u32, timeline: &Timeline) -> String {
        let name = || timeline.names.get(&tid).map_or("unknown", String::as_str);
        match tid {
            IDLE => "interrupt".to_owned(),
            _ if self.connections.contains(&tid) => "connection".to_owned(),
            _ if self.clients.contains(&tid) => "client".to_owned(),
            _ if self.background.contains(&tid) => format!("background {}", name()),
            _ => format!("another program: {}", name()),
        }
    }
}

/// Nanoseconds charged to each kind of thread and activity.
struct Charges<'t> {
    timeline: &'t Timeline,
    threads: &'t Threads,
    charged: BTreeMap<(String, Doing), u64>,
}

pub(super) fn charge(timeline: &Timeline, threads: &Threads, cut: bool) -> WakesFile {
    let mut charges = Charges { timeline, threads, charged: BTreeMap::new() };
    let mut wakers = BTreeMap::<String, (u64, u64)>::new();
    let (mut slept_ns, mut seen) = (0, 0);
    for spans in threads.connections.iter().filter_map(|tid| timeline.spans.get(tid)) {
        seen += 1;
        for span in spans {
            let State::Asleep { woken_by: Some(by) } = span.state else { continue };
            let length_ns = span.to_ns - span.from_ns;
            slept_ns += length_ns;
            let (wakes, ns) = wakers.entry(threads.who(by, timeline)).or_default();
            (*wakes, *ns) = (*wakes + 1, *ns + length_ns);
            charges.pass_on(by, span.from_ns, span.to_ns, 1);
        }
    }
    let whole = timeline.elapsed_ns() as f64 * f64::from(seen);
    let share = |ns: u64| if whole > 0.0 { ns as f64 / whole } else { 0.0 };
    let mut woken_by: Vec<WakerShare> =
        wakers.into_iter().map(|(who, (wakes, ns))| WakerShare { who, wakes, fraction: share(ns) }).collect();
    woken_by.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
    let charged = charges.charged.into_iter();
    let mut charged: Vec<ChargedShare> =
        charged.map(|((who, doing), ns)| ChargedShare { who, doing, fraction: share(ns) }).collect();
    charged.retain(|one| one.fraction >= SMALLEST);
    charged.sort_by(|a, b| b.fraction.total_cmp(&a.fraction));
    WakesFile {
        schema: SCHEMA,
        elapsed_s: timeline.elapsed_ns() as f64 / 1e9,
        threads: seen as usize,
        events: timeline.events,
        cut,
        slept_fraction: share(slept_ns),
        woken_by,
        charged,
        callers: Vec::new(),
    }
}

impl Charges<'_> {
    fn pass_on(&mut self, to: u32, from_ns: u64, to_ns: u64, place: usize) {
        let mut left_ns = to_ns - from_ns;
        if to != IDLE {
            let timeline = self.timeline;
            for span in timeline.between(to, from_ns, to_ns) {
                let length_ns = span.to_ns - span.from_ns;
                left_ns -= length_ns;
                match span.state {
                    State::Ran => self.add(to, Doing::Ran, length_ns),
                    State::Ready => self.add(to, Doing::WaitedForCpu, length_ns),
                    State::Asleep { woken_by: Some(next) } if place < CHAIN && next != to => {
                        self.pass_on(next, span.from_ns, span.to_ns, place + 1);
                    }
                    State::Asleep { .. } => self.add(to, Doing::Asleep, length_ns),
                }
            }
        }
        // Time without a span: of an interrupt, or of a thread before it began.
        if left_ns > 0 {
            self.add(to, Doing::Asleep, left_ns);
        }
    }

    fn add(&mut self, to: u32, doing: Doing, ns: u64) {
        *self.charged.entry((self.threads.who(to, self.timeline), doing)).or_default() += ns;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ran,
    Ready,
    /// Until another thread woke it; None if no wake-up was recorded.
    Asleep {
        woken_by: Option<u32>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub from_ns: u64,
    pub to_ns: u64,
    pub state: State,
}

/// The spans of all threads in chronological order; spans of one thread do not overlap.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub spans: HashMap<u32, Vec<Span>>,
    pub names: HashMap<u32, String>,
    now: HashMap<u32, (u64, State)>,
    first_ns: Option<u64>,
    last_ns: u64,
    pub events: u64,
}

impl Timeline {
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        let at_ns = event.at_ns.max(self.last_ns);
        self.first_ns.get_or_insert(at_ns);
        self.last_ns = at_ns;
        self.events += 1;
        match event.what {
            What::Switch { previous, sleeps, next } => {
                for thread in [previous, next] {
                    self.names.entry(thread.tid).or_insert_with(|| thread.name.to_owned());
                }
                let state = if sleeps { State::Asleep { woken_by: None } } else { State::Ready };
                self.becomes(previous.tid, at_ns, state, State::Ran);
                self.becomes(next.tid, at_ns, State::Ran, State::Ready);
            }
            What::Waking { by, woken } => {
                let asleep = self.now.get(&woken).is_none_or(|(_, state)| matches!(state, State::Asleep { .. }));
                if asleep {
                    let slept = State::Asleep { woken_by: Some(by) };
                    self.now.entry(woken).and_modify(|(_, state)| *state = slept);
                    self.becomes(woken, at_ns, State::Ready, slept);
                }
            }
        }
    }

    /// Ends the thread's current span and begins the next; `before` is the state before the thread's first event.
    fn becomes(&mut self, tid: u32, at_ns: u64, next: State, before: State) {
        let began = self.first_ns.unwrap_or(at_ns);
        let (from_ns, state) = self.now.insert(tid, (at_ns, next)).unwrap_or((began, before));
        if at_ns > from_ns {
            self.spans.entry(tid).or_default().push(Span { from_ns, to_ns: at_ns, state });
        }
    }

    pub(crate) fn end(&mut self) {
        for (tid, (from_ns, state)) in std::mem::take(&mut self.now) {
            if self.last_ns > from_ns {
                self.spans.entry(tid).or_default().push(Span { from_ns, to_ns: self.last_ns, state });
            }
        }
    }

    fn elapsed_ns(&self) -> u64 {
        self.last_ns - self.first_ns.unwrap_or(self.last_ns)
    }

    /// Duration of the sleep that a thread began within `near_ns` of this moment.
    pub(crate) fn slept_ns(&self, tid: u32, at_ns: u64, near_ns: u64) -> Option<u64> {
        let spans = self.spans.get(&tid)?;
        let after = spans.partition_point(|span| span.from_ns <= at_ns.saturating_add(near_ns));
        let near = spans[..after].iter().rev().take_while(|span| span.from_ns.saturating_add(near_ns) >= at_ns);
        let asleep = near.filter(|span| matches!(span.state, State::Asleep { .. }));
        asleep.min_by_key(|span| span.from_ns.abs_diff(at_ns)).map(|span| span.to_ns - span.from_ns)
    }

    /// Fraction of their time for which these threads slept; threads without spans are ignored.
    pub(crate) fn slept_fraction(&self, threads: &BTreeSet<u32>) -> f64 {
        let seen = || threads.iter().filter_map(|tid| self.spans.get(tid));
        let asleep = seen().flatten().filter(|span| matches!(span.state, State::Asleep { .. }));
        let whole = self.elapsed_ns() as f64 * seen().count() as f64;
        let slept: u64 = asleep.map(|span| span.to_ns - span.from_ns).sum();
        if whole > 0.0 { slept as f64 / whole } else { 0.0 }
    }

    /// The spans of a thread between two moments, truncated to them.
    fn between(&self, tid: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Span> {
        let spans = self.spans.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.to_ns <= from_ns);
        spans[first..].iter().take_while(move |span| span.from_ns < to_ns).map(move |span| Span {
            from_ns: span.from_ns.max(from_ns),
            to_ns: span.to_ns.min(to_ns),
            state: span.state,
        })
    }
}

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

    /// Connection 11 sleeps from 1 to 9 ms, waiting for connection 12, which holds a lock: 12 runs until 2, sleeps for
    /// the log writer until 7, is runnable until 8 and runs until it wakes 11 at 9. The log writer (21) waits from 3
    /// to 6 for an interrupt.
    const CHAIN_OF_THREE: &str = "\
        0 1.000000000: sched:sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=conn next_pid=12 next_prio=120
        11 1.001000000: sched:sched_switch: prev_comm=conn prev_pid=11 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
        12 1.002000000: sched:sched_waking: comm=log pid=21 prio=120 target_cpu=000
        12 1.002000000: sched:sched_switch: prev_comm=conn prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=log next_pid=21 next_prio=120
        21 1.003000000: sched:sched_switch: prev_comm=log prev_pid=21 prev_prio=120 prev_state=D ==> next_comm=swapper next_pid=0 next_prio=120
        0 1.006000000: sched:sched_waking: comm=log pid=21 prio=120 target_cpu=000
        0 1.006000000: sched:sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=log next_pid=21 next_prio=120
        21 1.007000000: sched:sched_waking: comm=conn pid=12 prio=120 target_cpu=000
        21 1.008000000: sched:sched_switch: prev_comm=log prev_pid=21 prev_prio=120 prev_state=S ==> next_comm=conn next_pid=12 next_prio=120
        12 1.009000000: sched:sched_waking: comm=conn pid=11 prio=120 target_cpu=000
        12 1.010000000: sched:sched_switch: prev_comm=conn prev_pid=12 prev_prio=120 prev_state=S ==> next_comm=conn next_pid=11 next_prio=120
        ";

    #[test]
    fn a_sleep_is_charged_along_the_chain_of_wakers() {
        let mut timeline = Timeline::default();
        CHAIN_OF_THREE.lines().filter_map(event).for_each(|event| timeline.add(&event));
        timeline.end();
        let threads =
            Threads { connections: [11, 12].into(), clients: BTreeSet::new(), background: BTreeSet::from([21]) };
        let found = charge(&timeline, &threads, false);
        assert_eq!((found.threads, found.events), (2, 11));
        // Milliseconds, out of ten for each of two threads.
        let charged: Vec<(String, Doing, i32)> =
            found.charged.iter().map(|c| (c.who.clone(), c.doing, (c.fraction * 20.0).round() as i32)).collect();
        let of = |who: &str, doing| charged.iter().find(|c| c.0 == who && c.1 == doing).map_or(0, |c| c.2);
        // Of the 8 ms of 11: 12 ran 1 + 1 and was runnable 1, the log writer ran 1 + 1, the storage interrupt took 3.
        // Of the 5 ms of 12: the log writer ran 2, the interrupt took 3.
        assert_eq!(of("connection", Doing::Ran), 2, "{charged:?}");
        assert_eq!(of("connection", Doing::WaitedForCpu), 1, "{charged:?}");
        assert_eq!(of("background log", Doing::Ran), 4, "{charged:?}");
        assert_eq!(of("interrupt", Doing::Asleep), 6, "{charged:?}");
        let direct: Vec<(&str, u64)> = found.woken_by.iter().map(|w| (w.who.as_str(), w.wakes)).collect();
        assert_eq!(direct, [("connection", 1), ("background log", 1)]);
        assert!((found.slept_fraction - 13.0 / 20.0).abs() < 1e-9, "{found:?}");
        let sum: f64 = found.charged.iter().map(|c| c.fraction).sum();
        assert!((sum - found.slept_fraction).abs() < 1e-9, "nothing is lost: {found:?}");
    }

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
