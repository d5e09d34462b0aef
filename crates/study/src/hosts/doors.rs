//! Where trials reach the clients' host when that is the one that started them: a socket of this user's, whose every
//! connection is passed on as messages, and its other end.

use super::Mouth;
use super::served::{Report, Wanted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// What a trial hears through its door, a JSON line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Heard {
    /// A line of what it wanted.
    Line(String),
    /// That has ended with this exit code.
    Ended(i32),
}

/// The doors of all trials, by number.
pub struct Doors {
    /// The name that trials connect to. It is no file, so that a kill leaves none.
    pub name: String,
    mouth: Mouth,
    open: Mutex<BTreeMap<u32, UnixStream>>,
    is_closed: AtomicBool,
}

impl Doors {
    /// Opens them; what comes in is said through `mouth`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn open(mouth: Mouth) -> io::Result<Arc<Self>> {
        // Every new state of the standard library's hasher has keys from the system's random numbers.
        let random = RandomState::new().build_hasher().finish();
        let name = format!("tare-way-back-{}-{random:016x}", std::process::id());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        let doors = Arc::new(Self { name, mouth, open: Mutex::default(), is_closed: AtomicBool::new(false) });
        let all = Arc::clone(&doors);
        Builder::new().name("doors".into()).spawn(move || {
            let ours = listener.incoming().map_while(Result::ok).filter(is_ours);
            for (number, stream) in (0..).zip(ours) {
                let doors = Arc::clone(&all);
                // Without a thread it is dropped, and whoever came notices.
                let _ = Builder::new().name("door".into()).spawn(move || doors.pass(number, stream));
            }
        })?;
        Ok(doors)
    }

    /// Says everything that comes through one.
    fn pass(&self, number: u32, stream: UnixStream) {
        let Ok(reading) = stream.try_clone() else { return };
        let mut lines = BufReader::new(reading).lines().map_while(Result::ok);
        let wanted: Option<Wanted> = lines.next().and_then(|line| serde_json::from_str(&line).ok());
        let Some(wanted) = wanted else { return };
        self.doors().insert(number, stream);
        if self.is_closed.load(Ordering::Relaxed) {
            self.close();
            return;
        }
        self.mouth.say(&Report::Wanted(number, wanted));
        for line in lines {
            self.mouth.say(&Report::Line(number, line));
        }
        self.mouth.say(&Report::Gone(number));
    }

    /// Passes on what the clients' host says to one. Who has left hears nothing.
    pub fn tell(&self, number: u32, heard: &Heard) {
        let mut open = self.doors();
        let Some(stream) = open.get_mut(&number) else { return };
        let _ = write_line(stream, heard);
        if matches!(heard, Heard::Ended(_)) {
            let _ = stream.shutdown(Shutdown::Both);
            open.remove(&number);
        }
    }

    /// Closes all, for good: the clients' host is gone.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        for stream in std::mem::take(&mut *self.doors()).into_values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn doors(&self) -> MutexGuard<'_, BTreeMap<u32, UnixStream>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the other end is a process of this user's: everybody may connect to a name that is no file.
fn is_ours(stream: &UnixStream) -> bool {
    rustix::net::sockopt::socket_peercred(stream).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
}

fn write_line(to: &mut UnixStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// The other end of a door: carries standard input and output until what was wanted has ended; its exit code.
///
/// # Errors
/// When there is no such door, or the clients' host is gone.
pub fn carry(name: &str, wanted: Wanted) -> io::Result<i32> {
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    if !is_ours(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    write_line(&mut stream, &wanted)?;
    let mut there = stream.try_clone()?;
    Builder::new().name("in".into()).spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if writeln!(there, "{line}").is_err() {
                return;
            }
        }
        let _ = there.shutdown(Shutdown::Write);
    })?;
    for line in BufReader::new(stream).lines() {
        match serde_json::from_str(&line?)? {
            Heard::Line(line) => {
                let mut out = io::stdout().lock();
                writeln!(out, "{line}").and_then(|()| out.flush())?;
            }
            Heard::Ended(code) => return Ok(code),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use super::super::Link;
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_comes_through_a_door_is_passed_on_and_answers_come_back() {
        let (reader, writer) = io::pipe().unwrap();
        let (far_reader, _far_writer) = io::pipe().unwrap();
        let near: Link<u32> = Link::open(far_reader, writer).unwrap();
        let far: Link<Report> = Link::open(reader, io::sink()).unwrap();
        let doors = Doors::open(near.mouth().clone()).unwrap();
        let address = SocketAddr::from_abstract_name(&doors.name).unwrap();
        let mut trial = UnixStream::connect_addr(&address).unwrap();
        write_line(&mut trial, &Wanted::Clients).unwrap();
        writeln!(trial, "one\n").unwrap();
        trial.shutdown(Shutdown::Write).unwrap();
        let line = |text: &str| Report::Line(0, text.to_owned());
        for expected in [Report::Wanted(0, Wanted::Clients), line("one"), line(""), Report::Gone(0)] {
            assert_eq!(far.hear(Duration::from_secs(5)), Ok(Some(expected)));
        }
        doors.tell(0, &Heard::Line("two".into()));
        doors.tell(0, &Heard::Ended(3));
        let lines: Vec<String> = BufReader::new(trial).lines().map(Result::unwrap).collect();
        assert_eq!(lines, [r#"{"line":"two"}"#, r#"{"ended":3}"#]);
        doors.close();
        let late = UnixStream::connect_addr(&address).unwrap();
        write_line(&mut late.try_clone().unwrap(), &Wanted::Clients).unwrap();
        assert_eq!(BufReader::new(late).lines().count(), 0, "nobody waits for a host that is gone");
    }
}
