//! This program on another host: started through ssh, and ended together with the connection.

use super::message::{Ask, FromClient, Hello, LANGUAGE};
use super::{HostError, Link, LinkEnd};
use crate::language::elsewhere::OtherHost;
use std::io::Read;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tare_engine::{dies_with_parent, interrupted};
use tare_text::shown_name;

/// Time limit for the first message of the other side.
const GREETING: Duration = Duration::from_secs(60);
/// How often to check for an interruption.
pub const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time limit for the ssh process to end by itself.
const FAREWELL: Duration = Duration::from_secs(5);
/// The same limit after an interruption.
const AT_ONCE: Duration = Duration::from_millis(300);
/// Time limit for restoring the settings of a lost host.
const AFTERMATH: Duration = Duration::from_secs(20);
/// Number of clock readings; the one with the shortest round trip is used.
const READINGS: usize = 15;
/// Bytes of the error output of ssh and the other side that are kept.
const COMPLAINT: usize = 2000;
/// Limit on the length of a name that another host gives itself, characters.
const NAME: usize = 255;

/// The subcommand that runs this program as the clients' side of a trial.
const AGENT: &str = "client-agent";

/// How far the clock of another host is ahead of this host's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockOffset {
    /// Offset in seconds; negative if the other clock is behind.
    pub offset_s: f64,
    /// Uncertainty of the offset, seconds: half of the shortest round trip.
    pub uncertainty_s: f64,
}

/// This program on another host. Dropping it cuts the connection; the program there then ends all it started.
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
                Err(end @ (LinkEnd::NotReading | LinkEnd::TooLong)) => {
                    ended = Some(end.to_string());
                    break None;
                }
                // A login takes its time.
                Ok(_) | Err(LinkEnd::Silent) if Instant::now() < deadline && !interrupted() => {}
                Ok(_) | Err(LinkEnd::Silent) => {
                    ended = Some("it printed nothing".to_owned());
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

    /// The next message of the other side, if one arrives soon.
    ///
    /// # Errors
    /// [`HostError::Lost`]; the settings of that host have been restored before, if that was possible.
    pub fn hear(&mut self) -> Result<Option<FromClient>, HostError> {
        self.link.hear(LOOK_EVERY).map_err(|end| self.lost(&end))
    }

    pub fn clock(&mut self) -> Result<ClockOffset, HostError> {
        let mut best = ClockOffset { offset_s: 0.0, uncertainty_s: f64::INFINITY };
        let deadline = Instant::now() + GREETING;
        for _ in 0..READINGS {
            // In this order, a pause between the two counts as uncertainty.
            let (clock, requested) = (Instant::now(), unix_ns());
            self.say(&Ask::Time);
            let there = loop {
                if let Some(FromClient::Time(ns)) = self.hear()? {
                    break ns;
                }
                if interrupted() {
                    return Err(HostError::Interrupted);
                }
                if Instant::now() > deadline {
                    let reason = format!("it did not answer within {} s", GREETING.as_secs());
                    return Err(not_reached(&self.there, reason));
                }
            };
            let half_s = clock.elapsed().as_secs_f64() / 2.0;
            if half_s < best.uncertainty_s {
                best = ClockOffset {
                    offset_s: there.saturating_sub(requested) as f64 / 1e9 - half_s,
                    uncertainty_s: half_s,
                };
            }
        }
        Ok(best)
    }

    /// Closes the connection and waits for the end of ssh.
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
        // Errors are ignored: it may have ended already.
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

fn spawn(there: &OtherHost, arguments: &[&str], [stdin, stdout]: [Stdio; 2]) -> Result<Child, HostError> {
    let words = there.command(arguments).unwrap_or_default();
    let Some((program, rest)) = words.split_first() else {
        return Err(not_reached(there, "no host is named".to_owned()));
    };
    let mut command = Command::new(program);
    // Otherwise ssh could wait for a host that does not answer after this program has ended.
    dies_with_parent(&mut command);
    command
        .args(rest)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| HostError::NotStarted { host: host_of(there), program: program.clone(), source })
}

/// Restores the settings of a host that was lost, and describes the result.
fn aftermath(there: &OtherHost) -> String {
    match restore(there) {
        Ok(()) => "its settings there have been restored".to_owned(),
        Err(reason) => format!("the next start of tare there restores its settings ({reason})"),
    }
}

/// Restores the settings that a killed clients' side had changed there; one that was only disconnected restores them
/// itself, and is waited for.
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

/// Waits for a while for the end of a process whose pipe is closed, then kills it.
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

/// Keeps the end of the error output of ssh and the other side.
fn listen_to(mut errors: ChildStderr, complaint: Arc<Mutex<String>>) {
    // If the system cannot start a thread, the output is lost.
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
    // Its last output may still be in transit after it has ended.
    std::thread::sleep(LOOK_EVERY);
    let printed = shown_name(complaint.lock().unwrap_or_else(PoisonError::into_inner).trim()).into_owned();
    let status = status.map(|status| status.to_string());
    let printed = (!printed.is_empty()).then(|| format!("its output: {printed}"));
    [how.map(str::to_owned), status, printed].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Printable text from another host: at most `most` characters, one line, no terminal control sequences.
pub fn cut(text: &str, most: usize) -> String {
    let whole: String = text.chars().take(most).collect();
    let dots = if whole.len() < text.len() { "..." } else { "" };
    shown_name(&whole).into_owned() + dots
}
