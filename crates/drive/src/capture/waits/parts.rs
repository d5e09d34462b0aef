//! Shares of the threads' time. Running and waiting for a CPU are counted by the kernel; the rest is divided by
//! samples of sleeping threads. The shares add up to 1.

use super::super::place::{Captured, FOLDED_FILE, Place};
use super::addresses::Addresses;
use super::tally::{Counted, Futex, Sightings, Sleep, Tally};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tare_results::captures::{FOLDED, WALL};
use tare_results::waits::{CallerShare, FutexOperation, TimePart, TimeUse, WaitsFile, WakesFile};

/// Number of shared futexes listed separately; the others are grouped by the symbol or mapping that contains them.
const LOCKS: usize = 20;

/// A futex, regardless of the operation on it.
type Address = (Option<i32>, u64);

/// Futexes on which several threads were seen, over all classes of threads.
pub(super) fn shared(tallies: &[&Tally]) -> BTreeSet<Address> {
    let mut threads: HashMap<Address, BTreeSet<i32>> = HashMap::new();
    for (sleep, seen) in tallies.iter().flat_map(|tally| &tally.asleep) {
        if let Sleep::Futex(futex) = sleep {
            threads.entry(address(futex)).or_default().extend(&seen.threads);
        }
    }
    threads.into_iter().filter(|(_, threads)| threads.len() > 1).map(|(address, _)| address).collect()
}

fn address(futex: &Futex) -> Address {
    (futex.process, futex.address)
}

/// The identity of a part: samples with the same key are added.
type Key = (TimeUse, Option<String>, Option<FutexOperation>, Option<String>, Option<Address>);

/// Parts, the largest first; empty if no thread was seen.
pub(super) fn of(
    tally: &Tally,
    counted: Counted,
    shared: &BTreeSet<Address>,
    addresses: &mut Addresses,
    callers: &[Option<String>],
) -> Vec<TimePart> {
    if tally.samples == 0 {
        return Vec::new();
    }
    let asleep = tally.samples - tally.running;
    let share = |count: u64| count as f64 / tally.samples as f64;
    let (ran, waited) = match counted.elapsed_ns {
        elapsed if elapsed > 0.0 => (counted.ran_ns / elapsed, Some(counted.waited_ns / elapsed)),
        _ => (share(tally.running), None),
    };
    let rest = (1.0 - ran - waited.unwrap_or(0.0)).max(0.0);
    let awake =
        |time, fraction| TimePart { time, on: None, operation: None, caller: None, addresses: 0, threads: 0, fraction };
    let mut parts = vec![awake(TimeUse::Ran, ran)];
    parts.extend(waited.map(|fraction| awake(TimeUse::WaitedForCpu, fraction)));
    for (key, found) in grouped(tally, shared, addresses, callers) {
        let (time, on, operation, caller, _) = key;
        let fraction = rest * found.samples as f64 / asleep.max(1) as f64;
        let addresses = found.addresses.len();
        parts.push(TimePart { time, on, operation, caller, addresses, threads: found.threads.len(), fraction });
    }
    let sum: f64 = parts.iter().map(|part| part.fraction).sum();
    parts.iter_mut().for_each(|part| part.fraction /= if sum > 0.0 { sum } else { 1.0 });
    parts.retain(|part| part.fraction > 0.0);
    parts.sort_by(|a, b| b.fraction.total_cmp(&a.fraction).then(a.time.cmp(&b.time)).then_with(|| a.on.cmp(&b.on)));
    parts
}

#[derive(Default)]
struct Found {
    samples: u64,
    threads: BTreeSet<i32>,
    addresses: BTreeSet<Address>,
}

fn grouped(
    tally: &Tally,
    shared: &BTreeSet<Address>,
    addresses: &mut Addresses,
    callers: &[Option<String>],
) -> BTreeMap<Key, Found> {
    let mut most: Vec<(&Sleep, &Sightings)> = tally.asleep.iter().collect();
    most.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.samples));
    let mut locks = 0;
    let mut groups: BTreeMap<Key, Found> = BTreeMap::new();
    for (sleep, seen) in most {
        let key = match sleep {
            Sleep::In(time, on) => (*time, on.clone(), None, None, None),
            Sleep::Futex(futex) => {
                let place = addresses.name(futex.process.unwrap_or(seen.process), futex.address);
                let is_shared = shared.contains(&address(futex));
                let own_part = is_shared && locks < LOCKS;
                locks += usize::from(own_part);
                let time = if is_shared { TimeUse::SharedFutex } else { TimeUse::OwnFutex };
                (time, Some(place), Some(futex.operation), caller(seen, callers), own_part.then(|| address(futex)))
            }
        };
        let found = groups.entry(key).or_default();
        found.samples += seen.samples;
        found.threads.extend(&seen.threads);
        if let Sleep::Futex(futex) = sleep {
            found.addresses.insert(address(futex));
        }
    }
    groups
}

/// The function from which most of these sleeps come.
fn caller(seen: &Sightings, callers: &[Option<String>]) -> Option<String> {
    let mut samples = BTreeMap::<&String, u64>::new();
    for (chain, count) in &seen.callers {
        if let Some(Some(caller)) = callers.get(*chain) {
            *samples.entry(caller).or_default() += count;
        }
    }
    samples.into_iter().max_by_key(|(_, count)| *count).map(|(caller, _)| caller.clone())
}

/// Weights are millionths of the threads' time.
const WHOLE: f64 = 1e6;
/// All sleeps whose chains are too rare to be listed.
const OTHER_CHAINS: &str = "other chains";

/// Share of the time for which threads slept.
pub(super) fn asleep(parts: &[TimePart]) -> f64 {
    parts.iter().filter(|part| part.time.is_asleep()).map(|part| part.fraction).sum()
}

/// Writes `wall.folded`: running time divided by the chains `ran` of these threads, or else of the whole profile,
/// sleeping time by the chains of `wakes` or else of the stacks, where available.
pub(in super::super) fn write(
    file: &WaitsFile,
    wakes: Option<&WakesFile>,
    ran: Option<String>,
    place: &Place,
    captured: &mut Captured,
) {
    let whole = || captured.files.get(FOLDED).and_then(|_| std::fs::read_to_string(place.path(FOLDED_FILE)).ok());
    let profile = ran.or_else(whole);
    let of_wakes = wakes.map(|wakes| (wakes.callers.as_slice(), wakes.slept_fraction));
    let slept = asleep(&file.connections.parts);
    let of_stacks = file.stacks.as_ref().map(|stacks| (stacks.callers.as_slice(), slept));
    let callers = of_wakes.into_iter().chain(of_stacks).find(|(callers, _)| !callers.is_empty());
    let text = folded(&file.connections.parts, profile.as_deref().unwrap_or_default(), callers);
    place.write(captured, WALL, "wall.folded", text.as_bytes());
}

/// `callers` holds the chains, and the share of the time for which the threads slept according to the same recording.
fn folded(parts: &[TimePart], profile: &str, callers: Option<(&[CallerShare], f64)>) -> String {
    let mut text = callers.map_or_else(String::new, |callers| sleeping(asleep(parts) * WHOLE, callers));
    for part in parts {
        match part.time {
            TimeUse::Ran => text.push_str(&running(part.fraction * WHOLE, profile)),
            time if time.is_asleep() && callers.is_some() => {}
            time => {
                let on = part.on.as_ref().map_or(String::new(), |on| format!(";{}", on.replace([';', '\n'], ":")));
                let weight = (part.fraction * WHOLE).round();
                let state = if time.is_asleep() { "asleep" } else { "ready" };
                text.push_str(&format!("{state};{time}{on} {weight}\n"));
            }
        }
    }
    text
}

/// The callers' chains, scaled so that they add up to the time that threads slept; unlisted chains are one entry.
fn sleeping(whole: f64, (callers, slept): (&[CallerShare], f64)) -> String {
    let listed: f64 = callers.iter().map(|one| one.fraction).sum();
    let slept = slept.max(listed);
    let weight = |fraction: f64| (whole * fraction / slept).round();
    let chains = callers.iter().map(|one| (one.chain.as_str(), weight(one.fraction)));
    let all = chains.chain([(OTHER_CHAINS, weight(slept - listed))]).filter(|(_, weight)| *weight >= 1.0);
    all.map(|(chain, weight)| format!("asleep;{chain} {weight}\n")).collect()
}

/// The profile's chains, scaled so that they add up to the time that threads ran.
fn running(whole: f64, profile: &str) -> String {
    let lines = profile.lines().filter_map(|line| {
        let (chain, weight) = line.rsplit_once(' ')?;
        Some((chain, weight.parse::<f64>().ok()?))
    });
    let lines: Vec<(&str, f64)> = lines.collect();
    let sum: f64 = lines.iter().map(|(_, weight)| weight).sum();
    if sum <= 0.0 {
        return format!("ran {}\n", whole.round());
    }
    let scaled = lines.into_iter().map(|(chain, weight)| (chain, (whole * weight / sum).round()));
    scaled.filter(|(_, weight)| *weight >= 1.0).map(|(chain, weight)| format!("ran;{chain} {weight}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn futex(address: u64) -> Sleep {
        Sleep::Futex(Futex { process: Some(-1), address, operation: FutexOperation::Wait })
    }

    #[test]
    fn exact_counts_of_running_leave_the_rest_to_the_samples_of_sleep() {
        let mut tally = Tally::default();
        (0..50).for_each(|_| tally.runs());
        for thread in 0..3 {
            (0..10).for_each(|_| tally.sleeps(-1, thread, futex(1), None));
            (0..5).for_each(|_| tally.sleeps(-1, thread, futex(100 + u64::from(thread.unsigned_abs())), None));
        }
        (0..5).for_each(|_| tally.sleeps(-1, 0, Sleep::In(TimeUse::Client, None), None));
        let shared = shared(&[&tally]);
        assert_eq!(shared, [(Some(-1), 1)].into());
        let counted = Counted { elapsed_ns: 100.0, ran_ns: 30.0, waited_ns: 20.0 };
        let parts = of(&tally, counted, &shared, &mut Addresses::default(), &[]);
        let found: Vec<_> =
            parts.iter().map(|p| (p.time, p.addresses, p.threads, (p.fraction * 1e6).round())).collect();
        assert_eq!(
            found,
            [
                (TimeUse::Ran, 0, 0, 300_000.0),
                (TimeUse::SharedFutex, 1, 3, 300_000.0),
                (TimeUse::WaitedForCpu, 0, 0, 200_000.0),
                (TimeUse::OwnFutex, 3, 3, 150_000.0),
                (TimeUse::Client, 0, 1, 50_000.0),
            ]
        );
        let sampled = of(&tally, Counted::default(), &shared, &mut Addresses::default(), &[]);
        assert_eq!((sampled[0].time, sampled[0].fraction), (TimeUse::Ran, 0.5));
    }

    proptest! {
        #[test]
        fn shares_of_the_threads_time_add_up_to_one(
            running in 0_u64..50, sleeps in prop::collection::vec((0_i32..6, 0_u64..40), 0..200),
            ran in 0.0..120.0_f64, waited in 0.0..40.0_f64,
        ) {
            let mut tally = Tally::default();
            (0..running).for_each(|_| tally.runs());
            sleeps.iter().for_each(|(thread, address)| tally.sleeps(-1, *thread, futex(*address), None));
            for elapsed_ns in [0.0, 100.0] {
                let counted = Counted { elapsed_ns, ran_ns: ran, waited_ns: waited };
                let parts = of(&tally, counted, &shared(&[&tally]), &mut Addresses::default(), &[]);
                let sum: f64 = parts.iter().map(|part| part.fraction).sum();
                prop_assert!(parts.is_empty() || (sum - 1.0).abs() < 1e-9, "{parts:?}");
                prop_assert!(parts.len() <= LOCKS + 5, "{}", parts.len());
            }
        }
    }

    #[test]
    fn running_and_sleeping_add_up_to_the_threads_time() {
        let part = |time, on: Option<&str>, fraction| TimePart {
            time,
            on: on.map(str::to_owned),
            operation: None,
            caller: None,
            addresses: 0,
            threads: 2,
            fraction,
        };
        let parts = [
            part(TimeUse::SharedFutex, Some("dict_sys+0x40"), 0.5),
            part(TimeUse::Ran, None, 0.4),
            part(TimeUse::WaitedForCpu, None, 0.1),
        ];
        let text = folded(&parts, "main;serve 30\nmain;log 10\n", None);
        assert_eq!(
            text,
            "asleep;shared_futex;dict_sys+0x40 500000\nran;main;serve 300000\nran;main;log 100000\n\
             ready;waited_for_cpu 100000\n"
        );
        assert!(folded(&parts, "", None).contains("ran 400000\n"));
        // Known callers divide the sleeping time: 0.45 of 0.6 in this chain, the rest in others.
        let callers = vec![CallerShare { chain: "serve;pthread_mutex_lock".to_owned(), fraction: 0.45 }];
        assert_eq!(
            folded(&parts, "", Some((&callers, 0.6))),
            "asleep;serve;pthread_mutex_lock 375000\nasleep;other chains 125000\nran 400000\n\
             ready;waited_for_cpu 100000\n"
        );
    }
}
