//! A study with `server.host`: it is run there by the same program, its clients are here, its results come here.

use super::away_clients::Clients;
use super::{Exit, Problem, interrupt, output};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tare_report::write_report_to;
use tare_study::hosts::remote::{self, LOOK_EVERY};
use tare_study::hosts::served::{AGENT, Job, LANGUAGE, Order, Report};
use tare_study::hosts::{Link, LinkEnd};
use tare_study::language::client::ClientSettings;
use tare_study::language::other_host::OtherHost;
use tare_study::language::spec::Study;
use tare_study::language::write;

/// In a results directory: where the run goes on that it is brought from. Gone when nothing is left to run.
pub const PLACE: &str = "server-host.json";
/// How long it may take until the other side has said who it is.
const GREETING: Duration = Duration::from_secs(60);
/// How long the other side may take to end when somebody wants that.
const GRACE: Duration = Duration::from_secs(90);

/// The way to the run there, and what its clients are here.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Way {
    host: String,
    ssh: Vec<String>,
    program: Vec<String>,
    /// This program here, with what stands before it.
    clients: Vec<String>,
    /// The folder there; empty until the run has begun.
    folder: String,
}

impl Way {
    fn there(&self) -> OtherHost {
        let Self { host, ssh, program, .. } = self.clone();
        OtherHost { host: Some(host), ssh, program }
    }
}

/// What is wanted of a study that is run there.
pub struct Wish<'a> {
    /// Where the results go.
    pub out: &'a Path,
    /// Only the plan is to be shown, and nothing started.
    pub dry_run: bool,
    /// One JSON document on standard output.
    pub json: bool,
}

/// Runs a study on its `server.host`, or has it say what it would do.
///
/// # Errors
/// When that host cannot be reached or is lost; what the run there says is printed by it.
pub fn begin(mut study: Study, wish: &Wish<'_>) -> Result<Exit, Problem> {
    let server = std::mem::take(&mut study.base.server);
    let client = std::mem::take(&mut study.base.client);
    if let Some(host) = client.on.host {
        return Err(Problem::new(Exit::Usage, format!("the study has server.host and client.host {host}"))
            .advice("with server.host the clients are on this host: leave out client.host"));
    }
    if wish.out.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Problem::new(Exit::Usage, format!("{} is not empty", wish.out.display()))
            .advice("name another directory with --out, or go on with --resume"));
    }
    let own =
        std::env::current_exe().map_err(|e| Problem::new(Exit::Machine, format!("where is this program? {e}")))?;
    let clients = if client.on.program.is_empty() { vec![own.display().to_string()] } else { client.on.program };
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let here = OtherHost { host: Some(name), ..OtherHost::default() };
    study.base.client = ClientSettings { on: here, server_address: client.server_address };
    let job = Job {
        study: write::to_toml(&study),
        resume: None,
        shown: wish.out.display().to_string(),
        moved_from: study.moved_from,
        as_published: study.as_published,
        dry_run: wish.dry_run,
        json: wish.json,
        has_address: client.server_address.is_some(),
    };
    let way = Way {
        host: server.host.unwrap_or_default(),
        ssh: server.ssh,
        program: server.program,
        clients,
        folder: String::new(),
    };
    Away::reach(way, wish.out)?.run(job)
}

/// Goes on with results whose run is on another host; none where it is on this one.
///
/// # Errors
/// As [`begin`].
pub fn resume(directory: &Path, json: bool) -> Result<Option<Exit>, Problem> {
    let path = directory.join(PLACE);
    let Some(text) = std::fs::read(&path).ok() else { return Ok(None) };
    let way: Way = serde_json::from_slice(&text)
        .map_err(|e| Problem::new(Exit::Usage, format!("it cannot be read: {e}")).at(path.display().to_string()))?;
    let (resume, shown) = (Some(way.folder.clone()), directory.display().to_string());
    Away::reach(way, directory)?.run(Job { resume, shown, json, ..Job::default() }).map(Some)
}

/// The run on the other host, while it lives.
struct Away<'a> {
    way: Way,
    out: &'a Path,
    link: Link<Report>,
    child: Child,
    clients: Clients,
    /// What came of the file that is on its way.
    part: Vec<u8>,
}

impl<'a> Away<'a> {
    fn reach(way: Way, out: &'a Path) -> Result<Self, Problem> {
        let words = way.there().command(&[AGENT]).unwrap_or_default();
        let failed =
            |e: String| Problem::new(Exit::Machine, format!("server.host {} cannot be reached: {e}", way.host));
        let (program, rest) = words.split_first().ok_or_else(|| failed("no program".into()))?;
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A Ctrl-C in the terminal reaches this program alone, which then asks for an end in good order.
            .process_group(0)
            .spawn()
            .map_err(|e| failed(format!("{program}: {e}")))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("its pipes are missing".into()));
        };
        let link = Link::open(output, input).map_err(|e| failed(e.to_string()))?;
        let clients = Clients::new(way.clients.clone(), link.mouth().clone());
        Ok(Self { way, out, link, child, clients, part: Vec::new() })
    }

    /// Has it run there, to its end.
    fn run(mut self, job: Job) -> Result<Exit, Problem> {
        let stop = interrupt::stop()?;
        let is_plan = job.dry_run;
        let json = job.json;
        if let Err(problem) = self.greet() {
            remote::end(&mut self.child);
            return Err(problem);
        }
        self.link.mouth().say(&Order::Run(Box::new(job)));
        let mut deadline = None::<Instant>;
        let code = loop {
            if stop.asked.load(Ordering::Relaxed) && deadline.is_none() {
                deadline = Some(Instant::now() + GRACE);
                self.link.mouth().say(&Order::Stop);
            }
            let late = deadline.is_some_and(|deadline| Instant::now() > deadline);
            match self.link.hear(LOOK_EVERY) {
                Err(how) => return Err(self.lost(&how.to_string())),
                Ok(_) if late || stop.at_once.load(Ordering::Relaxed) => {
                    return Err(self.lost("it was cut off"));
                }
                Ok(None) => {}
                Ok(Some(Report::Ended(code))) => break code,
                Ok(Some(report)) => {
                    if let Err(problem) = self.take(report) {
                        self.lost("it was cut off");
                        return Err(problem);
                    }
                }
            }
        };
        let exit = exit_of(code);
        // A place for the run to go on is only needed where something is left; a plan has none.
        if exit == Exit::Done {
            let _ = std::fs::remove_file(self.out.join(PLACE));
        }
        self.link.mouth().say(&Order::Received { keep: exit != Exit::Done });
        self.link.mouth().close();
        self.clients.end_all();
        remote::end(&mut self.child);
        if !is_plan && self.out.join("trials.jsonl").exists() {
            show(self.out, json)?;
        }
        Ok(exit)
    }

    fn greet(&self) -> Result<(), Problem> {
        let deadline = Instant::now() + GREETING;
        let not_there = |why: String| {
            let words = self.way.there().command(&["--version"]).unwrap_or_default().join(" ");
            Problem::new(Exit::Machine, format!("server.host {} did not answer: {why}", self.way.host)).advice(format!(
                "`{words}` must work without a question, with the same tare there (server.program says where)"
            ))
        };
        loop {
            match self.link.hear(LOOK_EVERY) {
                Ok(Some(Report::Hello { version, language })) => {
                    let expected = env!("CARGO_PKG_VERSION");
                    if version == expected && language == LANGUAGE {
                        return Ok(());
                    }
                    return Err(not_there(format!("tare {version} is there, and {expected} here")));
                }
                Err(end @ (LinkEnd::Closed | LinkEnd::Garbled(_))) => return Err(not_there(end.to_string())),
                Ok(_) | Err(LinkEnd::Silent) if tare_engine::interrupted() => {
                    return Err(Problem::new(Exit::Interrupted, "interrupted"));
                }
                Ok(_) | Err(LinkEnd::Silent) if Instant::now() > deadline => {
                    return Err(not_there(format!("it said nothing for {} s", GREETING.as_secs())));
                }
                // A login takes its time.
                Ok(_) | Err(LinkEnd::Silent) => {}
            }
        }
    }

    fn take(&mut self, report: Report) -> Result<(), Problem> {
        match report {
            Report::Begun(folder) => {
                self.way.folder = folder;
                let text = serde_json::to_vec_pretty(&self.way).unwrap_or_default();
                self.write(Path::new(PLACE), &text)?;
            }
            Report::Wanted(number, wanted) => self.clients.begin(number, wanted),
            Report::Line(number, line) => self.clients.tell(number, &line),
            Report::Gone(number) => self.clients.end(number),
            Report::Out(line) => output::text(&(line + "\n"))?,
            Report::File { path, bytes, is_last } => {
                let wrong = |what: &str| Problem::new(Exit::Machine, format!("{} sent {what}", self.way.host));
                let bytes = BASE64_STANDARD.decode(bytes).map_err(|_| wrong("what is no base64"))?;
                self.part.extend(bytes);
                if is_last {
                    let path = Path::new(&path);
                    // Only below the results directory.
                    if path.components().any(|part| !matches!(part, Component::Normal(_))) {
                        return Err(wrong("a file that is not in the results directory"));
                    }
                    let bytes = std::mem::take(&mut self.part);
                    self.write(path, &bytes)?;
                }
            }
            Report::Hello { .. } | Report::Ended(_) => {}
        }
        Ok(())
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
        let path = self.out.join(path);
        let failed = |e: String| Problem::new(Exit::Machine, e).at(path.display().to_string());
        std::fs::create_dir_all(path.parent().unwrap_or(self.out)).map_err(|e| failed(e.to_string()))?;
        tare_files::write_whole(&path, bytes).map_err(|e| failed(e.to_string()))
    }

    /// Ends everything here, and puts back there what can be reached.
    fn lost(mut self, how: &str) -> Problem {
        self.link.mouth().close();
        self.clients.end_all();
        remote::end(&mut self.child);
        let aftermath = remote::aftermath(&self.way.there());
        let problem =
            Problem::new(Exit::TrialFailed, format!("server.host {} is gone: {how}; {aftermath}", self.way.host));
        match self.way.folder.is_empty() {
            true => problem,
            false => problem
                .advice(format!("what was finished is there; go on with: tare run --resume {}", self.out.display())),
        }
    }
}

fn show(out: &Path, json: bool) -> Result<(), Problem> {
    let results = super::results_problem::open(out)?;
    super::show::print(&results, json, false, None)?;
    let report = out.join("report.html");
    write_report_to(&results, &report)?;
    output::note(&format!("\nresults: {}\nreport:  {}", out.display(), report.display()));
    Ok(())
}

fn exit_of(code: i32) -> Exit {
    match code {
        0 => Exit::Done,
        2 => Exit::Usage,
        3 => Exit::Machine,
        130 => Exit::Interrupted,
        _ => Exit::TrialFailed,
    }
}
