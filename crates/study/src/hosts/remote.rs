//! This program on another host: started through ssh, heard and ended with it.

use super::message::{Ask, FromClient, Hello, LANGUAGE};
use super::{HostError, Link, LinkEnd};
use crate::language::other_host::OtherHost;
use std::io::Read;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tare_engine::{dies_with_parent, interrupted};
use tare_text::shown_name;

/// How long it may take until the other side has said who it is.
const GREETING: Duration = Duration::from_secs(60);
/// How often it is looked whether someone wants everything to end.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the program that reaches the other host may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(5);
/// And where no one wants to wait for it any more.
const AT_ONCE: Duration = Duration::from_millis(300);
/// How long putting back what a lost half had set may take.
const AFTERMATH: Duration = Duration::from_secs(20);
/// Times that the clocks are compared: the quickest answer says most.
const READINGS: usize = 15;
/// Bytes of what ssh and the other side complain of that are kept.
const COMPLAINT: usize = 2000;
/// Characters of a name that another host gives itself.
const NAME: usize = 255;

/// The word that makes this program the other half of a trial.
pub const AGENT: &str = "client-agent";

/// How far the clock of another host is ahead of this one's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    /// Seconds that it is ahead; negative where it is behind.
    pub offset_s: f64,
    /// The offset is known to this, seconds: half of the quickest round trip.
    pub uncertainty_s: f64,
}

/// This program on another host. Dropped, it is cut off, and ends everything that it began there.
pub struct Remote {
    there: OtherHost,
    child: Child,
    link: Link<FromClient>,
    complaint: Arc<Mutex<String>>,
    pub hello: Box<Hello>,
}

impl Remote {
    pub fn start(there: &OtherHost) -> Result<Self, HostError> {
        let mut child = spawn(there, &[AGENT], [Stdio::piped(), Stdio::piped()])?;
        let complaint = Arc::default();
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(not_reached(there, "its pipes are missing".into()));
        };
        listen_to(errors, Arc::clone(&complaint));
        let link = Link::open(output, input).map_err(|e| not_reached(there, e.to_string()))?;
        let deadline = Instant::now() + GREETING;
        let mut ended = None;
        let hello = loop {
            match link.hear(LOOK_EVERY) {
                Ok(Some(FromClient::Hello(hello))) => break Some(hello),
                Err(LinkEnd::Closed | LinkEnd::Garbled(_)) => break None,
                Err(end @ (LinkEnd::Deaf | LinkEnd::TooLong)) => {
                    ended = Some(end.to_string());
                    break None;
                }
                // A login takes its time.
                Ok(_) | Err(LinkEnd::Silent) if Instant::now() < deadline && !interrupted() => {}
                Ok(_) | Err(LinkEnd::Silent) => {
                    ended = Some("it said nothing".to_owned());
                    break None;
                }
            }
        };
        let Some(mut hello) = hello else {
            link.writer().close();
            let status = end(&mut child);
            if interrupted() {
                return Err(HostError::Interrupted);
            }
            return Err(not_reached(there, why(ended.as_deref(), status, &complaint)));
        };
        let expected = env!("CARGO_PKG_VERSION");
        [&mut hello.version, &mut hello.name].into_iter().for_each(|text| *text = cut(text, NAME));
        if hello.version != expected || hello.language != LANGUAGE {
            let words = |version: &str, language: u32| format!("{version} (language {language})");
            return Err(HostError::OtherVersion {
                host: host_of(there),
                found: words(&hello.version, hello.language),
                expected: words(expected, LANGUAGE),
            });
        }
        Ok(Self { there: there.clone(), child, link, complaint, hello })
    }

    pub fn host(&self) -> String {
        host_of(&self.there)
    }

    pub fn say(&self, message: &Ask) {
        self.link.writer().say(message);
    }

    /// What the other side says next, where it does soon.
    ///
    /// # Errors
    /// [`HostError::Lost`]; what was set there has been put back then, where that could be done.
    pub fn hear(&mut self) -> Result<Option<FromClient>, HostError> {
        self.link.hear(LOOK_EVERY).map_err(|end| self.lost(&end))
    }

    pub fn clock(&mut self) -> Result<ClockOffset, HostError> {
        let mut best = ClockOffset { offset_s: 0.0, uncertainty_s: f64::INFINITY };
        let deadline = Instant::now() + GREETING;
        for _ in 0..READINGS {
            let (asked, clock) = (unix_ns(), Instant::now());
            self.say(&Ask::Time);
            let there = loop {
                if let Some(FromClient::Time(ns)) = self.hear()? {
                    break ns;
                }
                if interrupted() {
                    return Err(HostError::Interrupted);
                }
                if Instant::now() > deadline {
                    let reason = format!("it did not say its time within {} s", GREETING.as_secs());
                    return Err(not_reached(&self.there, reason));
                }
            };
            let half_s = clock.elapsed().as_secs_f64() / 2.0;
            if half_s < best.uncertainty_s {
                best =
                    ClockOffset { offset_s: there.saturating_sub(asked) as f64 / 1e9 - half_s, uncertainty_s: half_s };
            }
        }
        Ok(best)
    }

    /// Lets it go in good order.
    pub fn close(mut self) {
        self.link.writer().close();
        end(&mut self.child);
    }

    fn lost(&mut self, how: &LinkEnd) -> HostError {
        self.link.writer().close();
        let status = end(&mut self.child);
        let reason = why(Some(&how.to_string()), status, &self.complaint);
        HostError::Lost { host: self.host(), reason, aftermath: aftermath(&self.there) }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.link.writer().close();
        // Gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn host_of(there: &OtherHost) -> String {
    there.host.clone().unwrap_or_default()
}

fn not_reached(there: &OtherHost, reason: String) -> HostError {
    let command = there.command(&["--version"]).unwrap_or_default().join(" ");
    HostError::NotReached { host: host_of(there), reason, command }
}

/// Starts this program on the other host with these arguments.
fn spawn(there: &OtherHost, arguments: &[&str], [stdin, stdout]: [Stdio; 2]) -> Result<Child, HostError> {
    let words = there.command(arguments).unwrap_or_default();
    let (program, rest) = words.split_first().ok_or(HostError::Interrupted)?;
    let mut command = Command::new(program);
    // It would wait for a host that does not answer when no one is left here.
    dies_with_parent(&mut command);
    command
        .args(rest)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| HostError::NotStarted { host: host_of(there), program: program.clone(), source })
}

/// Puts back what was set on a host that was lost, and says what became of it.
fn aftermath(there: &OtherHost) -> String {
    match restore(there) {
        Ok(()) => "what it had set there is put back".to_owned(),
        Err(reason) => format!("what it had set there is put back by the next start of tare there ({reason})"),
    }
}

/// Puts back what a half that was killed had set there; one that was only cut off is waited for, and does it itself.
fn restore(there: &OtherHost) -> Result<(), String> {
    let deadline = Instant::now() + AFTERMATH;
    loop {
        let mut child =
            spawn(there, &["restore", "--json"], [Stdio::null(), Stdio::null()]).map_err(|e| e.to_string())?;
        let status = loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < deadline && !interrupted() => std::thread::sleep(LOOK_EVERY),
                Ok(Some(status)) => break Some(status),
                _ => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        match status {
            Some(status) if status.success() => return Ok(()),
            _ if interrupted() => return Err("interrupted".to_owned()),
            Some(_) if Instant::now() < deadline => std::thread::sleep(10 * LOOK_EVERY),
            Some(status) => return Err(format!("tare restore there: {status}")),
            None => return Err(format!("tare restore there took longer than {} s", AFTERMATH.as_secs())),
        }
    }
}

/// Waits a while for the end of a process whose pipe is closed, and makes one.
fn end(child: &mut Child) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < if interrupted() { AT_ONCE } else { FAREWELL } {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    child.wait().ok()
}

/// Keeps the last of what ssh and the other side say alongside their messages.
fn listen_to(mut errors: ChildStderr, complaint: Arc<Mutex<String>>) {
    // Where the system starts no thread, what is said is lost.
    let _ = std::thread::Builder::new().spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(read @ 1..) = errors.read(&mut bytes) {
            let mut kept = complaint.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push_str(&String::from_utf8_lossy(&bytes[..read]));
            let excess = kept.len().saturating_sub(COMPLAINT);
            let cut = (excess..kept.len()).find(|at| kept.is_char_boundary(*at)).unwrap_or(kept.len());
            kept.drain(..cut);
        }
    });
}

fn why(how: Option<&str>, status: Option<ExitStatus>, complaint: &Mutex<String>) -> String {
    // Its last words are on their way when it has ended.
    std::thread::sleep(LOOK_EVERY);
    let said = shown_name(complaint.lock().unwrap_or_else(PoisonError::into_inner).trim()).into_owned();
    let status = status.map(|status| status.to_string());
    let said = (!said.is_empty()).then(|| format!("it said: {said}"));
    [how.map(str::to_owned), status, said].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What another host says, as it may be shown: so many characters, on one line, none of which steers a terminal.
pub fn cut(text: &str, most: usize) -> String {
    let whole: String = text.chars().take(most).collect();
    let dots = if whole.len() < text.len() { "..." } else { "" };
    shown_name(&whole).into_owned() + dots
}
