//! Builds of a bisection: each is made once, in a directory of its own that is kept with the results.

use super::super::output::{self, note};
use super::super::{Exit, Problem, interrupt};
use super::git;
use super::request::{BisectRequest, BuildBy};
use crate::state::whole_path;
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tare_drive::workload::program::{Ended, Job, ProgramError, to_its_end};
use tare_engine::file_sha1;
use tare_files::{Folder, open_named};
use tare_text::duration;

const BUILDS: &str = "builds";
const FILE: &str = "build.json";
const LOG: &str = "build.log";
/// The source tree in which a commit is built.
const SOURCE: &str = "source";
/// The exit code of a build that cannot be made, as for `git bisect run`.
const SKIP: i32 = 125;
/// Largest size of [`FILE`] that is read, bytes.
const LARGEST: u64 = 1 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Built {
    Binary {
        path: PathBuf,
        /// Digest of the program, by [`file_sha1`]; `None` until it is first measured.
        sha1: Option<String>,
        elapsed_s: f64,
    },
    Skipped {
        reason: String,
        elapsed_s: f64,
    },
}

/// What became of a build that had to be made.
pub enum Made {
    Built(Built),
    /// By a signal.
    Interrupted,
    /// It took longer than its time, and was ended.
    OutOfTime,
}

pub struct Builds<'a> {
    request: &'a BisectRequest,
    folder: Folder,
}

impl<'a> Builds<'a> {
    /// The builds in a bisection's directory.
    pub fn of(request: &'a BisectRequest, folder: &Folder) -> Result<Self, Problem> {
        Ok(Self { request, folder: folder.make_sub(BUILDS)? })
    }

    /// The stored outcome of the build at a place of the line; `None` if it is not made yet.
    pub fn known(&self, place: usize) -> Result<Option<Built>, Problem> {
        let Some(folder) = self.folder.sub(self.name(place))? else { return Ok(self.given(place)) };
        let Some(bytes) = folder.read(FILE, LARGEST)? else { return Ok(self.given(place)) };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| {
            Problem::new(Exit::Usage, format!("{FILE} cannot be read: {e}"))
                .at(folder.path().display().to_string())
                .advice("remove this folder, and resume: the build is made again")
        })
    }

    /// The build at a place of the line, whose content must not have changed; `None` if it is not made yet.
    pub fn verified(&self, place: usize) -> Result<Option<Built>, Problem> {
        match self.known(place)? {
            Some(Built::Binary { path, sha1, elapsed_s }) => {
                let now = content(&path)?;
                if let Some(was) = sha1.as_ref().filter(|was| **was != now) {
                    return Err(Problem::new(Exit::TrialFailed, "a build has changed since it was measured")
                        .at(path.display().to_string())
                        .expected(format!("SHA-1 {was}, found {now}"))
                        .advice("restore the file, or start another bisection in another folder"));
                }
                let built = Built::Binary { path, sha1: Some(now), elapsed_s };
                if sha1.is_none() {
                    self.keep(place, &built)?;
                }
                Ok(Some(built))
            }
            other => Ok(other),
        }
    }

    /// Marks a build as one that cannot be measured.
    pub fn skip(&self, place: usize, reason: String) -> Result<(), Problem> {
        let elapsed_s = match self.known(place)? {
            Some(Built::Binary { elapsed_s, .. } | Built::Skipped { elapsed_s, .. }) => elapsed_s,
            None => 0.0,
        };
        self.keep(place, &Built::Skipped { reason, elapsed_s })
    }

    /// Where the outcome of a build is stored.
    pub fn file(&self, place: usize) -> PathBuf {
        self.folder.path().join(self.name(place)).join(FILE)
    }

    /// A build that existed before the bisection.
    fn given(&self, place: usize) -> Option<Built> {
        let path = || PathBuf::from(&self.request.line[place].id);
        self.request.build.is_none().then(|| Built::Binary { path: path(), sha1: None, elapsed_s: 0.0 })
    }

    fn name(&self, place: usize) -> String {
        match self.request.build {
            Some(_) => self.request.line[place].id.clone(),
            None => format!("{place:04}"),
        }
    }

    fn keep(&self, place: usize, built: &Built) -> Result<(), Problem> {
        Ok(self.folder.make_sub(&self.name(place))?.write(FILE, output::pretty(built)?.as_bytes())?)
    }

    /// Makes the build at a place of the line, in at most this time.
    pub fn make(&self, place: usize, by: &BuildBy, limit_s: f64) -> Result<Made, Problem> {
        let commit = &self.request.line[place];
        let name = self.name(place);
        // Removes the remains of an interrupted build.
        self.folder.remove_all(&name)?;
        let whole = whole_path(self.folder.path()).join(&name);
        let kept = self.folder.make_sub(&name)?.log(LOG)?;
        let (source, log) = (whole.join(SOURCE), whole.join(LOG));
        let subject = commit.subject.clone().unwrap_or_default();
        note(&format!("building {} {subject} (log: {})", &commit.id[..commit.id.len().min(12)], log.display()));
        git::sources(&by.repository, &commit.id, &source)?;
        let job = Job {
            words: ["sh", "-c", by.command.as_str()].map(str::to_owned).to_vec(),
            environment: vec![
                ("TARE_COMMIT".to_owned(), commit.id.clone().into()),
                ("TARE_SOURCE".to_owned(), source.clone().into()),
                ("TARE_REPOSITORY".to_owned(), by.repository.clone().into()),
            ],
            directory: Some(source.clone()),
            log: Some(kept),
            discard: false,
            without: git::OF_REPOSITORY,
        };
        let began = Instant::now();
        let ended = match to_its_end(&job, limit_s, &|| !tare_engine::interrupted()) {
            Ok(ended) => ended,
            Err(ProgramError::Interrupted) => return Ok(Made::Interrupted),
            Err(ProgramError::TimedOut { .. }) => {
                let time = duration(limit_s);
                note(&format!("it did not end within the {time} left, and was ended (log: {})", log.display()));
                return Ok(Made::OutOfTime);
            }
            Err(e) => return Err(Problem::new(Exit::Machine, e.to_string()).at(log.display().to_string())),
        };
        let elapsed_s = began.elapsed().as_secs_f64();
        let built = match ended.status.code() {
            Some(0) => {
                let path = program(&ended, by.binary.as_deref(), &source, &log)?;
                Built::Binary { sha1: Some(content(&path)?), path, elapsed_s }
            }
            Some(SKIP) => Built::Skipped { reason: format!("its build ended with {SKIP}"), elapsed_s },
            _ => {
                return Err(Problem::new(
                    Exit::TrialFailed,
                    format!("the build of {} ended with {}", commit.id, ended.status),
                )
                .at(log.display().to_string())
                .expected("exit 0, or 125 for a commit that cannot be built")
                .advice(match ended.tail.iter().all(|line| line.trim().is_empty()) {
                    true => format!("its log is empty: run the command in {} and look why", source.display()),
                    false => format!("see the end of its log:\n{}", ended.tail.join("\n")),
                }));
            }
        };
        self.keep(place, &built)?;
        Ok(Made::Built(built))
    }
}

fn content(path: &Path) -> Result<String, Problem> {
    // By now the path may name any kind of file.
    let opened = open_named(path).map_err(io::Error::from).and_then(|file| file.ok_or(ErrorKind::NotFound.into()));
    opened.and_then(|mut file| file_sha1(&mut file)).map_err(|e| match e.kind() {
        ErrorKind::Interrupted => interrupt::problem("reading a build"),
        _ => Problem::new(Exit::TrialFailed, format!("a build cannot be read: {e}"))
            .at(path.display().to_string())
            .expected("the built program, which the bisection keeps")
            .advice("restore the file, or start another bisection in another folder"),
    })
}

fn program(ended: &Ended, named: Option<&Path>, source: &Path, log: &Path) -> Result<PathBuf, Problem> {
    let last = || ended.text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(PathBuf::from);
    let chosen = named.map(Path::to_path_buf).or_else(last);
    let place = chosen.as_ref().map(|chosen| source.join(chosen));
    match place {
        Some(place) if place.is_file() => Ok(place),
        place => Err(Problem::new(Exit::TrialFailed, "the build made no program")
            .at(place.unwrap_or_else(|| log.to_path_buf()).display().to_string())
            .expected("a file, named by --binary or by the last line that --build writes to standard output")
            .advice(
                "name the built program with --binary, relative to the source tree, or end --build with: echo PATH",
            )),
    }
}
