//! For `benches/recording`: the cost of recording alongside samples, in short slices of one continuous load with and
//! without it, in random order, as CPU time per transaction and as throughput.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread, observe};
use tare_drive::sut::{Connected, LoadAround, SutWatch, SystemUnderTest, WatchSettings};
use tare_engine::{Address, ConnectTarget, DEFAULT_DATABASE, Engine, Param, SqlError, engine_by_name};
use tare_load::{Purpose, Random};
use tare_stats::trials::mean_interval;
use tare_topology::{Bind, MemoryPolicy, Pairing, ResolvedPlacement};

const USAGE: &str = "usage: recording ENGINE SOCKET USER PID ROWS THREADS ROUNDS SLICE_S bound|float";
/// The sample whose cost is stated.
const SAMPLE_S: f64 = 3.0;
/// The largest acceptable cost of recording, as a fraction.
const MOST: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;
type Figure = fn(&Figures) -> f64;
const FIGURES: [(&str, Figure); 2] =
    [("throughput", |figures| figures.throughput), ("transactions per CPU time", |figures| figures.per_cpu)];
const WARM_UP: Duration = Duration::from_secs(2);
/// After the watch has begun, its thread has started and has made its first look, which includes the helper threads of
/// the server: one in twenty does, and would be every third one of a short slice. It counts with the readings.
const FIRST_LOOK: Duration = Duration::from_millis(10);

/// A counter that all threads read and count, in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU64);

struct Load<'l> {
    engine: &'static dyn Engine,
    target: ConnectTarget,
    rows: u64,
    stop: &'l AtomicBool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, socket, user, pid, rows, threads, rounds, slice_s, bound] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return Err(USAGE.into());
    };
    let target = ConnectTarget::to(Address::Socket(PathBuf::from(socket)), user);
    let target = ConnectTarget { database: Some(DEFAULT_DATABASE.into()), ..target };
    let (stop, engine) = (AtomicBool::new(false), engine_by_name(engine)?);
    let load = Load { engine, target, rows: rows.parse()?, stop: &stop };
    let counters: Vec<Counter> = (0..threads.parse()?).map(|_| Counter::default()).collect();
    let (pid, rounds, slice_s): (i32, usize, f64) = (pid.parse()?, rounds.parse()?, slice_s.parse()?);
    let slice = Duration::try_from_secs_f64(slice_s)?;
    let bound = match bound {
        "bound" => true,
        "float" => false,
        _ => return Err(USAGE.into()),
    };
    let rounds = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut started = Ok(());
        for (number, counter) in counters.iter().enumerate() {
            let (sender, load) = (sender.clone(), &load);
            let one = thread::Builder::new().spawn_scoped(scope, move || client(load, number, counter, &sender));
            started = started.and(one.map(drop));
        }
        drop(sender);
        let rounds = started.map_err(Into::into).and_then(|()| {
            let connected =
                counters.iter().map(|_| Ok(receiver.recv()??)).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            if bound {
                bind_pairs(&connected)?;
            }
            measured(&connected, &counters, pid, rounds, slice)
        });
        stop.store(true, Ordering::Relaxed);
        rounds
    })?;
    answer(&rounds, slice_s, counters.len())
}

/// The message of a connected client.
type Ready = Result<Connected, SqlError>;

/// Selects a row by its key until it is stopped.
fn client(load: &Load<'_>, number: usize, counter: &Counter, sender: &mpsc::Sender<Ready>) {
    let connect = || -> Result<_, Box<dyn Error>> {
        let mut session = load.engine.connect(&load.target)?;
        let sql = format!("SELECT c FROM sbtest1 WHERE id = {}", load.engine.dialect().placeholder(1));
        let statement = session.prepare(&sql)?;
        Ok((session.server_thread()?, session, statement))
    };
    let (serving, mut session, statement) = match connect() {
        Ok(connected) => connected,
        Err(e) => {
            let lost = SqlError::own(tare_engine::SqlErrorKind::Lost, e.to_string());
            return drop(sender.send(Err(lost)));
        }
    };
    let _ = sender.send(Ok(Connected { client: ThreadRef::of_this_thread(), serving }));
    let mut random = Random::new(1, Purpose::Transactions, number);
    while !load.stop.load(Ordering::Relaxed) {
        let id = 1 + random.below(load.rows).cast_signed();
        if let Err(e) = session.execute(statement, &[Param::Int(id)]) {
            eprintln!("client {number}: {e}");
            return;
        }
        counter.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What is recorded in a slice.
#[derive(Clone, Copy, PartialEq)]
enum Recorded {
    Nothing,
    /// The looks at all threads, as in the middle of a sample.
    Looks,
    /// These, and the readings at the beginning and the end of a sample.
    Sample,
}

#[derive(Clone, Copy)]
struct Figures {
    throughput: f64,
    /// Transactions per second of CPU time of server, clients and recording.
    per_cpu: f64,
}

/// A slice of each kind.
struct Round {
    nothing: Figures,
    looks: Figures,
    sample: Figures,
}

impl Round {
    /// Natural logarithm of the ratio recorded / not recorded in a sample of [`SAMPLE_S`]: the looks count in full, the
    /// readings at its ends as often as it has them.
    fn of_sample(&self, slice_s: f64, of: Figure) -> f64 {
        let looks = (of(&self.looks) / of(&self.nothing)).ln();
        let ends = (of(&self.sample) / of(&self.looks)).ln();
        looks + ends * slice_s / SAMPLE_S
    }
}

/// CPU time of these processes in seconds, without that of their ended children.
fn cpu_s(pids: &[i32]) -> Result<f64, Box<dyn Error>> {
    let used = pids.iter().map(|pid| observe::process_usage(*pid).map(|usage| usage.user_s + usage.system_s));
    Ok(used.sum::<Result<f64, _>>()?)
}

/// Binds each client and the thread that serves it to one CPU. Otherwise where the kernel happens to keep them, which a
/// recording thread can change, determines whether a slice is fast or slow.
fn bind_pairs(connected: &[Connected]) -> Result<(), Box<dyn Error>> {
    let cpus: Vec<u32> = affinity_of(ThreadRef::of_this_thread())?.iter().collect();
    for (pair, cpu) in connected.iter().zip(cpus.iter().cycle()) {
        let own: CpuSet = [*cpu].into_iter().collect();
        for thread in std::iter::once(pair.client).chain(pair.serving) {
            bind_thread(thread, &own)?;
        }
    }
    Ok(())
}

/// Rounds of three slices, whose order is drawn.
fn measured(
    connected: &[Connected],
    counters: &[Counter],
    pid: i32,
    rounds: usize,
    slice: Duration,
) -> Result<Vec<Round>, Box<dyn Error>> {
    let placement = ResolvedPlacement {
        client: Vec::new(),
        server: Vec::new(),
        background: None,
        bind: Bind::Set,
        pairing: Pairing::None,
        memory: MemoryPolicy::default(),
        pool_memory: MemoryPolicy::default(),
    };
    // The default settings of a study.
    let settings = WatchSettings {
        placement,
        chance_seed: 1,
        memory: true,
        schedule: true,
        cache: true,
        probe_share: None,
        spinning: None,
    };
    let mut watch = SutWatch::new(SystemUnderTest::running(Some(pid)), settings);
    watch.connected(connected)?;
    thread::sleep(WARM_UP);
    let sum = || counters.iter().map(|counter| counter.0.load(Ordering::Relaxed)).sum::<u64>();
    let pids = [vec![pid, std::process::id().cast_signed()], observe::descendants(pid)].concat();
    let mut slice_of = |recorded: Recorded| -> Result<Figures, Box<dyn Error>> {
        if recorded == Recorded::Looks {
            watch.start(LoadAround::GoesOn)?;
            thread::sleep(FIRST_LOOK);
        }
        let (began, before, cpu_before_s) = (Instant::now(), sum(), cpu_s(&pids)?);
        if recorded == Recorded::Sample {
            watch.start(LoadAround::GoesOn)?;
        }
        thread::sleep(slice.saturating_sub(began.elapsed()));
        if recorded == Recorded::Sample {
            watch.finish()?;
        }
        let (done, used_s) = ((sum() - before) as f64, cpu_s(&pids)? - cpu_before_s);
        let throughput = done / began.elapsed().as_secs_f64();
        if recorded == Recorded::Looks {
            watch.finish()?;
        }
        Ok(Figures { throughput, per_cpu: done / used_s })
    };
    let mut random = Random::new(2, Purpose::Arrivals, 0);
    let mut round = || -> Result<Round, Box<dyn Error>> {
        let mut left = vec![Recorded::Nothing, Recorded::Looks, Recorded::Sample];
        let mut made = Vec::new();
        while !left.is_empty() {
            let kind = left.swap_remove(random.below(left.len() as u64) as usize);
            made.push((kind, slice_of(kind)?));
        }
        let of = |wanted| made.iter().find(|(kind, _)| *kind == wanted).map(|(_, figures)| *figures);
        let missing = "a slice of each kind is made in each round";
        let (nothing, looks, sample) = (of(Recorded::Nothing), of(Recorded::Looks), of(Recorded::Sample));
        Ok(Round { nothing: nothing.ok_or(missing)?, looks: looks.ok_or(missing)?, sample: sample.ok_or(missing)? })
    };
    (0..rounds).map(|_| round()).collect()
}

fn answer(rounds: &[Round], slice_s: f64, threads: usize) -> Result<(), Box<dyn Error>> {
    println!("recorded / not recorded, {} rounds of three slices of {slice_s} s, {threads} threads:", rounds.len());
    let interval = |name: &str, of: &dyn Fn(&Round) -> f64| {
        let logs: Vec<f64> = rounds.iter().map(of).collect();
        let ci = mean_interval(&logs, CONFIDENCE).ok_or("two rounds are the least")?;
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        println!("  {name} {mean:.4} ({:.4} to {:.4})", ci.low.exp(), ci.high.exp());
        Ok::<_, Box<dyn Error>>(ci.low.exp())
    };
    for (name, of) in FIGURES {
        interval(&format!("{name}, looks:           "), &|round| (of(&round.looks) / of(&round.nothing)).ln())?;
        interval(&format!("{name}, slice as sample: "), &|round| (of(&round.sample) / of(&round.nothing)).ln())?;
    }
    let mut least = 1.0_f64;
    for (name, of) in FIGURES {
        let low = interval(&format!("{name}, sample of {SAMPLE_S} s: "), &|round| round.of_sample(slice_s, of))?;
        least = least.min(low);
    }
    if least <= 1.0 - MOST {
        println!("a loss of {:.0}% of throughput is possible", 100.0 * MOST);
        std::process::exit(1);
    }
    Ok(())
}
