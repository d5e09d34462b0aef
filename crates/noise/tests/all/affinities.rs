//! Tests of affinities of other programs' processes: they are restored, also those of processes created meanwhile.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread};
use tare_noise::{HostLock, System, ThreadAffinities, recover, verify_as_found};

/// A server with a process per connection: for every line that it gets, it creates one and prints its number.
struct Forking {
    parent: Child,
    lines: BufReader<std::process::ChildStdout>,
    input: ChildStdin,
}

impl Forking {
    fn new() -> Self {
        let script = r#"while read x; do sleep 60 >/dev/null & echo $!; a="$a $!"; done; test -z "$a" || kill $a"#;
        let mut parent =
            Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (lines, input) = (BufReader::new(parent.stdout.take().unwrap()), parent.stdin.take().unwrap());
        Self { parent, lines, input }
    }

    fn itself(&self) -> ThreadRef {
        ThreadRef::main_of(self.parent.id().cast_signed())
    }

    fn makes_one(&mut self) -> ThreadRef {
        writeln!(self.input).unwrap();
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        ThreadRef::main_of(line.trim().parse().unwrap())
    }

    fn ends(mut self) {
        drop(self.input);
        self.parent.wait().unwrap();
    }
}

/// A thread of this process that makes others, which wait until it is dropped.
struct Making {
    itself: ThreadRef,
    requests: mpsc::Sender<mpsc::Sender<ThreadRef>>,
}

impl Making {
    fn new() -> Self {
        let (requests, requested) = mpsc::channel::<mpsc::Sender<ThreadRef>>();
        let (begun, began) = mpsc::channel();
        let makes = move || {
            begun.send(ThreadRef::of_this_thread()).unwrap();
            let mut ends = Vec::new();
            for reply in requested {
                let (end, ended) = mpsc::channel::<()>();
                ends.push(end);
                let waits = move || {
                    reply.send(ThreadRef::of_this_thread()).unwrap();
                    let _ = ended.recv();
                };
                thread::Builder::new().spawn(waits).unwrap();
            }
        };
        thread::Builder::new().spawn(makes).unwrap();
        Self { itself: began.recv().unwrap(), requests }
    }

    fn makes_one(&self) -> ThreadRef {
        let (reply, made) = mpsc::channel();
        self.requests.send(reply).unwrap();
        made.recv().unwrap()
    }
}

#[test]
fn processes_that_a_bound_one_makes_get_back_what_it_had() {
    let state = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(state.path()).unwrap();
    let (mut server, mut another) = (Forking::new(), Forking::new());
    let all = affinity_of(server.itself()).unwrap();
    let cpus: Vec<CpuSet> = all.iter().take(2).map(CpuSet::from).collect();
    let [one, other] = &cpus[..] else { panic!("this test needs two CPUs") };
    let owners = server.makes_one();
    bind_thread(owners, one).unwrap();
    for killed in [false, true] {
        let mut affinities = ThreadAffinities::new(state.path(), &lock);
        affinities.bind(&[(server.itself(), one.clone()), (another.itself(), other.clone())], false).unwrap();
        let unrequested = server.makes_one();
        assert_eq!(affinity_of(unrequested).unwrap(), *one, "it inherits");
        let of_another = another.makes_one();
        // A process that has already inherited the CPUs and is then bound explicitly.
        let requested = server.makes_one();
        // Processes that their owner has bound elsewhere meanwhile.
        let (moved, elsewhere) = (server.makes_one(), server.makes_one());
        for thread in [moved, elsewhere] {
            bind_thread(thread, other).unwrap();
        }
        affinities.bind(&[requested, moved, owners].map(|thread| (thread, one.clone())), false).unwrap();
        let report = if killed {
            std::mem::forget(affinities);
            recover(&System::real(), state.path(), &lock).unwrap()
        } else {
            affinities.put_back().unwrap()
        };
        report.check().unwrap();
        for thread in [server.itself(), another.itself(), unrequested, of_another, requested] {
            assert_eq!(affinity_of(thread).unwrap(), all, "killed: {killed}");
        }
        for (thread, expected) in [(owners, one), (moved, other), (elsewhere, other)] {
            assert_eq!(affinity_of(thread).unwrap(), *expected, "killed: {killed}");
        }
    }
    server.ends();
    another.ends();
}

#[test]
fn threads_that_a_bound_one_makes_get_back_what_the_first_thread_has() {
    let state = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(state.path()).unwrap();
    let all = affinity_of(ThreadRef::main_of(std::process::id().cast_signed())).unwrap();
    let one = CpuSet::from(all.iter().next().unwrap());
    let (makes, made) = (Making::new(), Making::new());
    let owners = made.makes_one();
    bind_thread(owners, &one).unwrap();
    let mut affinities = ThreadAffinities::new(state.path(), &lock);
    affinities.bind(&[(makes.itself, one.clone())], false).unwrap();
    let (unrequested, requested) = (makes.makes_one(), makes.makes_one());
    assert_eq!(affinity_of(unrequested).unwrap(), one, "it inherits");
    affinities.bind(&[requested, owners].map(|thread| (thread, one.clone())), false).unwrap();
    affinities.put_back().unwrap().check().unwrap();
    for thread in [makes.itself, unrequested, requested] {
        assert_eq!(affinity_of(thread).unwrap(), all);
    }
    assert_eq!(affinity_of(owners).unwrap(), one, "as its owner bound it");
}

#[test]
fn a_thread_that_is_gone_is_an_error_unless_it_may_be_and_then_the_others_are_bound() {
    let state = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(state.path()).unwrap();
    let (server, ended) = (Forking::new(), Forking::new());
    let gone = ended.itself();
    ended.ends();
    let all = affinity_of(server.itself()).unwrap();
    let one = CpuSet::from(all.iter().next().unwrap());
    let wanted = [gone, server.itself()].map(|thread| (thread, one.clone()));
    let mut affinities = ThreadAffinities::new(state.path(), &lock);
    assert!(affinities.bind(&wanted, false).unwrap_err().to_string().contains(&gone.to_string()));
    assert_eq!(affinity_of(server.itself()).unwrap(), all, "nothing is bound");
    affinities.bind(&wanted, true).unwrap();
    assert_eq!(affinity_of(server.itself()).unwrap(), one);
    drop(affinities);
    assert_eq!(affinity_of(server.itself()).unwrap(), all);
    server.ends();
}

#[test]
fn affinities_are_restored_although_the_journal_of_settings_cannot_be_read() {
    let state = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(state.path()).unwrap();
    let server = Forking::new();
    let all = affinity_of(server.itself()).unwrap();
    let one = CpuSet::from(all.iter().next().unwrap());
    let mut affinities = ThreadAffinities::new(state.path(), &lock);
    affinities.bind(&[(server.itself(), one)], false).unwrap();
    std::mem::forget(affinities);
    // Of a later version.
    fs::write(state.path().join("journal.jsonl"), "{\"v\":9999}\n").unwrap();
    recover(&System::real(), state.path(), &lock).unwrap_err();
    assert_eq!(affinity_of(server.itself()).unwrap(), all);
    server.ends();
}

/// Whether the journal has a living thread that is not restored yet.
fn waits(state: &Path) -> bool {
    let found = verify_as_found(&System::real(), state);
    found
        .is_err_and(|error| error.to_string().contains("affinity of") && error.to_string().contains("not restored yet"))
}

#[test]
fn foreign_bindings_another_boot_or_thread_and_torn_lines_change_no_affinity() {
    let state = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(state.path()).unwrap();
    let server = Forking::new();
    let itself = server.itself();
    let cpus: Vec<CpuSet> = affinity_of(itself).unwrap().iter().take(2).map(CpuSet::from).collect();
    let [one, other] = &cpus[..] else { panic!("this test needs two CPUs") };
    let bound = || {
        let mut affinities = ThreadAffinities::new(state.path(), &lock);
        affinities.bind(&[(itself, one.clone())], false).unwrap();
        affinities
    };
    let mut affinities = bound();
    assert!(waits(state.path()));
    bind_thread(itself, other).unwrap();
    assert!(affinities.put_back().unwrap().check().is_err());
    assert_eq!(affinity_of(itself).unwrap(), *other);
    assert!(!waits(state.path()));

    let journal = state.path().join("affinities.jsonl");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    // In another boot, and after its number was reused, it is another thread.
    for (of_ours, of_another) in [(boot.trim(), "another"), ("\"started\":", "\"started\":9")] {
        std::mem::forget(bound());
        let text = fs::read_to_string(&journal).unwrap();
        assert!(text.contains(of_ours));
        fs::write(&journal, text.replace(of_ours, of_another)).unwrap();
        assert!(!waits(state.path()));
        recover(&System::real(), state.path(), &lock).unwrap();
        assert_eq!(affinity_of(itself).unwrap(), *one, "nothing is known of the CPUs of this thread");
        assert!(!journal.exists());
        bind_thread(itself, other).unwrap();
    }

    fs::write(&journal, "{\"v\":1,\n").unwrap();
    fs::set_permissions(&journal, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(recover(&System::real(), state.path(), &lock).unwrap().torn_lines, 1);
    assert!(!journal.exists());
    server.ends();
}
