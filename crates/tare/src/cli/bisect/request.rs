//! The request of a bisection, as stored in its directory: when resumed, it goes on under its original rule.

use super::super::ab_sides::{self, Side};
use super::super::output::{self, quoted_path};
use super::super::study_file::check_metrics;
use super::super::{Exit, Problem, ab_together};
use crate::state::whole_path;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tare_files::Folder;
use tare_findings::bisect::Commit;
use tare_study::language::document::Source;
use tare_study::language::made::without_effect;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use tare_study::language::write::to_toml;
use tare_text::count;

const FILE: &str = "bisect.json";
/// Largest size of the file that is read, bytes.
const LARGEST: u64 = 64 << 20;
/// The schema version that this program writes and the only one that it reads.
pub const SCHEMA: u32 = 1;
/// The most commits or builds of one bisection: every step examines each of them again.
pub const MOST: usize = 10_000;
/// What to do if a bisection cannot be resumed.
pub const ANEW: &str = "start another bisection in another folder";
/// What to do if there is none to resume.
pub const BEGIN: &str =
    "name the folder that --out named, or tare-results/bisect-DATE; how to begin one: tare bisect --help";
/// Placeholder for the built program in a command.
pub const PLACE: &str = "{binary}";

/// The command line of a bisection, its commits and builds resolved.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BisectRequest {
    pub(super) schema: u32,
    /// The builds to bisect, the good one first.
    pub line: Vec<Commit>,
    /// How commits are built; `None`: the builds exist already.
    pub build: Option<BuildBy>,
    /// The study that builds are measured on; `None`: a built-in one.
    pub study: Option<String>,
    /// This study as it was when the bisection began, every default written out; `None` in requests of version 0.2.0.
    #[serde(default)]
    pub resolved: Option<String>,
    pub engine: Option<String>,
    pub sets: Vec<String>,
    /// The program that is measured instead of a server; it contains [`PLACE`].
    pub command: Option<String>,
    /// The metric that is compared; `None`: the first headline metric of the first pair.
    pub metric: Option<String>,
    /// The smallest change of interest, as a fraction.
    pub minimum_effect: f64,
    /// The probability of a commit at which the bisection ends.
    pub confidence: f64,
    pub budget_s: Option<f64>,
    /// Seed of the order within pairs.
    pub seed: u64,
    /// Whether the samples of a pair take turns while both servers run; `None`: if they can and the load only reads.
    pub interleave: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BuildBy {
    pub repository: PathBuf,
    /// The shell command that builds a commit, run in its source tree.
    pub command: String,
    /// Path of the built program below the source tree; `None`: the last line of the command's output.
    pub binary: Option<PathBuf>,
}

impl BisectRequest {
    /// Writes the request into the bisection's directory, atomically.
    pub fn write(&self, folder: &Folder) -> Result<(), Problem> {
        Ok(folder.write(FILE, output::pretty(self)?.as_bytes())?)
    }

    pub fn read(folder: &Folder) -> Result<Self, Problem> {
        let wrong = |what: String| no_bisection(&what, folder.path(), ANEW);
        let missing = || no_bisection(&format!("there is no {FILE}"), folder.path(), &instead_of(folder.path()));
        let bytes = folder.read(FILE, LARGEST)?.ok_or_else(missing)?;
        let request: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(format!("{FILE} cannot be read: {e}")))?;
        if request.schema != SCHEMA {
            let what = format!("{FILE} has another version, schema {}", request.schema);
            return Err(no_bisection(&what, folder.path(), "resume it with the version of tare that began it"));
        }
        if !(2..=MOST).contains(&request.line.len()) {
            let builds = count(request.line.len(), "build");
            return Err(wrong(format!("{FILE} has {builds}; a bisection has 2 to {MOST}")));
        }
        // Hashes name directories, are passed to git, and are in lines to paste.
        let is_hash = |commit: &Commit| {
            let mut all = commit.merged.iter().chain([&commit.id]);
            all.all(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        match request.build.is_none() || request.line.iter().all(is_hash) {
            true => Ok(request),
            false => Err(wrong(format!("a commit in {FILE} is not a hash"))),
        }
    }

    /// Index of the bad end.
    pub fn last(&self) -> usize {
        self.line.len() - 1
    }

    /// The study that compares two built programs.
    ///
    /// # Errors
    /// As [`ab_sides::study`], and when samples are to take turns but cannot.
    pub fn study_of(&self, a: &Path, b: &Path, trusted: bool) -> Result<Study, Problem> {
        let (a, b) = (self.side(a)?, self.side(b)?);
        // The changes of the command line are in this text. Repeated, they are known as the user's, which a condition
        // must not undo and a machine not leave out.
        let base = match &self.resolved {
            Some(text) => parse(Source { origin: FILE, text }, &self.overrides())?,
            None => ab_sides::measured_on(self.study.as_deref(), &[&a, &b], &self.overrides(), trusted)?,
        };
        let study = ab_sides::study(base, &[a], &[b])?;
        if self.interleave == Some(true) { ab_together::by_turns(study) } else { Ok(study) }
    }

    /// Reads the study, the only time: all pairs are of it, also if its file changes meanwhile. Refuses, before the
    /// first build, everything that can be refused without a build.
    ///
    /// # Errors
    /// As [`BisectRequest::study_of`], and when an option of the command line has no effect.
    pub fn resolve(&mut self, trusted: bool) -> Result<(), Problem> {
        let [good, bad] = [0, self.last()].map(|place| PathBuf::from(&self.line[place].id));
        let side = self.side(&good)?;
        let study = ab_sides::measured_on(self.study.as_deref(), &[&side], &self.overrides(), trusted)?;
        self.resolved = Some(to_toml(&study));
        let study = self.study_of(&good, &bad, trusted)?;
        without_effect(&study)?;
        check_metrics(&study, &self.metric)
    }

    /// What the command line changes in the study.
    pub fn overrides(&self) -> Overrides {
        Overrides { engine: self.engine.clone(), sets: self.sets.clone(), ..Overrides::default() }
    }

    fn side(&self, binary: &Path) -> Result<Side, Problem> {
        let path = binary.to_str().ok_or_else(|| {
            Problem::new(Exit::Usage, "the path of a build is not valid UTF-8")
                .at(binary.display().to_string())
                .advice("rename it, or name a link to it")
        })?;
        let written = match &self.command {
            Some(command) => format!("command={}", command.replace(PLACE, &tare_text::quoted(path))),
            None => format!("binary={path}"),
        };
        ab_sides::side(&written).map_err(|expected| Problem::new(Exit::Usage, "no side").expected(expected))
    }
}

/// The error for a folder that is none of a bisection.
pub fn no_bisection(what: &str, path: &Path, advice: &str) -> Problem {
    Problem::new(Exit::Usage, what)
        .at(path.display().to_string())
        .expected("a folder that tare bisect has made")
        .advice(advice)
}

fn instead_of(path: &Path) -> String {
    let whole = whole_path(path);
    match whole.ancestors().skip(1).take(2).find(|above| above.join(FILE).exists()) {
        Some(above) => format!("it is part of a bisection; resume that: tare bisect --resume {}", quoted_path(above)),
        None if path.join("plan.json").exists() => {
            "these are results of tare run, ab or find: resume with that command, by its --resume".to_owned()
        }
        None => BEGIN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_files::Trust;

    #[test]
    fn a_commit_that_is_not_a_hash_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap();
        let read = |id: &str, merged: &str| {
            let commit =
                |id: &str| serde_json::json!({"id": id, "subject": null, "author_date": null, "merged": [merged]});
            let request = serde_json::json!({
                "schema": SCHEMA, "line": [commit("00ff"), commit(id)], "study": null, "engine": null, "sets": [],
                "build": {"repository": "/repository", "command": "true", "binary": null}, "command": null,
                "metric": null, "minimum_effect": 0.02, "confidence": 0.95, "budget_s": null, "seed": 1
            });
            folder.write(FILE, request.to_string().as_bytes()).unwrap();
            BisectRequest::read(&folder)
        };
        assert_eq!(read("12ab", "00ff").unwrap().line.len(), 2);
        for elsewhere in ["../../victim", "/victim", "--upload-pack=x", "$(reboot)", ""] {
            assert!(read(elsewhere, "00ff").is_err() && read("12ab", elsewhere).is_err(), "{elsewhere}");
        }
    }

    #[test]
    fn all_pairs_are_of_the_study_as_it_was_when_the_bisection_began() {
        let directory = tempfile::tempdir().unwrap();
        let (folder, study) = (Folder::open(directory.path(), Trust::Anyone).unwrap().unwrap(), "s.toml");
        let path = directory.path().join(study).display().to_string();
        let write = |samples: usize| {
            let text = format!("name = \"s\"\n[engine]\nname = \"mariadb\"\n[sampling]\nsamples = {samples}\n");
            std::fs::write(&path, text).unwrap();
        };
        write(7);
        let commit = |id: &str| Commit { id: id.to_owned(), subject: None, author_date: None, merged: Vec::new() };
        let mut begun = BisectRequest {
            schema: SCHEMA,
            line: vec![commit("/a"), commit("/b")],
            build: None,
            study: Some(path.clone()),
            resolved: None,
            engine: None,
            sets: vec!["sampling.sample_s=3".to_owned()],
            command: None,
            metric: None,
            minimum_effect: 0.02,
            confidence: 0.95,
            budget_s: None,
            seed: 1,
            interleave: None,
        };
        begun.resolve(true).unwrap();
        begun.write(&folder).unwrap();
        write(9);
        let samples = |request: &BisectRequest| {
            let study = request.study_of(Path::new("/a"), Path::new("/b"), true).unwrap();
            (study.sampling.samples, study.sampling.sample_s, study.conditions.len(), study.requested.len())
        };
        let resumed = BisectRequest::read(&folder).unwrap();
        assert_eq!(samples(&resumed), (7, 3.0, 2, 1));
        assert_eq!(samples(&BisectRequest { resolved: None, ..resumed }), (9, 3.0, 2, 1), "as version 0.2.0");
    }
}
