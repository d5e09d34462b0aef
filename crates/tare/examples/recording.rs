//! For `benches/recording`: the cost of recording alongside samples, in pairs of slices of one continuous load with and
//! without it, as CPU time per transaction, which other programs hardly affect, and as throughput.

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

const USAGE: &str = "usage: recording ENGINE SOCKET USER PID ROWS THREADS PAIRS SLICE_S bound|float";
/// The largest acceptable cost of recording, as a fraction.
const MOST: f64 = 0.01;
const CONFIDENCE: f64 = 0.95;
const WARM_UP: Duration = Duration::from_secs(2);

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
    let [engine, socket, user, pid, rows, threads, pairs, slice_s, bound] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return Err(USAGE.into());
    };
    let target = ConnectTarget::to(Address::Socket(PathBuf::from(socket)), user);
    let target = ConnectTarget { database: Some(DEFAULT_DATABASE.into()), ..target };
    let (stop, engine) = (AtomicBool::new(false), engine_by_name(engine)?);
    let load = Load { engine, target, rows: rows.parse()?, stop: &stop };
    let counters: Vec<Counter> = (0..threads.parse()?).map(|_| Counter::default()).collect();
    let (pid, pairs, slice_s): (i32, usize, f64) = (pid.parse()?, pairs.parse()?, slice_s.parse()?);
    let slice = Duration::try_from_secs_f64(slice_s)?;
    let bound = match bound {
        "bound" => true,
        "float" => false,
        _ => return Err(USAGE.into()),
    };
    let ratios = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut started = Ok(());
        for (number, counter) in counters.iter().enumerate() {
            let (sender, load) = (sender.clone(), &load);
            let one = thread::Builder::new().spawn_scoped(scope, move || client(load, number, counter, &sender));
            started = started.and(one.map(drop));
        }
        drop(sender);
        let ratios = started.map_err(Into::into).and_then(|()| {
            let connected =
                counters.iter().map(|_| Ok(receiver.recv()??)).collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            if bound {
                bind_pairs(&connected)?;
            }
            measured(&connected, &counters, pid, pairs, slice)
        });
        stop.store(true, Ordering::Relaxed);
        ratios
    })?;
    answer(&ratios, slice, counters.len())
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

/// The figures of a slice, or the ratios of two slices.
#[derive(Clone, Copy)]
struct Figures {
    /// CPU time per transaction of server, clients and recording.
    cpu: f64,
    throughput: f64,
    /// Fraction of this CPU time that recording itself used; 0 without recording.
    record: f64,
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

/// The ratios recorded / not recorded of each pair, whose order is drawn.
fn measured(
    connected: &[Connected],
    counters: &[Counter],
    pid: i32,
    pairs: usize,
    slice: Duration,
) -> Result<Vec<Figures>, Box<dyn Error>> {
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
    let mut slice_of = |recorded: bool| -> Result<Figures, Box<dyn Error>> {
        let (began, before, cpu_before_s) = (Instant::now(), sum(), cpu_s(&pids)?);
        if recorded {
            watch.start(LoadAround::GoesOn)?;
        }
        thread::sleep(slice.saturating_sub(began.elapsed()));
        let record_s = match recorded {
            true => {
                watch.finish()?.covariates.get("recording_cpu_s").copied().ok_or("the record has no time of its own")?
            }
            false => 0.0,
        };
        let (done, used_s) = ((sum() - before) as f64, cpu_s(&pids)? - cpu_before_s);
        let throughput = done / began.elapsed().as_secs_f64();
        Ok(Figures { cpu: used_s / done, throughput, record: record_s / used_s })
    };
    let mut random = Random::new(2, Purpose::Arrivals, 0);
    (0..pairs)
        .map(|_| {
            let first = random.below(2) == 0;
            let (one, other) = (slice_of(first)?, slice_of(!first)?);
            let (with, without) = if first { (one, other) } else { (other, one) };
            let (cpu, throughput) = (with.cpu / without.cpu, with.throughput / without.throughput);
            Ok(Figures { cpu, throughput, record: with.record })
        })
        .collect()
}

fn answer(ratios: &[Figures], slice: Duration, threads: usize) -> Result<(), Box<dyn Error>> {
    println!(
        "recorded / not recorded, {} pairs of slices of {:.1} s, {threads} threads:",
        ratios.len(),
        slice.as_secs_f64()
    );
    let interval = |name: &str, of: fn(&Figures) -> f64| {
        let ratios: Vec<f64> = ratios.iter().map(of).collect();
        let ci = mean_interval(&ratios, CONFIDENCE).ok_or("two pairs are the least")?;
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        println!("  {name} {mean:.4} ({:.4} to {:.4})", ci.low, ci.high);
        Ok::<_, Box<dyn Error>>(ci)
    };
    interval("share of the CPU time that the record takes itself", |ratio| ratio.record)?;
    let cpu = interval("CPU time per transaction", |ratio| ratio.cpu)?;
    interval("throughput", |ratio| ratio.throughput)?;
    if cpu.high >= 1.0 + MOST {
        println!("a cost of {:.0}% is possible", 100.0 * MOST);
        std::process::exit(1);
    }
    Ok(())
}
