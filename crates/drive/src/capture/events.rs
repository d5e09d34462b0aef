//! `perf stat` during the capture sample: hardware and kernel events in the threads of each side.

use super::perf::{Control, LOOK_INSIDE, Perf, advice, printed, refused};
use super::place::{Patience, Place};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Instant;
use tare_cpuset::ThreadRef;
use tare_engine::Unavailable;
use tare_results::events::{EventCounts, SidesEvents};

/// The hardware events explain where cycles go: instructions, mispredicted branches, misses of the last-level cache
/// and of both TLBs, and loads from the memory of other nodes.
const EVENTS: &str = "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,branch-misses,\
                     cache-misses,dTLB-load-misses,iTLB-load-misses,node-load-misses";
const CPU_TIME: &str = "task-clock";
/// Upper limit of an event count: more than all CPUs of a machine can produce in a year.
const MOST: f64 = 1e24;
const NOT_THERE: &str = "<not supported>";
/// Events inside the kernel: perf reports 0 where it may not observe the kernel.
const OF_THE_KERNEL: [&str; 2] = ["context-switches", "cpu-migrations"];

pub(super) struct Events {
    client: Option<Counting>,
    server: Option<Counting>,
}

struct Counting {
    perf: Perf,
    since: Instant,
}

#[derive(Debug, Default, PartialEq)]
struct Counted {
    events: EventCounts,
    not_there: BTreeSet<String>,
}

impl Events {
    pub(crate) fn begin(place: &Place, clients: &[ThreadRef], connections: &[ThreadRef]) -> Result<Self, Unavailable> {
        if clients.is_empty() && connections.is_empty() {
            return Err(Unavailable("no thread of the client or the server is known".to_owned()));
        }
        let of = |name, threads: &[ThreadRef]| match threads {
            [] => Ok(None),
            threads => Counting::begin(place, name, threads).map(Some),
        };
        Ok(Self { client: of("events-client", clients)?, server: of("events-server", connections)? })
    }

    /// Ends both; the second value names the events that this machine does not count.
    pub(crate) fn end(self, patience: &Patience) -> Result<(SidesEvents, Option<String>), Unavailable> {
        let of = |side: Option<Counting>| side.map(|counting| counting.end(patience)).transpose();
        let (client, server) = (of(self.client)?, of(self.server)?);
        let not_there: BTreeSet<&String> = client.iter().chain(&server).flat_map(|one| &one.not_there).collect();
        let names = not_there.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let user_only = client.iter().chain(&server).any(|counted| counted.events.user_only);
        let shut = || format!("; perf may not measure the kernel: {}", advice(LOOK_INSIDE));
        let allowed = if user_only { shut() } else { String::new() };
        let missing = (!names.is_empty()).then(|| format!("not counted here: {names}{allowed}"));
        let [client, server] = [client, server].map(|side| side.map(|counted| counted.events));
        Ok((SidesEvents { client, server }, missing))
    }
}

impl Counting {
    fn begin(place: &Place, name: &str, threads: &[ThreadRef]) -> Result<Self, Unavailable> {
        let control = Control::new(place, name)?;
        let threads: Vec<String> = threads.iter().map(|thread| thread.tid.to_string()).collect();
        let mut command = Command::new("perf");
        command
            .args(["stat", "--delay", "-1", "--control", &control.argument(), "-x", ",", "--log-fd", "1"])
            .args(["-e", EVENTS, "-t", &threads.join(",")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut counting = Self { perf: Perf::start(&mut command)?, since: Instant::now() };
        control.enable(&mut counting.perf, &place.patience).map_err(|why| {
            counting.perf.kill();
            refused(&printed(&mut counting.perf), why, LOOK_INSIDE)
        })?;
        counting.since = Instant::now();
        Ok(counting)
    }

    fn end(mut self, patience: &Patience) -> Result<Counted, Unavailable> {
        let elapsed_s = self.since.elapsed().as_secs_f64();
        self.perf.end(patience)?;
        let printed = printed(&mut self.perf);
        let mut counted = counted(&printed).ok_or_else(|| refused(&printed, "it printed no CPU time", LOOK_INSIDE))?;
        counted.events.elapsed_s = elapsed_s;
        Ok(counted)
    }
}

/// Parses the output of `perf stat -x ,`: one line `count,unit,event,time counted,...` per event. On processors with
/// two kinds of cores each kind is counted separately, as `cpu_core/cycles/` and `cpu_atom/cycles/`; the counts of
/// both are added. Returns None without a CPU time.
fn counted(text: &str) -> Option<Counted> {
    let mut all = Counted::default();
    let mut cpu_s = None;
    for line in text.lines() {
        let mut cells = line.split(',');
        let (Some(count), Some(unit), Some(named)) = (cells.next(), cells.next(), cells.next()) else { continue };
        let (event, modifiers) = event_of(named);
        if !EVENTS.split(',').any(|requested| requested == event) {
            continue;
        }
        let user_only = modifiers.contains('u') && !modifiers.contains('k');
        if count == NOT_THERE || user_only && OF_THE_KERNEL.contains(&event) {
            all.not_there.insert(event.to_owned());
            continue;
        }
        // `<not counted>`: these threads did not run.
        let Some(count) = count.parse::<f64>().ok().filter(|count| (0.0..=MOST).contains(count)) else {
            continue;
        };
        if event == CPU_TIME {
            cpu_s = Some(if unit == "msec" { count / 1e3 } else { count / 1e9 });
            continue;
        }
        all.events.user_only |= user_only;
        *all.events.counts.entry(event.to_owned()).or_default() += count;
    }
    // An event may be missing on one kind of core and present on the other.
    all.not_there.retain(|event| !all.events.counts.contains_key(event));
    all.events.cpu_s = cpu_s.filter(|s| *s > 0.0)?;
    Some(all)
}

/// Splits `cycles:u` and `cpu_core/cycles/u` into `cycles` and `u`.
fn event_of(named: &str) -> (&str, &str) {
    match named.split('/').collect::<Vec<_>>().as_slice() {
        [_, event, modifiers] => (event, modifiers),
        _ => named.split_once(':').unwrap_or((named, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn of(text: &str) -> (f64, bool, BTreeMap<String, f64>, Vec<String>) {
        let Counted { events, not_there } = counted(text).unwrap();
        (events.cpu_s, events.user_only, events.counts, not_there.into_iter().collect())
    }

    #[test]
    fn perf_counts_of_every_kind_of_processor_are_parsed() {
        // Columns as in perf's documentation of `-x`; on some of these machines events share counters.
        let amd = "2003.12,msec,task-clock,2003120000,100.00,2.000,CPUs utilized\n\
                   31,,context-switches,2003120000,100.00,15.476,/sec\n\
                   6000000000,,cycles,1500000000,75.00,2.995,GHz\n\
                   9000000000,,instructions,1500000000,75.00,1.50,insn per cycle\n\
                   <not supported>,,node-load-misses,0,100.00,,\n";
        let (cpu_s, user_only, counts, not_there) = of(amd);
        assert!((cpu_s - 2.00312).abs() < 1e-9 && !user_only);
        assert_eq!((counts["cycles"], counts["instructions"], counts["context-switches"]), (6e9, 9e9, 31.0));
        assert_eq!(not_there, ["node-load-misses"]);
        // Two kinds of cores, no access to the kernel, and an event that only one kind of core has.
        let hybrid = "10.00,msec,task-clock:u,10000000,100.00,,\n\
                      100,,cpu_core/cycles/u,10000000,80.00,,\n\
                      <not counted>,,cpu_atom/cycles/u,0,0.00,,\n\
                      0,,context-switches:u,10000000,100.00,,\n\
                      40,,cpu_atom/instructions/u,10000000,80.00,,\n\
                      60,,cpu_core/instructions/u,10000000,80.00,,\n\
                      7,,cpu_core/node-load-misses/u,10000000,80.00,,\n\
                      <not supported>,,cpu_atom/node-load-misses/u,0,0.00,,\n";
        let (cpu_s, user_only, counts, not_there) = of(hybrid);
        assert!((cpu_s - 0.01).abs() < 1e-12 && user_only);
        assert_eq!((not_there, counts.get("context-switches")), (vec!["context-switches".to_owned()], None));
        assert_eq!((counts["cycles"], counts["instructions"], counts["node-load-misses"]), (100.0, 100.0, 7.0));
    }

    #[test]
    fn without_cpu_time_nothing_is_counted() {
        for text in ["", "Error:\nNo permission", "5,,cycles,1,100.00,,", "0.00,msec,task-clock,0,100.00,,", ",,,\n\n"]
        {
            assert_eq!(counted(text), None, "{text}");
        }
        // Impossible counts and events that were not requested are rejected: otherwise the record would hold
        // arbitrarily large figures, and tables would show arbitrary names.
        for line in ["nan,,cycles", "-1,,cycles", "1e308,,cycles", "1,,\u{1b}[31m", "<not supported>,,\u{1b}[31m"] {
            assert_eq!(of(&format!("1,msec,task-clock\n{line}\n")), (0.001, false, BTreeMap::new(), vec![]), "{line}");
        }
    }

    /// A thread sleeps a thousand times; where perf has permission, these context switches are counted. A sleep that
    /// is over before the thread has left its CPU, as on a busy machine, needs none.
    #[test]
    fn perf_counts_the_context_switches_of_a_thread_or_reports_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let results = tare_files::Folder::open(folder.path(), tare_files::Trust::Anyone).unwrap().unwrap();
        let place = Place::make(&results, 0, 1, 1, 0.1).unwrap();
        match Events::begin(&place, &[ThreadRef::of_this_thread()], &[]) {
            Ok(events) => {
                (0..1000).for_each(|_| std::thread::sleep(std::time::Duration::from_micros(200)));
                let (sides, missing) = events.end(&place.patience).unwrap();
                let client = sides.client.unwrap();
                // Without permission to observe the kernel perf reports 0, which is not a count.
                match client.counts.get("context-switches") {
                    Some(switches) => assert!(*switches >= 900.0, "{client:?}"),
                    None => assert!(client.user_only && missing.unwrap().contains("perf_event_paranoid")),
                }
                assert!(sides.server.is_none() && client.elapsed_s > 0.05, "{client:?}");
            }
            Err(e) => assert!(e.to_string().contains("perf"), "{e}"),
        }
        place.remove_empty();
        assert!(std::fs::read_dir(folder.path().join("captures")).unwrap().next().is_none(), "pipes stayed");
    }
}
