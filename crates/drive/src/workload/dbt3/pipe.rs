//! Rows into a server that reads a named pipe, so that no row is written twice, nor sent through a client protocol.

use super::job::{Fill, Progress, run};
use super::{Dbt3Error, Table, rows};
use rustix::fs::{CWD, FileType, Mode};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;
use tare_cpuset::ThreadRefused;
use tare_engine::Session;

/// Time between two looks whether the server has opened the pipe.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Loads all rows of an empty table in one statement.
pub(super) fn load(
    session: &mut dyn Session,
    fill: &Fill<'_>,
    table: &'static Table,
    progress: Progress<'_>,
) -> Result<(), Dbt3Error> {
    let pipe = Pipe::make(fill.directory.join(format!("{}.pipe", table.name)))?;
    let sql = fill.dialect.load_from(table.name, &pipe.0);
    let ended = AtomicBool::new(false);
    let (found, made) = std::thread::scope(|scope| {
        let feeder = || feed(&pipe.0, fill, table, &ended, progress);
        let feeder = Builder::new().spawn_scoped(scope, feeder).map_err(ThreadRefused::from)?;
        let found = run(session, &sql);
        ended.store(true, Ordering::Release);
        Ok::<_, ThreadRefused>((found, feeder.join()))
    })?;
    let made = made.unwrap_or(Err(Feed::Stopped(Dbt3Error::Interrupted)));
    match (found, made) {
        // That the feeder wants no more ends the statement early, and well: the feeder knows better.
        (_, Err(Feed::Stopped(error))) => Err(error),
        // A server that refuses a row closes the pipe: what it says is the reason.
        (Err(error), _) => Err(error),
        (Ok(_), Err(Feed::Pipe(source))) => Err(Dbt3Error::Io { what: "write", path: pipe.0.clone(), source }),
        (Ok(found), Ok(expected)) if found != expected => Err(Dbt3Error::Rows { table: table.name, expected, found }),
        (Ok(_), Ok(_)) => Ok(()),
    }
}

/// A named pipe that goes when it is no longer needed.
struct Pipe(PathBuf);

impl Pipe {
    fn make(path: PathBuf) -> Result<Self, Dbt3Error> {
        let failed = |what, source| Dbt3Error::Io { what, path: path.clone(), source };
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|e| failed("make the pipe", e.into()))?;
        // The server reads no file that not everybody may read; who may enter is decided by the directory.
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).map_err(|e| failed("open up", e))?;
        Ok(Self(path))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Why not all rows went into the pipe.
enum Feed {
    Stopped(Dbt3Error),
    Pipe(io::Error),
}

/// Writes all rows; how many there were.
fn feed(path: &Path, fill: &Fill<'_>, table: &Table, ended: &AtomicBool, progress: Progress<'_>) -> Result<u64, Feed> {
    let mut pipe = open(path, ended).map_err(Feed::Pipe)?;
    rows::generate(table, fill.scale, fill.parallel, |piece| {
        progress(piece.rows).map_err(Feed::Stopped)?;
        pipe.write_all(piece.text.as_bytes()).map_err(Feed::Pipe)
    })
}

/// Opens the pipe as soon as the server has: opening it for good would wait for ever for a server that refuses.
fn open(path: &Path, ended: &AtomicBool) -> io::Result<File> {
    loop {
        match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) && !ended.load(Ordering::Acquire) => {
                std::thread::sleep(LOOK_EVERY);
            }
            Err(error) => return Err(error),
            Ok(pipe) => {
                rustix::fs::fcntl_setfl(&pipe, rustix::fs::OFlags::empty())?;
                return Ok(pipe);
            }
        }
    }
}
