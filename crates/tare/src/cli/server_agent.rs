//! `tare server-agent` (hidden): runs a study on this host for the user of another, who started it there through ssh,
//! and whose clients are there. The run is the ordinary one; when the connection ends, so does it, in good order.

use super::{Exit, Problem, interrupt};
use crate::state;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_files::{Access, PrivateFolder};
use tare_study::hosts::doors::{Doors, Heard};
use tare_study::hosts::remote::LOOK_EVERY;
use tare_study::hosts::served::{Job, LANGUAGE, Order, Report, WAY, WAY_BACK};
use tare_study::hosts::{Link, Mouth};

/// How long a run may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(60);
/// How long is waited for the word that the results have arrived.
const RECEIPT: Duration = Duration::from_secs(60);
/// Bytes of a file that one message carries.
const PART: u64 = 4 << 20;

/// Options of the hidden `tare server-agent`.
#[derive(Debug, Args)]
pub struct ServerAgentArgs {}

/// Runs the study that the other side of standard input and output asks for.
///
/// # Errors
/// When there is no place for the run, or it cannot be started.
pub fn run(_args: &ServerAgentArgs) -> Result<Exit, Problem> {
    let asked = interrupt::flag()?;
    let link: Link<Order> = Link::open(io::stdin(), io::stdout()).map_err(failed)?;
    link.mouth().say(&Report::Hello { version: env!("CARGO_PKG_VERSION").to_owned(), language: LANGUAGE });
    while !asked.load(Ordering::Relaxed) {
        match link.hear(LOOK_EVERY) {
            Ok(Some(Order::Run(job))) => return serve(&link, &job, asked),
            Ok(Some(Order::Stop)) | Err(_) => return Ok(Exit::Done),
            Ok(_) => {}
        }
    }
    Ok(Exit::Interrupted)
}

fn failed(error: impl std::fmt::Display) -> Problem {
    Problem::new(Exit::Machine, format!("the study cannot be run for another host: {error}"))
}

/// What is run for another host, and where.
struct Place {
    /// As the other host calls it.
    name: String,
    folder: PathBuf,
    results: PathBuf,
}

impl Place {
    fn of(job: &Job) -> Result<Self, Problem> {
        let fresh = || format!("{}-{}", tare_results::now().replace(':', "-"), std::process::id());
        let name = job.resume.clone().unwrap_or_else(fresh);
        if name.starts_with('.') || name.contains('/') {
            return Err(failed("its folder has no name"));
        }
        let folder = state::directory()?.join("served").join(&name);
        PrivateFolder::open_or_create(&folder, Access::Closed).map_err(failed)?;
        Ok(Self { name, results: folder.join("results"), folder })
    }

    fn forget(&self) {
        // What stays is found by hand, in the folder of the state.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn serve(link: &Link<Order>, job: &Job, asked: &AtomicBool) -> Result<Exit, Problem> {
    let place = Place::of(job)?;
    let doors = Doors::open(link.mouth().clone()).map_err(failed)?;
    let mut child = start(job, &place, &doors.name)?;
    let printed = print(&mut child, link.mouth());
    let code = supervise(link, &mut child, &doors, &place, asked)?;
    // All that it printed goes first.
    let _ = printed.join();
    if !place.results.exists() {
        place.forget();
    } else if !job.dry_run {
        send_files(&place.results, &place.results, link.mouth()).map_err(failed)?;
    }
    link.mouth().say(&Report::Ended(code));
    let deadline = Instant::now() + RECEIPT;
    while Instant::now() < deadline {
        match link.hear(LOOK_EVERY) {
            Ok(Some(Order::Received { keep })) => {
                if !keep {
                    place.forget();
                }
                break;
            }
            Err(_) => break,
            Ok(_) => {}
        }
    }
    Ok(Exit::Done)
}

/// The ordinary run, whose clients are reached by the way back.
fn start(job: &Job, place: &Place, way: &str) -> Result<Child, Problem> {
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(&program);
    command.arg("run");
    if job.resume.is_some() {
        command.arg("--resume").arg(&place.results);
    } else {
        let study = place.folder.join("study.toml");
        tare_files::write_whole(&study, job.study.as_bytes()).map_err(failed)?;
        let way_back = serde_json::json!([program.display().to_string(), WAY_BACK]);
        command.arg(study).args(["--set", &format!("client.ssh={way_back}")]);
        // "address port address port" (sshd(8)): the third is where this host was reached.
        let reached = std::env::var("SSH_CONNECTION").ok();
        let reached = reached.and_then(|words| words.split(' ').nth(2).map(str::to_owned));
        if let Some(address) = reached.filter(|_| !job.has_address) {
            command.args(["--set", &format!("client.server_address={address}")]);
        }
        command.args(job.moved_from.iter().flat_map(|engine| ["--moved-from", engine]));
        command.args(job.as_published.then_some("--as-published"));
        if job.dry_run {
            command.arg("--dry-run").args(job.json.then_some("--json"));
        } else {
            command.arg("--out").arg(&place.results);
        }
    }
    command.args(["--served-as", &job.shown]).env(WAY, way).stdin(Stdio::null()).stdout(Stdio::piped());
    // Its trials put everything back when it is killed.
    tare_engine::dies_with_parent(&mut command);
    command.spawn().map_err(failed)
}

/// Passes on what it prints.
fn print(child: &mut Child, mouth: &Mouth) -> std::thread::JoinHandle<()> {
    let (out, mouth) = (child.stdout.take(), mouth.clone());
    std::thread::spawn(move || {
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines().map_while(Result::ok)) {
            mouth.say(&Report::Out(line));
        }
    })
}

/// Passes everything on between trials and the clients' host until the run has ended: its exit code.
fn supervise(
    link: &Link<Order>,
    child: &mut Child,
    doors: &Arc<Doors>,
    place: &Place,
    asked: &AtomicBool,
) -> Result<i32, Problem> {
    let mut deadline = None::<Instant>;
    let mut has_begun = false;
    loop {
        let goes_on = match link.hear(LOOK_EVERY) {
            Ok(Some(Order::Line(number, line))) => {
                doors.tell(number, &Heard::Line(line));
                // The next may be there already.
                continue;
            }
            Ok(Some(Order::Ended(number, code))) => {
                doors.tell(number, &Heard::Ended(code));
                true
            }
            Ok(Some(Order::Stop)) => false,
            Ok(_) => !asked.load(Ordering::Relaxed),
            Err(_) => {
                doors.close();
                // Heard at once each time, from now on.
                std::thread::sleep(LOOK_EVERY);
                false
            }
        };
        let ended = child.try_wait().map_err(failed)?;
        // A run with little left to do has begun and ended before anybody looks.
        if !has_begun && place.results.join("plan.json").exists() {
            link.mouth().say(&Report::Begun(place.name.clone()));
            has_begun = true;
        }
        if let Some(status) = ended {
            return Ok(status.code().unwrap_or(Exit::Interrupted as i32));
        }
        if !goes_on && deadline.is_none() {
            deadline = Some(Instant::now() + GRACE);
            if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
                // Gone already is as good.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            let _ = child.kill();
        }
    }
}

/// Sends every file of a folder of the results, part by part.
fn send_files(results: &Path, folder: &Path, mouth: &Mouth) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_dir() {
            send_files(results, &path, mouth)?;
        }
        let Some(name) = path.strip_prefix(results).ok().and_then(Path::to_str).filter(|_| kind.is_file()) else {
            continue;
        };
        let mut file = std::fs::File::open(&path)?;
        loop {
            let mut bytes = Vec::new();
            file.by_ref().take(PART).read_to_end(&mut bytes)?;
            let is_last = (bytes.len() as u64) < PART;
            mouth.say(&Report::File { path: name.to_owned(), bytes: BASE64_STANDARD.encode(&bytes), is_last });
            if is_last {
                break;
            }
        }
    }
    Ok(())
}
