//! The main loop of a client thread.

use super::phase::{Events, Phase, Shared, Totals};
use super::report::{Gap, LEAST, Message, ThreadReport};
use super::settings::{LoadSettings, Rest};
use crate::client::{Attempt, Client, ClientThread, Connect};
use crate::cpu::CpuTime;
use crate::pace::{Pace, Prompt, Schedule, nanoseconds};
use crate::random::{Purpose, Random};
use crate::recorder::{Complete, Recorder, SliceRecorder};
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;

/// Longest sleep before the phase is checked again, because the client's own waiting may consume a wake-up.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// What all threads of a run get.
pub(super) struct Common<'a> {
    pub(super) settings: LoadSettings,
    pub(super) shared: &'a Shared,
    /// Set right before the warm-up is announced.
    pub(super) started: &'a OnceLock<Instant>,
}

/// The main function of thread number `index`: bind, connect, report, wait, send until the run stops.
pub(super) fn live<K: Connect>(common: &Common<'_>, connect: &K, index: usize, controller: Sender<Message<K::Error>>) {
    let _on_panic = ReportOnPanic { thread: index, controller: &controller };
    let thread = ClientThread { index, id: ThreadRef::of_this_thread() };
    let client = match connect.bind(thread).and_then(|()| connect.connect(thread)) {
        Ok(client) => client,
        Err(source) => return publish(&controller, Message::ConnectFailed { thread: index, source }),
    };
    publish(&controller, Message::Connected(thread));
    while common.shared.phase() == Phase::Hold {
        std::thread::park();
    }
    let Some(&started) = common.started.get() else { return };
    let mut worker = Worker::new(common, thread, client, started, &controller);
    if let Err(source) = worker.send_until_stopped() {
        publish(&controller, Message::Failed { thread: index, source });
    }
}

/// Ignores a closed channel: the controller may have ended already after the failure of another thread.
fn publish<E>(controller: &Sender<Message<E>>, message: Message<E>) {
    let _ = controller.send(message);
}

struct ReportOnPanic<'a, E> {
    thread: usize,
    controller: &'a Sender<Message<E>>,
}

impl<E> Drop for ReportOnPanic<'_, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            publish(self.controller, Message::Panicked { thread: self.thread });
        }
    }
}

struct Worker<'a, C: Client> {
    shared: &'a Shared,
    thread: ClientThread,
    client: C,
    random: Random,
    schedule: Option<Schedule>,
    pace: Pace,
    sample_s: f64,
    rest: Rest,
    started: Instant,
    phase: Phase,
    recorder: Recorder,
    cpu_at_start: CpuTime,
    /// Totals since the start of the warm-up.
    totals: Totals,
    last_end: Instant,
    /// Whether the current transaction is one of [`LoadSettings::events`].
    is_event: bool,
    /// Start of the first sample: transactions that were due before belong to the warm-up.
    first_sample: Instant,
    sample_start: Instant,
    /// When the current transaction was due or begun; `None` while nothing is due.
    busy_from: Option<Instant>,
    /// When the current transaction was begun, in open loop.
    begun: Instant,
    /// The queue of a client that is never late.
    prompt: Prompt,
    gaps: Vec<Gap>,
    /// When the transaction ended that was running at the end of the sample, if clients rest afterwards.
    overran: Option<Instant>,
    controller: &'a Sender<Message<C::Error>>,
}

impl<'a, C: Client> Worker<'a, C> {
    fn new(
        common: &Common<'a>,
        thread: ClientThread,
        client: C,
        started: Instant,
        controller: &'a Sender<Message<C::Error>>,
    ) -> Self {
        let settings = &common.settings;
        if settings.pace != Pace::Closed {
            // By default the kernel may delay a wake-up by 50 us, which would be measured as latency. Best effort.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        }
        Self {
            shared: common.shared,
            thread,
            client,
            random: Random::new(settings.seed, Purpose::Transactions, thread.index),
            schedule: Schedule::new(settings.pace, settings.sample_s, settings.seed, thread.index, settings.threads),
            rest: settings.rest,
            started,
            phase: Phase::Warmup,
            recorder: Recorder::of_loop(settings.pace),
            pace: settings.pace,
            sample_s: settings.sample_s,
            sample_start: started,
            cpu_at_start: CpuTime::default(),
            totals: Totals::default(),
            last_end: started,
            is_event: false,
            first_sample: started,
            busy_from: None,
            begun: started,
            prompt: Prompt::new(started),
            gaps: Vec::new(),
            overran: None,
            controller,
        }
    }

    /// The hot loop: per transaction one clock reading, one load of the phase and one store to an own cache line.
    fn send_until_stopped(&mut self) -> Result<(), C::Error> {
        let mut start = Instant::now();
        loop {
            if self.schedule.is_some() {
                let Some(due) = self.wait_until_due() else { return Ok(()) };
                if !self.take_event(Some(due)) {
                    return Ok(());
                }
                start = due;
                self.begun = Instant::now();
                // Busy from the due time on, even if the thread woke up late.
                self.busy_from = Some(due.max(self.last_end));
            } else {
                let pause = self.client.pause(&mut self.random);
                if !pause.is_zero() {
                    if !self.wait(pause) {
                        return Ok(());
                    }
                    start = Instant::now();
                }
                while let Some(idle) = self.client.idle() {
                    if !self.wait(idle) {
                        return Ok(());
                    }
                    start = Instant::now();
                }
                if !self.take_event(None) {
                    return Ok(());
                }
                self.busy_from = Some(start);
            }
            let due = self.schedule.is_some().then_some(start);
            let Some(done) = self.complete_transaction(due)? else { return Ok(()) };
            let end = Instant::now();
            self.note_gap(end);
            let prompt_ns = due.map_or(0, |due| self.prompt.ended(due, self.begun, end));
            (self.last_end, self.busy_from) = (end, None);
            let mut next_start = end;
            let latency_ns = nanoseconds(start, end);
            let phase = self.shared.phase();
            let mut rested = false;
            if phase != self.phase {
                rested = self.rests_in(phase);
                if rested && matches!(self.phase, Phase::Measure(_)) {
                    // No transaction was running when the sample began, so this one and its time belong to the sample.
                    self.recorder.record(latency_ns, &done);
                    self.overran = Some(end);
                }
                if !self.enter(phase, due) || (rested && !self.rest_out()) {
                    return Ok(());
                }
                next_start = Instant::now();
                if rested {
                    self.last_end = next_start;
                }
            }
            // A transaction that ended before a rest does not belong to the sample after it.
            if matches!(self.phase, Phase::Measure(_)) && !rested && !self.is_of_warm_up(due) && self.counts() {
                self.recorder.record(latency_ns, &done);
                if let Some(queue) = &mut self.recorder.queue {
                    queue.record(prompt_ns);
                }
                if let Some(slice) = self.slice(due) {
                    slice.latencies.record(latency_ns);
                    slice.done += 1;
                }
                if self.shared.events.as_ref().is_some_and(Events::is_last) {
                    publish(self.controller, Message::Enough);
                }
            }
            self.publish(latency_ns, &done);
            start = next_start;
        }
    }

    /// Takes one of [`LoadSettings::events`]; if all are taken, waits for the end of the run. `due` is the due time in
    /// open loop. False when the run is over.
    #[inline]
    fn take_event(&mut self, due: Option<Instant>) -> bool {
        let Some(events) = &self.shared.events else { return true };
        loop {
            let phase = self.shared.phase();
            if phase != self.phase && !self.enter(phase, due) {
                return false;
            }
            self.is_event = matches!(self.phase, Phase::Measure(_)) && !events.all_taken() && events.take();
            if self.is_event || self.phase == Phase::Warmup {
                return true;
            }
            // The controller unparks at every change of phase.
            std::thread::park_timeout(LONGEST_SLEEP);
        }
    }

    /// Whether to record the transaction that ended. One that began in the warm-up takes an event now, if any is left.
    #[inline]
    fn counts(&self) -> bool {
        self.is_event || self.shared.events.as_ref().is_none_or(Events::take)
    }

    /// Records a long time without a completed transaction.
    #[inline]
    fn note_gap(&mut self, until: Instant) {
        if until.saturating_duration_since(self.last_end) >= LEAST {
            self.gaps.push(Gap { from: self.last_end, busy_from: self.busy_from.unwrap_or(until), to: until });
        }
    }

    /// Publishes the totals and the latency.
    #[inline]
    fn publish(&mut self, latency_ns: u64, done: &Complete) {
        self.totals.completed += 1;
        self.totals.queries += done.queries;
        self.totals.restarts += done.restarts;
        self.totals.reconnects += done.reconnects;
        self.totals.counted = self.client.counted();
        self.shared.publish(self.thread.index, &self.totals);
        self.shared.publish_latency(self.thread.index, latency_ns);
    }

    /// Runs one transaction to its end; `None` if the run stops between two attempts. `due` is the due time in open
    /// loop. The phase is checked between attempts, so that a sample can end during a transaction.
    fn complete_transaction(&mut self, due: Option<Instant>) -> Result<Option<Complete>, C::Error> {
        let mut done = Complete::default();
        let mut away = false;
        loop {
            match self.client.transaction(&mut self.random)? {
                Attempt::Done(queries) => {
                    done.queries += queries;
                    done.reconnects += u64::from(away);
                    return Ok(Some(done));
                }
                Attempt::Restart(queries) => {
                    done.queries += queries;
                    done.restarts += 1;
                    done.reconnects += u64::from(std::mem::take(&mut away));
                }
                Attempt::Away => away = true,
            }
            let phase = self.shared.phase();
            // A client that rests begins no rest before its transaction has ended.
            if phase != self.phase && !self.rests_in(phase) && !self.enter(phase, due) {
                return Ok(None);
            }
        }
    }

    /// The slice of the current sample in which a transaction was due, if the rate changes.
    #[inline]
    fn slice(&mut self, due: Option<Instant>) -> Option<&mut SliceRecorder> {
        let since = due.filter(|_| !self.recorder.slices.is_empty())?.checked_duration_since(self.sample_start)?;
        let number = since.as_secs_f64() / self.sample_s * self.recorder.slices.len() as f64;
        self.recorder.slices.get_mut(number as usize)
    }

    /// Whether a transaction was due before the first sample. Its latency depends on the warm-up.
    #[inline]
    fn is_of_warm_up(&self, due: Option<Instant>) -> bool {
        due.is_some_and(|due| due < self.first_sample)
    }

    /// Sleeps until the next transaction is due and returns its due time; `None` if the run stops. Transactions that
    /// were due in the warm-up and have not begun when the first sample begins are skipped: they would delay later
    /// ones.
    fn wait_until_due(&mut self) -> Option<Instant> {
        let mut due_ns = self.schedule.as_mut()?.next()?;
        loop {
            // Checked also when late, because a thread that never sleeps must see the stop.
            let phase = self.shared.phase();
            if phase != self.phase {
                if !self.enter(phase, Some(self.at(due_ns))) || (self.rests_in(phase) && !self.rest_out()) {
                    return None;
                }
                due_ns = self.schedule.as_mut()?.known_now(due_ns);
            }
            while self.is_of_warm_up(Some(self.at(due_ns))) {
                due_ns = self.schedule.as_mut()?.next()?;
            }
            let due = self.at(due_ns);
            match due.checked_duration_since(Instant::now()) {
                // The controller unparks at every change of phase.
                Some(left) if !left.is_zero() => std::thread::park_timeout(left.min(LONGEST_SLEEP)),
                _ => return Some(due),
            }
        }
    }

    /// A time since the start of the warm-up.
    fn at(&self, ns: u64) -> Instant {
        self.started + Duration::from_nanos(ns)
    }

    /// Sleeps for `pause`, across changes of phase. False when the run is over.
    fn wait(&mut self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        loop {
            let phase = self.shared.phase();
            if phase != self.phase && !(self.enter(phase, None) && (!self.rests_in(phase) || self.rest_out())) {
                return false;
            }
            match until.checked_duration_since(Instant::now()) {
                // The controller unparks at every change of phase.
                Some(left) if !left.is_zero() => std::thread::park_timeout(left.min(LONGEST_SLEEP)),
                _ => return true,
            }
        }
    }

    fn rests_in(&self, phase: Phase) -> bool {
        match phase {
            Phase::Rest => true,
            Phase::Pause(_) => self.rest == Rest::AroundEach,
            Phase::Hold | Phase::Warmup | Phase::Measure(_) | Phase::Stop => false,
        }
    }

    /// Waits until the phases in which clients rest are over. False when the run is over.
    fn rest_out(&mut self) -> bool {
        loop {
            let now = self.shared.phase();
            if now == self.phase {
                // The controller unparks at every change of phase.
                std::thread::park_timeout(LONGEST_SLEEP);
            } else if !self.enter(now, None) {
                return false;
            } else if !self.rests_in(now) {
                return true;
            }
        }
    }

    /// Enters a phase: reports the sample that ended, or prepares for the next. False when the run is over. `in_hand`
    /// is the due time of the current transaction, in open loop.
    fn enter(&mut self, phase: Phase, in_hand: Option<Instant>) -> bool {
        let before = std::mem::replace(&mut self.phase, phase);
        match phase {
            Phase::Stop => return false,
            Phase::Measure(_) => {
                self.first_sample = self.at(self.shared.first_sample.ns());
                let start_ns = self.shared.sample_start.ns();
                self.sample_start = self.at(start_ns);
                if let Some(schedule) = &mut self.schedule {
                    schedule.sample_begins(start_ns);
                }
                self.client.sample_begins();
                self.cpu_at_start = CpuTime::of_this_thread();
            }
            Phase::Pause(part) => {
                // If a transaction lasted longer than the part, the thread missed its start; its CPU time is unknown.
                let saw_start = before == Phase::Measure(part);
                let now = CpuTime::of_this_thread();
                let cpu = if saw_start { now.since(self.cpu_at_start) } else { CpuTime::default() };
                if !saw_start && self.totals.completed > 0 {
                    // What it has counted since the sample before, as in the warm-up, belongs to no sample.
                    self.client.sample_begins();
                }
                self.client.sample_ended(part.sample as usize);
                let backlog = self.backlog(in_hand);
                let next = Recorder::of_loop(self.pace);
                let recorder = std::mem::replace(&mut self.recorder, next);
                // A gap that continues; `stalls` cuts off what is outside the sample.
                self.note_gap(Instant::now());
                let gaps = std::mem::take(&mut self.gaps);
                let overran = self.overran.take();
                let report = ThreadReport { thread: self.thread, recorder, cpu, backlog, gaps, overran };
                publish(self.controller, Message::Report(Box::new(report)));
            }
            Phase::Rest => publish(self.controller, Message::Resting { thread: self.thread.index }),
            Phase::Hold | Phase::Warmup => {}
        }
        true
    }

    /// Number of transactions that were due by the end of the sample and not completed then: the current one and all
    /// after it. Each is recorded with its waiting time until then.
    fn backlog(&mut self, in_hand: Option<Instant>) -> Option<u64> {
        self.schedule.as_ref()?;
        if self.shared.events.as_ref().is_some_and(Events::all_taken) {
            // Transactions that are due after the last event do not count.
            return Some(0);
        }
        let end = self.at(self.shared.sample_end.ns());
        let mut prompt = self.prompt;
        let mut count = 0;
        let first = self.first_sample;
        if let Some(due) = in_hand.filter(|due| (first..=end).contains(due)) {
            // If it is already completed, `prompt` includes it.
            if self.busy_from.is_some() {
                prompt.ended(due, self.begun, end);
            }
            self.waits(due, end, &prompt);
            count += 1;
        }
        let started = self.started;
        let due = self.schedule.clone()?.map(move |ns| started + Duration::from_nanos(ns));
        for due in due.skip_while(|due| *due < first).take_while(|due| *due <= end) {
            self.waits(due, end, &prompt);
            count += 1;
        }
        Some(count)
    }

    /// Records the waiting time of a transaction that was due and not completed at the end of the sample.
    fn waits(&mut self, due: Instant, end: Instant, prompt: &Prompt) {
        let waited_ns = nanoseconds(due, end);
        if let Some(queue) = &mut self.recorder.queue {
            queue.waiting(waited_ns, prompt.waiting(due, end));
        }
        if let Some(slice) = self.slice(Some(due)) {
            slice.latencies.record(waited_ns);
        }
    }
}
