//! Tests of runs that end early: by the observer, by a client that fails or panics, without an answer of the server.
//! All threads must end.

use super::*;
use std::collections::BTreeSet;

/// Ends the run at the first poll after the first reading, and keeps what it was called with.
#[derive(Default)]
struct Impatient {
    threads: Vec<ClientThread>,
    received: Vec<RunPhase>,
    impatient: bool,
}

impl Observer for Impatient {
    type Error = &'static str;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), Self::Error> {
        assert!(threads.iter().all(|thread| is_alive(*thread)));
        self.threads = threads.to_vec();
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), Self::Error> {
        assert!(reading.tps > 0.0);
        self.received.push(reading.stage);
        self.impatient = reading.stage == RunPhase::Sample(0);
        Ok(())
    }

    fn poll(&mut self) -> Result<(), Self::Error> {
        if self.impatient { Err("interrupted") } else { Ok(()) }
    }
}

fn is_alive(thread: ClientThread) -> bool {
    Path::new(&format!("/proc/self/task/{}", thread.id.tid)).exists()
}

/// Waits for the threads to disappear: the kernel may list a joined thread for another moment.
fn assert_all_end(threads: &[ClientThread]) {
    let patience = Instant::now() + Duration::from_secs(20);
    while threads.iter().any(|thread| is_alive(*thread)) {
        assert!(Instant::now() < patience, "threads are still there");
        nap(1);
    }
}

#[test]
fn an_aborted_run_leaves_no_thread() {
    let dropped = AtomicUsize::new(0);
    struct Counted<'a>(&'a AtomicUsize);
    impl Client for Counted<'_> {
        type Error = String;
        fn transaction(&mut self, _: &mut Random) -> Result<Attempt, String> {
            nap(1);
            // Restarts forever: the abort must end it nevertheless.
            Ok(Attempt::Restart(READ))
        }
    }
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let restarting = |_: ClientThread| Ok(Counted(&dropped));
    struct AfterConnecting(Vec<ClientThread>, u32);
    impl Observer for AfterConnecting {
        type Error = &'static str;
        fn connected(&mut self, threads: &[ClientThread]) -> Result<(), Self::Error> {
            self.0 = threads.to_vec();
            Ok(())
        }
        fn poll(&mut self) -> Result<(), Self::Error> {
            self.1 += u32::from(!self.0.is_empty());
            if self.1 > 2 { Err("interrupted") } else { Ok(()) }
        }
    }
    let long = LoadSettings { warmup_s: 1.0, sample_s: 3600.0, ..short(8) };
    let mut observer = AfterConnecting(Vec::new(), 0);
    let error = run(&long, &restarting, &mut observer).unwrap_err();
    assert!(matches!(error, RunError::Observer("interrupted")), "{error:?}");
    assert_eq!(dropped.load(Ordering::SeqCst), 8);
    assert_all_end(&observer.0);

    // Also with threads that sleep until a transaction is due in a minute, and in the middle of a sample.
    let mut observer = Impatient::default();
    let pace = Pace::Open { rate: Curve::Constant(8.0), arrivals: Arrivals::Constant };
    let error =
        run(&LoadSettings { pace, ..long }, &|_: ClientThread| scripted(done_after_a_nap), &mut observer).unwrap_err();
    assert!(matches!(error, RunError::Observer("interrupted")), "{error:?}");
    assert_eq!(observer.received, [RunPhase::Warmup, RunPhase::Sample(0)]);
    assert_eq!(observer.threads.len(), 8);
    assert_all_end(&observer.threads);
}

#[test]
fn a_failing_client_ends_the_run_and_is_named() {
    let connect = |thread: ClientThread| {
        scripted(move |attempt, _| {
            nap(1);
            if thread.index == 2 && attempt == 20 { Err("table is gone".to_owned()) } else { Ok(Attempt::Done(READ)) }
        })
    };
    let error = run(&LoadSettings { sample_s: 3600.0, ..short(4) }, &connect, &mut Unobserved).unwrap_err();
    assert_eq!(error.to_string(), "client thread 2: table is gone");
}

#[test]
fn a_panicking_client_ends_the_run_and_is_named() {
    let connect = |thread: ClientThread| {
        scripted(move |_, _| {
            nap(1);
            assert_ne!(thread.index, 1, "this panic is part of the test");
            Ok(Attempt::Done(READ))
        })
    };
    let error = run(&LoadSettings { sample_s: 3600.0, ..short(3) }, &connect, &mut Unobserved).unwrap_err();
    assert!(matches!(error, RunError::Panicked { thread: 1 }), "{error:?}");
}

/// A client that waits for an answer until the flag is set.
struct Stuck(std::sync::Arc<AtomicBool>);

impl Client for Stuck {
    type Error = String;

    fn transaction(&mut self, _random: &mut Random) -> Result<Attempt, String> {
        while !self.0.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("the connection was ended".into())
    }
}

/// A shorter patience makes [`Ends`] end the run with an error of its own.
const TOLD: f64 = 0.3;

struct Ends(std::sync::Arc<AtomicBool>, Option<Instant>);

impl Observer for Ends {
    type Error = String;

    fn unanswered(&mut self, clients: &BTreeSet<usize>, patience_s: f64) -> Result<(), String> {
        if patience_s < TOLD { Err(format!("{clients:?} after {patience_s} s")) } else { Ok(()) }
    }

    fn abandon(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn poll(&mut self) -> Result<(), String> {
        match self.1 {
            Some(at) if Instant::now() > at => Err("interrupted".into()),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_server_that_never_answers_ends_neither_the_interrupt_nor_the_sample() {
    let ended = std::sync::Arc::new(AtomicBool::new(false));
    let connect = |_: ClientThread| Ok(Stuck(ended.clone()));
    let soon = Some(Instant::now() + Duration::from_millis(200));
    let began = Instant::now();
    let long = LoadSettings { sample_s: 3600.0, ..short(3) };
    let error = run(&long, &connect, &mut Ends(ended.clone(), soon)).unwrap_err();
    assert!(matches!(error, RunError::Observer(ref e) if e == "interrupted"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());

    ended.store(false, Ordering::Relaxed);
    let impatient = LoadSettings { patience_s: TOLD, ..short(3) };
    let error = run(&impatient, &connect, &mut Ends(ended.clone(), None)).unwrap_err();
    assert!(matches!(error, RunError::Unanswered { threads: 3, .. }), "{error}");

    // One of three clients answers.
    ended.store(false, Ordering::Relaxed);
    let connect = |thread: ClientThread| {
        let mut stuck = Stuck(ended.clone());
        scripted(move |_, random| {
            nap(1);
            if thread.index == 1 { Ok(Attempt::Done(READ)) } else { stuck.transaction(random) }
        })
    };
    let impatient = LoadSettings { patience_s: 0.2, ..short(3) };
    let error = run(&impatient, &connect, &mut Ends(ended.clone(), None)).unwrap_err();
    assert!(matches!(error, RunError::Observer(ref e) if e == "{0, 2} after 0.2 s"), "{error}");
}

#[test]
fn a_server_that_never_lets_a_session_begin_ends_the_run() {
    let ended = std::sync::Arc::new(AtomicBool::new(false));
    let connect = |_: ClientThread| -> Result<Stuck, String> {
        while !ended.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Err("the connection was ended".into())
    };
    let began = Instant::now();
    let impatient = LoadSettings { connect_s: 0.3, ..short(3) };
    let error =
        run(&impatient, &connect, &mut Ends(ended.clone(), began.checked_add(Duration::from_secs(5)))).unwrap_err();
    assert!(matches!(error, RunError::NotConnected { threads: 3, .. }), "{error}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}
