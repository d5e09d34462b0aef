//! The controller starts the client threads, announces the phases and collects the reports.

use super::observer::{IntervalClock, Observer, Reading, RunPhase};
use super::phase::{Part, Phase, Shared};
use super::report::{LATE, Message, ThreadReport, Window, summarise};
use super::settings::{LoadSettings, Rest, RunError};
use super::worker::{Common, live};
use crate::client::{ClientThread, Connect};
use crate::sample::{LatencyMs, Sample};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, ScopedJoinHandle, Thread, scope, sleep};
use std::time::{Duration, Instant};
use tare_cpuset::{Limits, Wanted};

/// How often the observer is polled.
const POLL: Duration = Duration::from_millis(100);
/// How long threads may take to stop before [`Observer::abandon`] is called.
const GRACE: Duration = Duration::from_secs(1);
/// How often the controller checks whether the threads have ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

type Ended<K, O> = RunError<<K as Connect>::Error, <O as Observer>::Error>;

/// Runs the load and returns its samples. Client threads exist only during this call: it always returns after all of
/// them have ended, each after its current attempt at a transaction.
///
/// # Errors
/// A setting that is out of range, or what ended the run early: see [`RunError`].
pub fn run<K: Connect, O: Observer>(
    settings: &LoadSettings,
    connect: &K,
    observer: &mut O,
) -> Result<Vec<Sample>, Ended<K, O>> {
    settings.check()?;
    let wanted = Wanted { threads: settings.threads as u64, ..Wanted::default() };
    Limits::now().check(wanted).map_err(|source| RunError::Limit { threads: settings.threads, source })?;
    let shared = Shared::new(settings.threads, settings.intervals.is_some(), settings.events);
    let started = OnceLock::new();
    scope(|scope| {
        let common = Common { settings: *settings, shared: &shared, started: &started };
        let (sender, messages) = channel();
        let mut clients = Clients { shared: &shared, threads: Vec::with_capacity(settings.threads) };
        let mut handles = Vec::with_capacity(settings.threads);
        for index in 0..settings.threads {
            let sender = sender.clone();
            let common = Common { ..common };
            let handle = Builder::new()
                .name(format!("client-{index}"))
                .spawn_scoped(scope, move || live(&common, connect, index, sender))
                .map_err(|e| RunError::Spawn { thread: index, source: e.into() })?;
            clients.threads.push(handle.thread().clone());
            handles.push(handle);
        }
        let controller =
            Controller::<K, O> { settings, clients, messages, observer: &mut *observer, stood_still: Vec::new() };
        let result = controller.control(&started);
        let deadline = Instant::now() + GRACE;
        let waiting = |handles: &[ScopedJoinHandle<'_, ()>]| handles.iter().any(|handle| !handle.is_finished());
        while waiting(&handles) && Instant::now() < deadline {
            sleep(LOOK_EVERY);
        }
        if waiting(&handles) {
            observer.abandon();
        }
        // A panic was already reported as a message; joining here keeps it from propagating to this thread.
        handles.into_iter().for_each(|handle| drop(handle.join()));
        result
    })
}

/// The threads to wake at a change of phase. Dropping it stops them.
struct Clients<'a> {
    shared: &'a Shared,
    threads: Vec<Thread>,
}

impl Clients<'_> {
    fn announce(&self, phase: Phase) {
        self.shared.announce(phase);
        self.threads.iter().for_each(Thread::unpark);
    }
}

impl Drop for Clients<'_> {
    fn drop(&mut self) {
        self.announce(Phase::Stop);
    }
}

struct Controller<'a, K: Connect, O: Observer> {
    settings: &'a LoadSettings,
    clients: Clients<'a>,
    messages: Receiver<Message<K::Error>>,
    observer: &'a mut O,
    /// When this thread should have woken up and when it did, for each time that it was much too late.
    stood_still: Vec<(Instant, Instant)>,
}

impl<K: Connect, O: Observer> Controller<'_, K, O> {
    fn control(mut self, started: &OnceLock<Instant>) -> Result<Vec<Sample>, Ended<K, O>> {
        let threads = self.wait_for_connections()?;
        self.observer.connected(&threads).map_err(RunError::Observer)?;
        // With a limit of events there is no load before the sample, unless a warm-up is set.
        if self.settings.events.is_none() || self.settings.warmup_s > 0.0 {
            let start = *started.get_or_init(Instant::now);
            self.clients.announce(Phase::Warmup);
            self.pass(RunPhase::Warmup, start, self.settings.warmup_s)?;
        }
        if self.settings.rest != Rest::Never {
            self.clients.announce(Phase::Rest);
            self.wait_for_all(|message| match message {
                Message::Resting { thread } => Some((thread, ())),
                _ => None,
            })?;
        }
        let mut samples = Vec::with_capacity(self.settings.samples);
        for sample in 0..self.settings.samples {
            samples.push(self.sample(sample, started)?);
        }
        Ok(samples)
    }

    fn sample(&mut self, sample: usize, started: &OnceLock<Instant>) -> Result<Sample, Ended<K, O>> {
        self.observer.sample_start(sample).map_err(RunError::Observer)?;
        if self.settings.rest != Rest::AroundEach {
            let (window, tps_each_second) = self.measure((sample, 0), self.settings.sample_s, started)?;
            self.observer.sample_end(sample).map_err(RunError::Observer)?;
            return Ok(summarise(self.wait_for_reports()?, &window, self.settings, tps_each_second));
        }
        let parts = self.observer.parts(sample).max(1);
        let mut whole = self.part((sample, 0), parts, started)?;
        for part in 1..parts {
            self.observer.part_start().map_err(RunError::Observer)?;
            whole.add_part(self.part((sample, part), parts, started)?);
        }
        // Only once, at the end, to keep the pauses between the parts short.
        whole.latency_ms = LatencyMs::of(&whole.latencies);
        self.observer.sample_end(sample).map_err(RunError::Observer)?;
        Ok(whole)
    }

    /// Measures one part of a sample; clients rest afterwards.
    fn part(
        &mut self,
        place: (usize, usize),
        parts: usize,
        started: &OnceLock<Instant>,
    ) -> Result<Sample, Ended<K, O>> {
        let (window, tps_each_second) = self.measure(place, self.settings.sample_s / parts as f64, started)?;
        // A resting client has ended its last transaction when it reports.
        Ok(summarise(self.wait_for_reports()?, &window, self.settings, tps_each_second))
    }

    /// Lets clients record for `length_s` seconds. Returns the time window and the throughput of each whole second.
    fn measure(
        &mut self,
        (sample, part): (usize, usize),
        length_s: f64,
        started: &OnceLock<Instant>,
    ) -> Result<(Window, Vec<f64>), Ended<K, O>> {
        let start = Instant::now();
        let run_start = *started.get_or_init(|| start);
        let start_ns = start.duration_since(run_start).as_nanos() as u64;
        if sample == 0 {
            self.clients.shared.first_sample.set(start_ns);
        }
        self.clients.shared.sample_start.set(start_ns);
        let numbers = Part { sample: sample as u32, part: part as u32 };
        self.clients.announce(Phase::Measure(numbers));
        let tps_each_second = self.pass(RunPhase::Sample(sample), start, length_s)?;
        let end = Instant::now();
        self.clients.shared.sample_end.set(end.duration_since(run_start).as_nanos() as u64);
        self.clients.announce(Phase::Pause(numbers));
        let window = Window { start, end, stood_still: std::mem::take(&mut self.stood_still) };
        Ok((window, tps_each_second))
    }

    /// Waits until `length_s` seconds after `start` or until all events are done. Returns the throughput of each whole
    /// second.
    fn pass(&mut self, stage: RunPhase, start: Instant, length_s: f64) -> Result<Vec<f64>, Ended<K, O>> {
        let end = start + Duration::from_secs_f64(length_s);
        let mut tps_each_second = Vec::new();
        let (mut read_at, mut read) = (start, self.clients.shared.completed());
        let mut intervals =
            self.settings.intervals.map(|requested| IntervalClock::new(requested, self.clients.shared, start));
        loop {
            let second = tps_each_second.len() as u64 + 1;
            let due = start + Duration::from_secs(second);
            let now = Instant::now();
            if matches!(stage, RunPhase::Sample(_)) && self.observer.is_enough() {
                return Ok(tps_each_second);
            }
            if due <= end && now >= due {
                let completed = self.clients.shared.completed();
                let tps = (completed - read) as f64 / now.duration_since(read_at).as_secs_f64();
                (read_at, read) = (now, completed);
                tps_each_second.push(tps);
                self.observer.reading(Reading { stage, second, tps }).map_err(RunError::Observer)?;
                if let Some(interval) = intervals.as_mut().and_then(|clock| clock.look(stage, second, now)) {
                    self.observer.interval(interval).map_err(RunError::Observer)?;
                }
            } else if now >= end {
                return Ok(tps_each_second);
            } else {
                // The only messages now are failures, which next_message turns into errors, and the end of all events.
                if let Some(Message::Enough) = self.next_message((now + POLL).min(due).min(end))? {
                    return Ok(tps_each_second);
                }
            }
        }
    }

    fn wait_for_connections(&mut self) -> Result<Vec<ClientThread>, Ended<K, O>> {
        let mut threads = Vec::with_capacity(self.settings.threads);
        let patience_s = self.settings.connect_s;
        let mut deadline = Instant::now() + Duration::from_secs_f64(patience_s);
        while threads.len() < self.settings.threads {
            if let Some(Message::Connected(thread)) = self.next_message(Instant::now() + POLL)? {
                threads.push(thread);
                deadline = Instant::now() + Duration::from_secs_f64(patience_s);
            }
            if Instant::now() > deadline {
                return Err(RunError::NotConnected { threads: self.settings.threads - threads.len(), patience_s });
            }
        }
        threads.sort_by_key(|thread| thread.index);
        Ok(threads)
    }

    fn wait_for_reports(&mut self) -> Result<Vec<ThreadReport>, Ended<K, O>> {
        self.wait_for_all(|message| match message {
            Message::Report(report) => Some((report.thread.index, *report)),
            _ => None,
        })
    }

    /// One message of a kind, with the number of its client, from every client.
    fn wait_for_all<M>(
        &mut self,
        kind: impl Fn(Message<K::Error>) -> Option<(usize, M)>,
    ) -> Result<Vec<M>, Ended<K, O>> {
        let mut missing: BTreeSet<usize> = (0..self.settings.threads).collect();
        let mut all = Vec::with_capacity(missing.len());
        let patience_s = self.settings.patience_s;
        let deadline = Instant::now() + Duration::from_secs_f64(patience_s);
        while !missing.is_empty() {
            if Instant::now() > deadline {
                self.observer.unanswered(&missing, patience_s).map_err(RunError::Observer)?;
                return Err(RunError::Unanswered { threads: missing.len(), patience_s });
            }
            if let Some((thread, message)) = self.next_message(Instant::now() + POLL)?.and_then(&kind) {
                missing.remove(&thread);
                all.push(message);
            }
        }
        Ok(all)
    }

    /// The next message until `deadline`, if any. Failures of clients, and of [`Observer::poll`], become errors.
    fn next_message(&mut self, deadline: Instant) -> Result<Option<Message<K::Error>>, Ended<K, O>> {
        self.observer.poll().map_err(RunError::Observer)?;
        let message = match self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let now = Instant::now();
                if now.saturating_duration_since(deadline) >= LATE {
                    self.stood_still.push((deadline, now));
                }
                return Ok(None);
            }
        };
        match message {
            Message::ConnectFailed { thread, source } => Err(RunError::Connect { thread, source }),
            Message::Failed { thread, source } => Err(RunError::Transaction { thread, source }),
            Message::Panicked { thread } => Err(RunError::Panicked { thread }),
            Message::Connected(_) | Message::Resting { .. } | Message::Enough | Message::Report(_) => Ok(Some(message)),
        }
    }
}
