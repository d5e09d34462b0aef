//! Tests of whole runs with scripted clients.

mod ends;
mod open_loop;

use std::convert::Infallible;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_load::{
    Arrivals, Attempt, Client, ClientThread, Connect, Curve, Distribution, LatencyMs, LoadSettings, Observer, Pace,
    Purpose, Queries, Random, Reading, Rest, RunError, RunPhase, Unobserved, run,
};

const READ: Queries = Queries { read: 1, write: 0, other: 0 };
const WRITE: Queries = Queries { read: 0, write: 1, other: 0 };

fn short(threads: usize) -> LoadSettings {
    LoadSettings { threads, warmup_s: 0.1, sample_s: 0.3, ..LoadSettings::default() }
}

/// A client that calls a function with the number of its attempt.
struct Scripted<F>(F, u64);

impl<F: FnMut(u64, &mut Random) -> Result<Attempt, String> + Send> Client for Scripted<F> {
    type Error = String;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, String> {
        self.1 += 1;
        (self.0)(self.1, random)
    }
}

fn scripted<F: FnMut(u64, &mut Random) -> Result<Attempt, String> + Send>(script: F) -> Result<Scripted<F>, String> {
    Ok(Scripted(script, 0))
}

fn nap(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// A client with its own count, which it hands over at the end of each sample.
struct Counting<'a> {
    /// Length of transaction number `counted`, milliseconds.
    length_ms: fn(u64) -> u64,
    counted: u64,
    handed_over: &'a Mutex<Vec<(usize, u64)>>,
}

impl Client for Counting<'_> {
    type Error = String;

    fn transaction(&mut self, _: &mut Random) -> Result<Attempt, String> {
        nap((self.length_ms)(self.counted));
        self.counted += 1;
        Ok(Attempt::Done(READ))
    }

    fn sample_begins(&mut self) {
        self.counted = 0;
    }

    fn sample_ended(&mut self, sample: usize) {
        self.handed_over.lock().unwrap().push((sample, self.counted));
    }
}

#[test]
fn counts_of_the_clients_belong_to_the_measured_sample() {
    let handed_over = Mutex::default();
    let connect = |_: ClientThread| Ok(Counting { length_ms: |_| 2, counted: 0, handed_over: &handed_over });
    let samples = run(&LoadSettings { samples: 2, ..short(3) }, &connect, &mut Unobserved).unwrap();
    let handed_over = handed_over.into_inner().unwrap();
    for (number, sample) in samples.iter().enumerate() {
        let counted: Vec<u64> = handed_over.iter().filter(|(of, _)| *of == number).map(|(_, count)| *count).collect();
        assert_eq!(counted.len(), 3, "once a client, before the run is over");
        // At the start and end of the sample, each client may be in a transaction.
        let sum: u64 = counted.iter().sum();
        assert!(sum.abs_diff(sample.transactions) <= 3 && sum > 100, "{sum} of {}", sample.transactions);
    }
}

#[test]
fn counts_of_the_warm_up_are_in_no_sample_even_if_a_transaction_lasts_for_all_of_it() {
    let handed_over = Mutex::default();
    let length_ms = |number| if number < 20 { 2 } else { 1_000 };
    let connect = |_: ClientThread| Ok(Counting { length_ms, counted: 0, handed_over: &handed_over });
    let settings = LoadSettings { warmup_s: 0.5, sample_s: 0.1, ..short(1) };
    run(&settings, &connect, &mut Unobserved).unwrap();
    assert_eq!(handed_over.into_inner().unwrap(), [(0, 0)]);
}

/// A sample and the run end even while clients wait for a server to come back. The latencies of the waiting
/// transactions include that time, and nothing is counted twice.
#[test]
fn an_outage_longer_than_a_sample_delays_no_end_and_counts_in_the_latency() {
    let began = Instant::now();
    let connect = |_: ClientThread| {
        scripted(move |_, _| {
            let away = (Duration::from_millis(250)..Duration::from_millis(750)).contains(&began.elapsed());
            nap(if away { 20 } else { 1 });
            Ok(if away { Attempt::Away } else { Attempt::Done(READ) })
        })
    };
    let settings = LoadSettings { samples: 4, warmup_s: 0.0, patience_s: 0.5, ..short(2) };
    let samples = run(&settings, &connect, &mut Unobserved).unwrap();
    assert_eq!((samples[1].transactions, samples[1].restarts), (0, 0), "nothing ended while there was no server");
    let latest = samples.iter().filter_map(|sample| sample.latency_ms).map(|latency| latency.max).fold(0.0, f64::max);
    assert!((400.0..1500.0).contains(&latest), "{latest} ms");
}

fn done_after_a_nap(_: u64, _: &mut Random) -> Result<Attempt, String> {
    std::thread::sleep(Duration::from_micros(200));
    Ok(Attempt::Done(READ))
}

/// Raises a flag when the first sample starts.
struct Flag<'a>(&'a AtomicBool);

impl Observer for Flag<'_> {
    type Error = Infallible;

    fn sample_start(&mut self, _: usize) -> Result<(), Infallible> {
        self.0.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// The first 200 keys that each thread of a run draws.
fn keys(seed: u64, threads: usize) -> Vec<Vec<u64>> {
    let drawn = Mutex::new(vec![Vec::new(); threads]);
    let draw = Distribution::Special.over(1, 1_000_000);
    let connect = |thread: ClientThread| {
        let drawn = &drawn;
        scripted(move |attempt, random| {
            if attempt <= 200 {
                drawn.lock().unwrap()[thread.index].push(draw.draw(random));
            }
            Ok(Attempt::Done(READ))
        })
    };
    run(&LoadSettings { seed, ..short(threads) }, &connect, &mut Unobserved).unwrap();
    drawn.into_inner().unwrap()
}

#[test]
fn the_seed_decides_what_every_thread_draws() {
    let first = keys(1, 3);
    assert!(first.iter().all(|keys| keys.len() == 200));
    assert_eq!(first, keys(1, 3));
    assert_ne!(first[0], first[1]);
    assert_ne!(first[0], keys(2, 1)[0]);
}

/// With several threads that compete for the last events, in closed and open loop, ended by events or by time.
#[test]
fn a_run_with_a_number_of_events_does_exactly_that_many() {
    let begun = AtomicUsize::new(0);
    let connect = |_: ClientThread| {
        scripted(|attempt, random| {
            begun.fetch_add(1, Ordering::SeqCst);
            done_after_a_nap(attempt, random)
        })
    };
    let in_time = LoadSettings { sample_s: 60.0, warmup_s: 0.0, ..short(5) };
    let open = Pace::Open { rate: Curve::Constant(3000.0), arrivals: Arrivals::default() };
    for (pace, warmup_s) in [(Pace::Closed, 0.0), (open, 0.0), (Pace::Closed, 0.1), (open, 0.1)] {
        begun.store(0, Ordering::SeqCst);
        let settings = LoadSettings { events: Some(503), pace, warmup_s, ..in_time };
        let samples = run(&settings, &connect, &mut Unobserved).unwrap();
        assert_eq!(samples[0].transactions, 503);
        assert!(samples[0].elapsed_s < 10.0 && samples[0].backlog.is_none_or(|late| late == 0), "{samples:?}");
        assert_eq!(begun.load(Ordering::SeqCst) == 503, warmup_s == 0.0, "{pace:?} {warmup_s}");
    }
    let more = LoadSettings { events: Some(u64::MAX), ..short(5) };
    let ended_by_time = run(&more, &connect, &mut Unobserved).unwrap();
    assert!((0.3..5.0).contains(&ended_by_time[0].elapsed_s) && ended_by_time[0].transactions > 0);
    for refused in [LoadSettings { events: Some(0), ..more }, LoadSettings { samples: 2, ..more }] {
        assert!(matches!(run(&refused, &connect, &mut Unobserved), Err(RunError::Setting { name: "events", .. })));
    }
}

#[test]
fn the_warmup_is_left_out() {
    let measuring = AtomicBool::new(false);
    let warm = AtomicUsize::new(0);
    let connect = |_: ClientThread| {
        scripted(|_, _| {
            let queries = if measuring.load(Ordering::SeqCst) { READ } else { WRITE };
            warm.fetch_add(queries.write as usize, Ordering::SeqCst);
            nap(1);
            Ok(Attempt::Done(queries))
        })
    };
    let settings = LoadSettings { warmup_s: 0.5, ..short(3) };
    let samples = run(&settings, &connect, &mut Flag(&measuring)).unwrap();
    assert!(warm.load(Ordering::SeqCst) > 10);
    assert!(samples[0].writes <= 3, "at most the one in hand of each thread: {}", samples[0].writes);
    assert!(samples[0].reads > 10);
}

#[test]
fn restarts_belong_to_one_transaction_with_one_latency() {
    let connect = |_: ClientThread| {
        scripted(|attempt, _| {
            nap(10);
            Ok(if attempt % 3 == 0 { Attempt::Done(WRITE) } else { Attempt::Restart(READ) })
        })
    };
    let samples = run(&LoadSettings { sample_s: 0.6, ..short(2) }, &connect, &mut Unobserved).unwrap();
    let sample = &samples[0];
    assert!(sample.transactions > 0);
    assert_eq!(sample.restarts, 2 * sample.transactions);
    assert_eq!((sample.reads, sample.writes), (2 * sample.transactions, sample.transactions));
    assert!(sample.latency_ms.unwrap().min >= 30.0, "three attempts of 10 ms");
}

#[test]
fn more_threads_than_cpus_all_report_every_sample() {
    let threads = 4 * std::thread::available_parallelism().unwrap().get() + 8;
    let settings = LoadSettings { samples: 3, ..short(threads) };
    let samples = run(&settings, &|_: ClientThread| scripted(done_after_a_nap), &mut Unobserved).unwrap();
    assert_eq!(samples.len(), 3);
    for sample in &samples {
        let indexes: Vec<usize> = sample.threads.iter().map(|thread| thread.index).collect();
        assert_eq!(indexes, (0..threads).collect::<Vec<_>>());
        assert_eq!(sample.threads.iter().map(|thread| thread.transactions).sum::<u64>(), sample.transactions);
        assert_eq!(sample.reads, sample.transactions);
        assert!(sample.elapsed_s >= 0.3);
        // Only the sum is checked: the kernel splits it by its ticks, which may all have fallen on one side.
        let cpu = sample.client_cpu_us_per_transaction.unwrap();
        assert!(cpu.user + cpu.system > 0.0);
    }
    // Over all samples, because a starved thread may not run in one of them.
    let of_thread = |index: usize| samples.iter().map(|sample| sample.threads[index].transactions).sum::<u64>();
    assert!((0..threads).all(|index| of_thread(index) > 0));
}

struct BoundFirst {
    bound: Mutex<Vec<ThreadRef>>,
    refuse_bind: bool,
}

impl Connect for BoundFirst {
    type Client = Scripted<fn(u64, &mut Random) -> Result<Attempt, String>>;
    type Error = String;

    fn bind(&self, thread: ClientThread) -> Result<(), String> {
        self.bound.lock().unwrap().push(thread.id);
        if self.refuse_bind { Err("no such CPU".into()) } else { Ok(()) }
    }

    fn connect(&self, thread: ClientThread) -> Result<Self::Client, String> {
        assert_eq!(thread.id, ThreadRef::of_this_thread(), "connects in its own thread");
        assert!(self.bound.lock().unwrap().contains(&thread.id), "bound before connected");
        if thread.index == 3 { Err("connection refused".into()) } else { Ok(Scripted(done_after_a_nap, 0)) }
    }
}

#[test]
fn every_thread_binds_itself_and_then_connects() {
    let connect = BoundFirst { bound: Mutex::default(), refuse_bind: false };
    run(&short(3), &connect, &mut Unobserved).unwrap();
    assert_eq!(connect.bound.lock().unwrap().len(), 3);
    let error = run(&short(4), &connect, &mut Unobserved).unwrap_err();
    assert_eq!(error.to_string(), "client thread 3 could not connect: connection refused");
    let error = run(&short(1), &BoundFirst { refuse_bind: true, ..connect }, &mut Unobserved).unwrap_err();
    assert_eq!(error.to_string(), "client thread 0 could not connect: no such CPU");
}

#[test]
fn client_cpu_is_charged_to_the_thread_that_used_it() {
    let connect = |thread: ClientThread| {
        scripted(move |_, random| {
            if thread.index == 0 {
                (0..2000).for_each(|_| assert_ne!(random.bits(), 0));
            } else {
                nap(5);
            }
            Ok(Attempt::Done(READ))
        })
    };
    let samples = run(&LoadSettings { sample_s: 0.5, ..short(2) }, &connect, &mut Unobserved).unwrap();
    let used = |index: usize| samples[0].threads[index].user_s + samples[0].threads[index].system_s;
    assert!(used(0) > used(1), "{} and {}", used(0), used(1));
    let cpu = samples[0].client_cpu_us_per_transaction.unwrap();
    let sum = (cpu.user + cpu.system) * samples[0].transactions as f64 / 1e6;
    assert!((sum - used(0) - used(1)).abs() < 1e-9);
}

#[test]
fn a_transaction_longer_than_a_sample_leaves_an_empty_sample() {
    let measuring = AtomicBool::new(false);
    let connect = |_: ClientThread| {
        scripted(|_, _| {
            nap(if measuring.load(Ordering::SeqCst) { 400 } else { 0 });
            Ok(Attempt::Done(READ))
        })
    };
    let settings = LoadSettings { sample_s: 0.05, ..short(1) };
    let samples = run(&settings, &connect, &mut Flag(&measuring)).unwrap();
    // The transaction that was running when the flag was set may still end in the sample.
    assert!(samples[0].transactions <= 1);
    if samples[0].transactions == 0 {
        assert_eq!((samples[0].latency_ms, samples[0].client_cpu_us_per_transaction), (None, None));
    }
}

#[test]
fn a_reading_comes_every_second() {
    let settings = LoadSettings { sample_s: 2.5, warmup_s: 0.0, ..short(2) };
    let samples = run(&settings, &|_: ClientThread| scripted(done_after_a_nap), &mut Unobserved).unwrap();
    let sample = &samples[0];
    assert_eq!(sample.tps_each_second.len(), 2);
    assert!(sample.tps_each_second.iter().all(|tps| *tps > 0.0), "{sample:?}");
    assert!((sample.tps() - sample.transactions as f64 / sample.elapsed_s).abs() < 1e-9);
    assert_eq!(sample.qps(), sample.tps());
}

/// Checks whether any client runs a transaction right before or after a sample.
struct AtRest<'a> {
    begun: &'a AtomicUsize,
    ended: &'a AtomicUsize,
    seen: Vec<bool>,
}

impl AtRest<'_> {
    fn look(&mut self) {
        let before = self.begun.load(Ordering::SeqCst);
        nap(20);
        let (begun, ended) = (self.begun.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst));
        self.seen.push(begun == before && begun == ended);
    }
}

impl Observer for AtRest<'_> {
    type Error = Infallible;

    fn sample_start(&mut self, _: usize) -> Result<(), Infallible> {
        self.look();
        Ok(())
    }

    fn sample_end(&mut self, _: usize) -> Result<(), Infallible> {
        self.look();
        Ok(())
    }
}

#[test]
fn clients_that_rest_leave_the_server_idle_around_every_sample_and_only_then() {
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let connect = |_: ClientThread| {
        scripted(|n, random| {
            begun.fetch_add(1, Ordering::SeqCst);
            let done = done_after_a_nap(n, random);
            ended.fetch_add(1, Ordering::SeqCst);
            done
        })
    };
    let settings = LoadSettings { samples: 3, rest: Rest::AroundEach, ..short(3) };
    let mut at_rest = AtRest { begun: &begun, ended: &ended, seen: Vec::new() };
    let samples = run(&settings, &connect, &mut at_rest).unwrap();
    assert_eq!(at_rest.seen, [true; 6]);
    let counted: u64 = samples.iter().map(|sample| sample.transactions).sum();
    assert!(samples.iter().all(|sample| sample.transactions > 100), "{samples:?}");
    // Transactions of the warm-up are not in a sample.
    assert!(counted < ended.load(Ordering::SeqCst) as u64);
    // Also in open loop, where transactions that are due during the rest are skipped.
    for pace in [Pace::Closed, Pace::Open { rate: Curve::Constant(300.0), arrivals: Arrivals::Poisson }] {
        at_rest.seen.clear();
        let first = LoadSettings { samples: 1, rest: Rest::BeforeFirst, pace, ..settings };
        let sample = run(&first, &connect, &mut at_rest).unwrap().remove(0);
        assert!(at_rest.seen[0] && sample.transactions > 20, "{pace:?}: {sample:?}");
        assert!(sample.backlog.unwrap_or(0) < 20, "{pace:?}: {sample:?}");
    }
    let busy = LoadSettings { rest: Rest::Never, ..settings };
    at_rest.seen.clear();
    run(&busy, &connect, &mut at_rest).unwrap();
    assert!(at_rest.seen.contains(&false), "without a rest someone works");
}

#[test]
fn a_transaction_that_is_run_again_ends_before_its_client_rests() {
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let connect = |_: ClientThread| {
        scripted(|n, _| {
            let attempt = (n - 1) % 4;
            begun.fetch_add(usize::from(attempt == 0), Ordering::SeqCst);
            nap(4);
            ended.fetch_add(usize::from(attempt == 3), Ordering::SeqCst);
            Ok(if attempt == 3 { Attempt::Done(READ) } else { Attempt::Restart(READ) })
        })
    };
    let mut at_rest = AtRest { begun: &begun, ended: &ended, seen: Vec::new() };
    run(&LoadSettings { samples: 3, rest: Rest::AroundEach, ..short(3) }, &connect, &mut at_rest).unwrap();
    assert_eq!(at_rest.seen, [true; 6]);
}

/// An observer that measures each sample in `parts` parts.
struct InParts {
    parts: usize,
    began: usize,
}

impl Observer for InParts {
    type Error = Infallible;

    fn parts(&self, _: usize) -> usize {
        self.parts
    }

    fn part_start(&mut self) -> Result<(), Infallible> {
        self.began += 1;
        nap(10);
        Ok(())
    }
}

/// Transactions of alternately 8 and 14 ms, in parts of 20 ms: neither the transaction that is running at the end of a
/// part nor the time between two parts changes the throughput.
#[test]
fn a_sample_in_short_parts_has_the_throughput_of_a_long_one() {
    let connect = |_: ClientThread| {
        scripted(|n, _| {
            nap(if n.is_multiple_of(2) { 8 } else { 14 });
            Ok(Attempt::Done(READ))
        })
    };
    let settings = LoadSettings { sample_s: 1.0, rest: Rest::AroundEach, ..short(2) };
    let whole = run(&settings, &connect, &mut InParts { parts: 1, began: 0 }).unwrap().remove(0);
    let mut requested = InParts { parts: 50, began: 0 };
    let clock = Instant::now();
    let parts = run(&settings, &connect, &mut requested).unwrap().remove(0);
    assert_eq!(requested.began, 49);
    assert!(clock.elapsed().as_secs_f64() > parts.elapsed_s + 0.49 && parts.elapsed_s >= 1.0, "{parts:?}");
    let ratio = parts.tps() / whole.tps();
    // Without the transaction that is running at the end, it would be a third less: one of at most two in each part.
    assert!((0.9..1.1).contains(&ratio), "{ratio}: {parts:?} {whole:?}");
    assert_eq!(parts.threads.iter().map(|thread| thread.transactions).sum::<u64>(), parts.transactions);
    assert_eq!((parts.latencies.count(), parts.reads), (parts.transactions, parts.transactions));
    assert_eq!(parts.latency_ms, LatencyMs::of(&parts.latencies));
    let cpu = parts.client_cpu_us_per_transaction.unwrap();
    let of_threads: f64 = parts.threads.iter().map(|thread| thread.user_s + thread.system_s).sum();
    assert!(((cpu.user + cpu.system) * parts.transactions as f64 / 1e6 / of_threads - 1.0).abs() < 1e-6, "{parts:?}");
}

/// Parts that are so short that resting clients get no CPU before the end, as on a busy machine.
#[test]
fn clients_that_sleep_through_parts_of_a_sample_report_each_of_them() {
    let connect = |_: ClientThread| scripted(|_, _| Ok(Attempt::Done(READ)));
    let settings = LoadSettings { sample_s: 1e-6, rest: Rest::AroundEach, patience_s: 5.0, ..short(2) };
    let mut requested = InParts { parts: 20, began: 0 };
    run(&settings, &connect, &mut requested).unwrap();
    assert_eq!(requested.began, 19);
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let refused = |settings: LoadSettings| {
        run(&settings, &|_: ClientThread| scripted(done_after_a_nap), &mut Unobserved).unwrap_err().to_string()
    };
    let open = |rate: f64| Pace::Open { rate: rate.into(), arrivals: Arrivals::Poisson };
    for threads in [0, 65_537, usize::MAX] {
        let message = refused(LoadSettings { threads, ..short(1) });
        assert_eq!(message, format!("threads is {threads}: expected a number from 1 to 65536"));
    }
    assert_eq!(refused(LoadSettings { samples: 0, ..short(1) }), "samples is 0: expected at least 1");
    for sample_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(LoadSettings { sample_s, ..short(1) }).starts_with("sample_s is "));
    }
    for warmup_s in [-1.0, f64::NAN, 1e300] {
        assert!(refused(LoadSettings { warmup_s, ..short(1) }).starts_with("warmup_s is "));
    }
    for rate in [0.0, -5.0, f64::NAN, f64::INFINITY] {
        assert!(refused(LoadSettings { pace: open(rate), ..short(1) }).starts_with("rate is "));
    }
}
