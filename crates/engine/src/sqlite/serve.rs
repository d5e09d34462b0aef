//! The server process of the embedded engine. If it cannot serve, it says why in a line of its log, which the process
//! that started it reads.

use super::diagnostics::Waits;
use super::pragmas::{NAME, NotSet, Refused};
use super::{connection, library, pragmas};
use crate::EngineError;
use crate::transport::stream::Stream;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, InterruptHandle, OpenFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fmt, fs, io, thread};
use tare_cpuset::ThreadRefused;
use tare_files::check_room;

/// The hidden subcommand of this executable that is the server.
pub(super) const SUBCOMMAND: &str = "sqlite-server";
pub(super) const DATABASE_FILE: &str = "tare.db";
/// Name of the Unix socket in the run directory.
pub(super) const SOCKET: &str = "sqlite.sock";
/// Name of the file in the run directory that says the TCP port once the server listens.
pub(super) const PORT: &str = "port";
/// Name of the file in the run directory that holds the password of TCP connections.
pub(super) const PASSWORD: &str = "password";

/// What the hidden subcommand `sqlite-server` is called with.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    /// Data directory to serve
    #[arg(long)]
    pub data: PathBuf,
    /// Private directory for the socket
    #[arg(long)]
    pub run_directory: PathBuf,
    /// Listen on a port of this address in place of a socket
    #[arg(long, value_name = "ADDRESS")]
    pub tcp: Option<IpAddr>,
    /// Open no other database for clients, because they are on another machine
    #[arg(long)]
    pub clients_elsewhere: bool,
    /// PRAGMA=VALUE, may be repeated
    #[arg(long = "option", value_name = "PRAGMA=VALUE", value_parser = pair)]
    pub options: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected PRAGMA=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Serves until SIGTERM or SIGINT, then ends every connection, writes the log back into the database and returns.
///
/// # Errors
/// What kept it from starting or from writing the log back; meant for the server's log.
pub fn serve(args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    run(args).inspect_err(|error| note_failure(error.as_ref(), &args.data))
}

fn run(args: &ServeArgs) -> Result<(), Box<dyn Error>> {
    // Before anything else: a signal from now on is kept until it is read below.
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    library::switch_statistics_off()?;
    let mut options: BTreeMap<String, String> = args.options.iter().cloned().collect();
    let waits = Waits::new(&mut options)?;
    let database = Database { path: args.data.join(DATABASE_FILE), options, is_only: args.clients_elsewhere };
    // Kept open all the time, so that the database's log survives periods without a client.
    let keeper = database.open()?;
    library::verify_statistics_are_off()?;
    let password =
        if args.tcp.is_some() { fs::read_to_string(args.run_directory.join(PASSWORD))? } else { String::new() };
    let (stopping, clients) = Default::default();
    let server = Arc::new(Shared { database, password, waits, stopping, clients });
    let listener = Listener::bind(&args.run_directory, args.tcp)?;
    let accepting = Arc::clone(&server);
    thread::Builder::new()
        .name("tare-accept".to_owned())
        .spawn(move || accept(&listener, &accepting))
        .map_err(ThreadRefused::from)?;
    note(format_args!("ready, SQLite {}", rusqlite::version()));
    if let Some(signal) = signals.forever().next() {
        note(format_args!("signal {signal}: shutting down"));
    }
    server.disconnect_all();
    keeper.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    keeper.close().map_err(|(_, error)| error)?;
    note(format_args!("shut down"));
    Ok(())
}

struct Database {
    path: PathBuf,
    options: BTreeMap<String, String>,
    /// Whether a connection can attach no other file, which ATTACH and VACUUM INTO do.
    is_only: bool,
}

impl Database {
    /// A connection with every option set and read back.
    fn open(&self) -> Result<Connection, Box<dyn Error>> {
        // Each connection stays on its own thread, so SQLite's lock around it is not needed.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        pragmas::apply(&connection, &self.options)?;
        library::add_functions(&connection)?;
        if self.is_only {
            connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        }
        Ok(connection)
    }
}

/// How a client in another thread is made to end.
struct Client {
    stream: Stream,
    interrupt: Option<InterruptHandle>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    database: Database,
    password: String,
    waits: Waits,
    stopping: AtomicBool,
    clients: Mutex<HashMap<u64, Client>>,
}

impl Shared {
    fn clients(&self) -> MutexGuard<'_, HashMap<u64, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the stream and the running statement of every client and waits for their threads.
    fn disconnect_all(&self) {
        let clients: Vec<Client> = {
            let mut clients = self.clients();
            self.stopping.store(true, Ordering::SeqCst);
            clients.drain().map(|(_, client)| client).collect()
        };
        clients.iter().for_each(|client| client.stream.shutdown());
        for Client { interrupt, thread, .. } in clients {
            // Repeated, because an interrupt just before a statement that was already received has no effect on it.
            while thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
                if let Some(interrupt) = &interrupt {
                    interrupt.interrupt();
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
    }

    fn serve(&self, number: u64, stream: &mut Stream) -> Result<(), Box<dyn Error>> {
        let connection = self.database.open()?;
        match self.clients().get_mut(&number) {
            Some(client) => client.interrupt = Some(connection.get_interrupt_handle()),
            // All clients were disconnected in the meantime.
            None => return Ok(()),
        }
        Ok(connection::serve(stream, &connection, &self.password, &self.waits)?)
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    fn bind(run_directory: &Path, tcp: Option<IpAddr>) -> io::Result<Self> {
        let Some(address) = tcp else {
            return Ok(Self::Unix(UnixListener::bind(run_directory.join(SOCKET))?));
        };
        let listener = TcpListener::bind((address, 0))?;
        // Written as a whole file, so that no one reads half a number.
        let port = listener.local_addr()?.port().to_string();
        tare_files::write_whole(&run_directory.join(PORT), port.as_bytes())?;
        Ok(Self::Tcp(listener))
    }

    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(listener) => Ok(Stream::unix(listener.accept()?.0)),
            Self::Tcp(listener) => Stream::tcp(listener.accept()?.0),
        }
    }
}

fn accept(listener: &Listener, server: &Arc<Shared>) {
    for number in 0.. {
        let served = listener.accept().and_then(|stream| start_client(server, number, stream));
        if server.stopping.load(Ordering::SeqCst) {
            return;
        }
        if let Err(error) = served {
            // Usually the limit on descriptors or threads: the next client may succeed.
            note(format_args!("connection {number} not served: {error}"));
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn start_client(server: &Arc<Shared>, number: u64, mut stream: Stream) -> io::Result<()> {
    let client = Client { stream: stream.try_clone()?, interrupt: None, thread: None };
    // Locked until the thread is stored, so that a shutdown either sees the whole client or prevents its start.
    let mut clients = server.clients();
    if server.stopping.load(Ordering::SeqCst) {
        return Ok(());
    }
    let shared = Arc::clone(server);
    let serve = move || {
        if let Err(error) = shared.serve(number, &mut stream) {
            note(format_args!("connection {number}: {error}"));
            note_failure(error.as_ref(), shared.database.path.parent().unwrap_or(&shared.database.path));
        }
        stream.shutdown();
        shared.clients().remove(&number);
    };
    let thread = thread::Builder::new().name(format!("tare-conn-{number}")).spawn(serve)?;
    clients.insert(number, Client { thread: Some(thread), ..client });
    Ok(())
}

/// A line for the process that started this one, where it can do something about the error.
fn note_failure(error: &(dyn Error + 'static), data: &Path) {
    if let Some(failure) = Failure::of(error, data) {
        note(format_args!("{}", failure.line()));
    }
}

/// A line of the server's log. A log that cannot be written (a full disk) is no reason to stop serving.
fn note(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

const MARK: &str = "cannot serve: ";
/// Bytes by which SQLite extends the file that it maps next to its log.
const SMALLEST: u64 = 32 * 1024;

/// Failures about which the process that started the server can do something.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    OptionRefused {
        option: String,
        reason: String,
    },
    DiskFull(String),
    NotADatabase(String),
    /// The system's number of the error with which it refused a file, thread or process.
    Limit(i32),
}

impl Failure {
    /// The failure for an error of the server of `data`, if it is one of these.
    pub(super) fn of(error: &(dyn Error + 'static), data: &Path) -> Option<Self> {
        let not_set = error.downcast_ref::<NotSet>();
        let refused = match not_set {
            Some(NotSet::Refused(refused)) => Some(refused),
            _ => error.downcast_ref(),
        };
        if let Some(Refused { option, reason }) = refused {
            return Some(Self::OptionRefused { option: option.clone(), reason: reason.clone() });
        }
        let sqlite = match not_set {
            Some(NotSet::Files(error)) => Some(error),
            _ => error.downcast_ref::<rusqlite::Error>(),
        };
        let io = error.downcast_ref::<io::Error>();
        // Not every error of this number: a client's stream that times out has it too.
        let no_thread = error.downcast_ref::<ThreadRefused>().and_then(Error::source).and_then(|e| e.downcast_ref());
        let no_file = io.filter(|io| matches!(Errno::from_io_error(io), Some(Errno::MFILE | Errno::NFILE)));
        if let Some(number) = no_thread.or(no_file).and_then(io::Error::raw_os_error) {
            return Some(Self::Limit(number));
        }
        match (sqlite.and_then(rusqlite::Error::sqlite_error_code), io.map(io::Error::kind)) {
            // SQLite does not say that the file next to its log, which it maps, cannot become longer.
            (Some(ErrorCode::SystemIoFailure), _) => {
                let full = check_room(data, "a server's smallest file", SMALLEST).err()?;
                Some(Self::DiskFull(format!("{error}; {}", full.detail())))
            }
            (Some(ErrorCode::DiskFull), _) | (_, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) => {
                Some(Self::DiskFull(error.to_string()))
            }
            (Some(ErrorCode::NotADatabase), _) => Some(Self::NotADatabase(error.to_string())),
            _ => None,
        }
    }

    /// The log line that [`Failure::in_log`] reads.
    pub(super) fn line(&self) -> String {
        // Serialising these names and texts to JSON cannot fail.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    pub(super) fn in_log(log: &str) -> Option<Self> {
        log.lines().find_map(|line| serde_json::from_str(line.strip_prefix(MARK)?).ok())
    }

    /// The error for the process that started the server; `data` is the server's data directory.
    pub(super) fn into_error(self, data: &Path) -> EngineError {
        match self {
            Self::OptionRefused { option, reason } => EngineError::OptionRefused { engine: NAME, option, reason },
            Self::DiskFull(detail) => EngineError::DiskFull { place: data.to_owned(), detail },
            Self::NotADatabase(reason) => EngineError::Directory { path: data.to_owned(), reason },
            Self::Limit(number) => EngineError::io("serve", data, io::Error::from_raw_os_error(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_kept_a_server_from_serving_is_read_back_from_its_log() {
        let sqlite = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let refused = Refused { option: "page_size".to_owned(), reason: "no: \"such\"\nvalue".to_owned() };
        let errors: [(Box<dyn Error>, &str); 5] = [
            (refused.into(), "option page_size: no: \"such\"\nvalue"),
            (sqlite(ffi::SQLITE_FULL).into(), "no space left"),
            (io::Error::from_raw_os_error(libc::ENOSPC).into(), "no space left"),
            (sqlite(ffi::SQLITE_NOTADB).into(), "directory /data: "),
            (ThreadRefused::from(io::Error::from_raw_os_error(libc::EAGAIN)).into(), "cannot serve /data: "),
        ];
        for (error, words) in errors {
            let failure = Failure::of(error.as_ref(), Path::new("/data")).unwrap();
            let log = format!("ready\n{}\n{error}\n", failure.line());
            let read = Failure::in_log(&log).unwrap();
            assert_eq!(read, failure);
            let message = read.into_error(Path::new("/data")).to_string();
            assert!(message.contains(words), "{message}");
        }
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_IOERR] {
            assert_eq!(Failure::of(&sqlite(code), Path::new("/")), None);
        }
        assert_eq!(Failure::in_log("cannot serve: what\nno space left on device"), None);
    }
}
