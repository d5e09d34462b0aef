//! The client half of a trial on two hosts: settings, threads and their verification on this host, with the same load
//! as in other trials. It ends when the connection to the trial ends, and restores everything before.

use super::settings::apply_machine;
use crate::state::{self, Host as ThisHost};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_drive::capture::environment::environment;
use tare_drive::sut::{
    LoadAround, Partner, SideThreads, Surroundings, SutError, SutWatch, SystemUnderTest, WatchSettings,
};
use tare_drive::workload::{Driven, Host, LoadContext, LoadError, Progress, ServerAt, TrialSize};
use tare_engine::{ConnectTarget, Engine, Spinning};
use tare_noise::MemoryConfines;
use tare_results::MOST_SAMPLES;
use tare_study::hosts::message::{Ask, Begin, Failed, FromClient, Hello, LANGUAGE};
use tare_study::hosts::remote::{LOOK_EVERY, unix_ns};
use tare_study::hosts::{Link, LinkEnd, LinkWriter};
use tare_study::language::settings::Settings;
use tare_study::language::values::from_values;
use tare_text::Value;
use tare_topology::{Fingerprint, Machine, MachineError, Pairing, ResolvedPlacement};

/// How long clients may take to end on request. Then settings are restored, and the clients end with this process.
const GRACE: Duration = Duration::from_secs(10);

/// The key of a load that names a file to read.
const FILE: &str = "workload.file";

pub(crate) type Take<'a> = dyn Fn() -> Result<ThisHost, String> + 'a;

/// Introduces this host, then follows the requests of the trial on the other side of `link`. A signal sets `requested`.
pub(crate) fn serve(link: &Link<Ask>, take: &Take<'_>, requested: &AtomicBool) -> Result<(), MachineError> {
    link.writer().say(&FromClient::Hello(Box::new(hello()?)));
    while !requested.load(Ordering::Relaxed) {
        match link.hear(LOOK_EVERY) {
            Ok(Some(Ask::Time)) => link.writer().say(&FromClient::Time(unix_ns())),
            Ok(Some(Ask::Begin(begin))) => {
                let ended = work(link, *begin, take, requested);
                link.writer().say(&FromClient::Ended(Box::new(ended)));
                return Ok(());
            }
            Ok(Some(Ask::Stop)) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
    }
    Ok(())
}

fn hello() -> Result<Hello, MachineError> {
    let machine = Machine::this()?;
    // "address port address port" (sshd(8)): the first address is that of the ssh client.
    let from = std::env::var("SSH_CONNECTION").ok();
    Ok(Hello {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        language: LANGUAGE,
        name: tare_noise::host_name(),
        fingerprint: Fingerprint::of(&machine),
        environment: environment(&machine),
        reached_from: from.and_then(|words| words.split(' ').next()?.parse().ok()),
    })
}

fn failed(error: impl std::fmt::Display) -> Failed {
    Failed { what: error.to_string(), interrupted: false }
}

/// Locks the host, applies settings, runs the clients, and restores everything.
fn work(link: &Link<Ask>, begin: Begin, take: &Take<'_>, requested: &AtomicBool) -> Result<Driven, Failed> {
    let _host = take().map_err(failed)?;
    let clients = Clients::read(begin)?;
    let mut held = apply_machine(&clients.settings, &MemoryConfines::default()).map_err(failed)?;
    link.writer().say(&FromClient::Holds(std::mem::take(&mut held.applied)));
    let driven = supervise(link, clients, requested);
    held.restore().map_err(failed)?;
    driven
}

struct Clients {
    settings: Settings,
    engine: &'static dyn Engine,
    target: ConnectTarget,
    watch: WatchSettings,
    counts: TrialSize,
    seed: u64,
    probes: bool,
}

impl Clients {
    fn read(begin: Begin) -> Result<Self, Failed> {
        // The content of a file comes with the settings; reading a local file would disclose it to the other host.
        if begin.settings.contains_key(FILE) {
            return Err(failed(format!("the other host named a local file, {FILE}: it was not read")));
        }
        if begin.counts.samples > MOST_SAMPLES {
            return Err(failed(format!("{} samples: at most {MOST_SAMPLES} are measured", begin.counts.samples)));
        }
        for seconds in [begin.counts.warmup_s, begin.counts.sample_s] {
            let refused = |expected| failed(format!("a warm-up or sample of {seconds:e} s: expected {expected}"));
            Value::from(seconds).seconds().map_err(refused)?;
        }
        let mut settings = from_values(&begin.settings).map_err(failed)?;
        // The other host must not start programs here: only loads whose clients are in this process are accepted.
        settings.workload.load.load().clients_elsewhere().map_err(failed)?;
        // Settings with CPUs refer to the CPUs of the server's host.
        settings.machine.retain(|level| level.cpus().is_none());
        let cpus = begin.cpus.into_iter().map(|cpus| cpus.into_iter().collect());
        let placement = ResolvedPlacement {
            client: cpus.collect(),
            server: Vec::new(),
            background: None,
            bind: settings.placement.bind,
            pairing: Pairing::None,
            memory: tare_topology::MemoryPolicy::Default,
            pool_memory: tare_topology::MemoryPolicy::Default,
        };
        let watch = WatchSettings {
            placement,
            chance_seed: begin.seed,
            memory: false,
            schedule: settings.capture.schedule,
            cache: settings.capture.cache,
            probe_share: None,
            spinning: settings.client.spin.then(Spinning::default),
        };
        let here = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            engine: settings.engine.kind,
            settings,
            target: begin.target.target(),
            watch,
            counts: TrialSize { cpus: here, ..begin.counts },
            seed: begin.seed,
            probes: begin.probes,
        })
    }

    /// Drives the load as in any trial; the trial's control and the watch over the server are on the other host.
    fn drive(&self, trial: &Arc<Trial>) -> Result<Driven, LoadError> {
        let connect = || {
            let mut session = self.engine.connect(&self.target)?;
            session.set_spinning(self.watch.spinning.clone());
            Ok(session)
        };
        let partner = Box::new(OtherHalf { trial: Arc::clone(trial), probes: self.probes });
        self.settings.workload.load.load().drive(LoadContext {
            engine: self.engine.name(),
            dialect: self.engine.dialect(),
            server: None,
            connect: &connect,
            server_at: ServerAt::Partner,
            threads: self.settings.workload.threads,
            seed: self.seed,
            counts: self.counts,
            settle: &self.settings.workload.settle,
            turns: None,
            settled: None,
            placement: &self.watch,
            watch: SutWatch::new(SystemUnderTest::own_process(), self.watch.clone()).with_partner(partner),
            host: trial.as_ref(),
            cache: state::cache_directory().map_err(LoadError::own)?,
        })
    }
}

/// Runs the clients in a thread of their own, so that this thread can always end in an orderly way: it passes answers
/// on, and stops when the trial requests it, the connection is lost, or a signal arrives here.
fn supervise(link: &Link<Ask>, clients: Clients, requested: &AtomicBool) -> Result<Driven, Failed> {
    let (answers, answered) = sync_channel(1);
    let (done, ended) = channel();
    let trial = Arc::new(Trial {
        writer: link.writer().clone(),
        answers: Mutex::new(answered),
        stopped: AtomicBool::new(false),
    });
    let of_load = Arc::clone(&trial);
    std::thread::Builder::new()
        .name("load".into())
        .spawn(move || drop(done.send(clients.drive(&of_load).map_err(failed))))
        .map_err(failed)?;
    let mut deadline = None::<Instant>;
    loop {
        match ended.try_recv() {
            Ok(driven) => {
                let interrupted = trial.stopped.load(Ordering::Relaxed);
                return driven.map_err(|failed| Failed { interrupted, ..failed });
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(failed("the load panicked")),
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(Failed { what: "the clients did not end".into(), interrupted: true });
        }
        let goes_on = pass(link.hear(LOOK_EVERY), &answers) && !requested.load(Ordering::Relaxed);
        if !goes_on && !trial.stopped.swap(true, Ordering::Relaxed) {
            deadline = Some(Instant::now() + GRACE);
        }
    }
}

/// Passes an answer on to the load; returns whether to go on.
fn pass(received: Result<Option<Ask>, LinkEnd>, answers: &SyncSender<Ask>) -> bool {
    match received {
        Ok(None) => true,
        Ok(Some(Ask::Stop)) => false,
        Ok(Some(answer)) => {
            // Sending fails only if the load has ended or an answer is already waiting, and neither needs this answer.
            let _ = answers.try_send(answer);
            true
        }
        Err(_) => {
            // From now on, every call returns the error immediately.
            std::thread::sleep(LOOK_EVERY);
            false
        }
    }
}

/// The trial on the other host, as the load on this host uses it.
struct Trial {
    writer: LinkWriter,
    answers: Mutex<Receiver<Ask>>,
    stopped: AtomicBool,
}

impl Trial {
    /// Sends a request, and waits for the answer.
    fn ask(&self, what: &FromClient) -> Result<Ask, SutError> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        self.writer.say(what);
        loop {
            match answers.recv_timeout(LOOK_EVERY) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) if !self.stopped.load(Ordering::Relaxed) => {}
                Err(_) => return Err(SutError::OtherHost("the trial on the other host ended".into())),
            }
        }
    }
}

impl Host for Trial {
    fn progress(&self, step: Progress) {
        self.writer.say(&FromClient::Step(step));
    }

    fn interrupted(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn begin_captures(&self, _threads: &SideThreads) {
        // Without an answer, the trial has ended, and with it the load.
        let _ = self.ask(&FromClient::BeginCaptures);
    }

    fn end_captures(&self) {
        let _ = self.ask(&FromClient::EndCaptures);
    }
}

/// The watch over the server, which runs on the server's host.
struct OtherHalf {
    trial: Arc<Trial>,
    probes: bool,
}

impl Partner for OtherHalf {
    fn probes(&self) -> bool {
        self.probes
    }

    fn connected(&mut self, serving: &[Option<i32>]) -> Result<(), SutError> {
        self.trial.ask(&FromClient::Connected(serving.to_vec())).map(drop)
    }

    fn idle(&mut self) -> Result<(), SutError> {
        self.trial.ask(&FromClient::Idle).map(drop)
    }

    fn start(&mut self, load: LoadAround) -> Result<(), SutError> {
        self.trial.ask(&FromClient::Start(load)).map(drop)
    }

    fn finish(&mut self) -> Result<Surroundings, SutError> {
        match self.trial.ask(&FromClient::Finish)? {
            Ask::Seen(around) => Ok(*around),
            _ => Err(SutError::OtherHost("it did not send its observations".into())),
        }
    }
}
