//! Creation of the tables: definition, rows, indexes, statistics.

use super::rows::{self, Piece};
use super::{Dbt3Error, Indexes, Scale, SessionError, TABLES, Table};
use crate::workload::error::run;
use crate::workload::fill::{in_parallel, rows_of_placeholders};
use rustix::fs::{CWD, FileType, Mode};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::Duration;
use tare_cpuset::ThreadRefused;
use tare_engine::{BulkLoad, Dialect, Param, Session, StatementId};

/// Rows per INSERT if rows are inserted; SQLite accepts 32,766 parameters in one statement.
const ROWS_PER_INSERT: usize = 200;

/// Creates and fills all tables, builds their indexes and their statistics. `connect` is called once in every filling
/// thread; `progress` receives the number of added rows and can stop the work.
///
/// # Errors
/// The first failure. What was created before it stays: the caller is expected to discard the database.
pub fn prepare<E: Into<Box<dyn Error + Send + Sync>>>(
    fill: &Fill<'_>,
    connect: &(dyn Fn() -> Result<Box<dyn Session>, E> + Sync),
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<(), Dbt3Error> {
    let sessions = if fill.dialect.fills_in_parallel() { fill.parallel.clamp(1, TABLES.len()) } else { 1 };
    in_parallel(
        sessions,
        TABLES.len(),
        progress,
        || Dbt3Error::Interrupted,
        |shared| {
            let mut session = connect().map_err(SessionError::connect)?;
            shared.fills(session.as_mut(), None)?;
            for sql in fill.dialect.load_session(fill.directory) {
                run(session.as_mut(), &sql)?;
            }
            while let Some(table) = shared.take() {
                let (table, progress) = (&TABLES[table], &|rows| shared.added(rows));
                Filling { session: session.as_mut(), fill, table, progress }.make()?;
            }
            Ok(())
        },
    )
}

/// A table that a session creates and fills.
struct Filling<'a> {
    session: &'a mut dyn Session,
    fill: &'a Fill<'a>,
    table: &'static Table,
    progress: Progress<'a>,
}

/// Why rows were not sent to the end.
enum Unsent {
    Stopped(Dbt3Error),
    Server(io::Error),
}

impl Filling<'_> {
    fn make(&mut self) -> Result<(), Dbt3Error> {
        let (fill, table) = (self.fill, self.table);
        run(self.session, &table.create(fill.dialect))?;
        match fill.dialect.bulk_load() {
            BulkLoad::Pipe => self.load()?,
            BulkLoad::Stream => self.stream()?,
            BulkLoad::Inserts => self.insert()?,
        }
        // Indexes are sorted and written in one pass after the rows, instead of one tree insertion per row.
        for sql in table.create_indexes(fill.dialect, fill.indexes) {
            run(self.session, &sql)?;
        }
        run(self.session, &fill.dialect.analyze(table.name))?;
        Ok(())
    }

    /// Fails if the server has another number of rows than it was sent.
    fn complete(&self, expected: u64, found: u64) -> Result<(), Dbt3Error> {
        if found == expected { Ok(()) } else { Err(Dbt3Error::Rows { table: self.table.name, expected, found }) }
    }

    /// Sends all rows with one statement, over the connection.
    fn stream(&mut self) -> Result<(), Dbt3Error> {
        let (fill, table, progress) = (self.fill, self.table, self.progress);
        let sql = fill.dialect.load_through_session(table.name);
        let (mut expected, mut stopped) = (0, None);
        let loaded = self.session.load(&sql, &mut |server| match send(fill, table, progress, server) {
            Ok(rows) => {
                expected = rows;
                Ok(())
            }
            Err(Unsent::Server(error)) => Err(error),
            Err(Unsent::Stopped(error)) => {
                stopped = Some(error);
                Err(io::ErrorKind::Interrupted.into())
            }
        });
        match (stopped, loaded) {
            (Some(error), _) => Err(error),
            (None, Err(source)) => Err(SessionError::statement(&sql, source).into()),
            (None, Ok(found)) => self.complete(expected, found),
        }
    }

    fn insert(&mut self) -> Result<(), Dbt3Error> {
        let (fill, table, progress) = (self.fill, self.table, self.progress);
        run(self.session, fill.dialect.begin(true))?;
        let mut full = None;
        rows::generate(table, fill.scale, fill.parallel, |piece: Piece| {
            let lines: Vec<&str> = piece.text.lines().collect();
            for lines in lines.chunks(ROWS_PER_INSERT) {
                let statement = match full {
                    Some(statement) if lines.len() == ROWS_PER_INSERT => statement,
                    _ => self.prepare_insert(lines.len())?,
                };
                if lines.len() == ROWS_PER_INSERT {
                    full = Some(statement);
                }
                // Text for every column: the server converts it to the column's type.
                let values: Vec<Param<'_>> = lines.iter().flat_map(|line| line.split('|').map(Param::Text)).collect();
                let inserted = self.session.execute(statement, &values);
                self.complete(lines.len() as u64, inserted.map_err(|e| SessionError::statement("INSERT", e))?)?;
            }
            progress(piece.rows)
        })?;
        run(self.session, "COMMIT")?;
        Ok(())
    }

    fn prepare_insert(&mut self, rows: usize) -> Result<StatementId, Dbt3Error> {
        let (table, dialect) = (self.table, self.fill.dialect);
        let sql = format!("INSERT INTO {} VALUES {}", table.name, rows_of_placeholders(dialect, table.width, rows));
        Ok(self.session.prepare(&sql).map_err(|source| SessionError::statement(&sql, source))?)
    }

    /// Loads all rows of an empty table in one statement, through which the server reads a pipe.
    fn load(&mut self) -> Result<(), Dbt3Error> {
        let (fill, table, progress) = (self.fill, self.table, self.progress);
        let pipe = Pipe::make(fill.directory.join(format!("{}.pipe", table.name)))?;
        let sql = fill.dialect.load_from(table.name, &pipe.0);
        let ended = AtomicBool::new(false);
        let (found, made) = std::thread::scope(|scope| {
            let feeder = || send(fill, table, progress, &mut open(&pipe.0, &ended).map_err(Unsent::Server)?);
            let feeder = Builder::new().spawn_scoped(scope, feeder).map_err(ThreadRefused::from)?;
            let found = run(self.session, &sql);
            ended.store(true, Ordering::Release);
            Ok::<_, ThreadRefused>((found, feeder.join()))
        })?;
        let made = made.unwrap_or(Err(Unsent::Stopped(Dbt3Error::Interrupted)));
        match (found, made) {
            // If the feeder was stopped, the statement ends early and without an error: the feeder has the reason.
            (_, Err(Unsent::Stopped(error))) => Err(error),
            // A server that refuses a row closes the pipe: its error is the reason.
            (Err(error), _) => Err(error.into()),
            (Ok(_), Err(Unsent::Server(source))) => Err(Dbt3Error::Io { what: "write", path: pipe.0.clone(), source }),
            (Ok(found), Ok(expected)) => self.complete(expected, found),
        }
    }
}

/// Generates and sends all rows; returns their number.
fn send(fill: &Fill<'_>, table: &Table, progress: Progress<'_>, server: &mut dyn Write) -> Result<u64, Unsent> {
    rows::generate(table, fill.scale, fill.parallel, |piece| {
        progress(piece.rows).map_err(Unsent::Stopped)?;
        server.write_all(piece.text.as_bytes()).map_err(Unsent::Server)
    })
}

#[derive(Debug, Clone, Copy)]
pub struct Fill<'a> {
    pub scale: Scale,
    pub indexes: Indexes,
    pub dialect: &'static dyn Dialect,
    /// Sessions that fill tables at the same time, one table each, and threads that generate rows. A database with a
    /// single writer uses one session.
    pub parallel: usize,
    /// A directory with room for sorting indexes, in which the server, which must run as this user on this machine,
    /// can open a named pipe and create temporary files. It must not be inside the server's data directory, and is
    /// used only if [`Dialect::needs_scratch`].
    pub directory: &'a Path,
}

/// Receives the number of added rows, and returns whether to stop.
pub(super) type Progress<'a> = &'a (dyn Fn(u64) -> Result<(), Dbt3Error> + Sync);

/// Interval between checks whether the server has opened the pipe.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A named pipe, removed on drop.
struct Pipe(PathBuf);

impl Pipe {
    fn make(path: PathBuf) -> Result<Self, Dbt3Error> {
        let failed = |what, source| Dbt3Error::Io { what, path: path.clone(), source };
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|e| failed("create the pipe", e.into()))?;
        // The server reads only files that are readable by everyone; the permissions of the directory restrict access.
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).map_err(|e| failed("open up", e))?;
        Ok(Self(path))
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Opens the pipe once the server has opened it. A blocking open would wait forever for a server that refuses.
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
