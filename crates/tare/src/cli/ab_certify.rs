//! `tare ab --certify`: compares one side with itself and with its twins: variants that differ only in properties that
//! should not affect performance.

use super::ab_sides::{self, MINIMUM_EFFECT, Side, pair_line, settle_of};
use super::beforehand::Outlook;
use super::execution::{RunOptions, begun_in, default_out, execute, host, room_for_data};
use super::interrupt::{self, unless_interrupted};
use super::output::{self, duration, note};
use super::run_listener::RoundListener;
use super::{Exit, Problem, ab_result, plan_view, study_file, trust};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{fs, io};
use tare_drive::workload::AnyLoad;
use tare_drive::workload::program::CommandLine;
use tare_files::{Folder, Trust};
use tare_findings::certificate::{Certificate, Found, Twin};
use tare_report::words::certificate as words;
use tare_results::pairs::Rule;
use tare_results::store::{read_plan, read_trials};
use tare_study::language::decide::Decide;
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_text::object;
use tare_topology::{Fingerprint, Machine};

/// Default time for all trials, seconds.
const BUDGET_S: f64 = 1800.0;

const CERTIFY: &str = "ab-certify";

enum Measured {
    Done(Box<Found>),
    /// An error ended it.
    Broken(Box<Found>, Box<Problem>),
    Interrupted(Option<Box<Found>>),
    Without(String),
}

/// Compares a side with itself and its twins in a study, keeps the certificate and prints it.
pub(crate) fn run(
    base: &Study,
    decide: &Decide,
    (side, relinked): (Option<&Side>, Option<&Side>),
    out: Option<&Path>,
    options: RunOptions,
) -> Result<Exit, Problem> {
    let own: Vec<Side> = side.cloned().into_iter().collect();
    let (machine, json) = (Machine::this()?, options.json);
    let seconds = decide.budget_s.unwrap_or(BUDGET_S);
    let line = format!("{CERTIFY}: comparisons of A with itself and with its copies; at most {}", duration(seconds));
    let outlook = Outlook { line, seconds };
    outlook.announce(options.json);
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(Exit::Interrupted);
    }
    let Some(_host) = unless_interrupted(host(options.wait))? else { return Ok(Exit::Interrupted) };
    let out = out.map_or_else(|| default_out(CERTIFY, &tare_results::now()), Path::to_owned);
    let twins = made_twins(base, &own, relinked, &out, trust::whose(options.trusted))?;
    let measurable = twins.iter().filter(|(_, twin)| twin.is_ok()).count();
    let decide = Decide { budget_s: Some(seconds / measurable.max(1) as f64), ..decide.clone() };
    let run = Run { decide, machine: &machine, options };
    let measured = run.against_all(&twins, (base, &own), &out);
    remove_twins(&out);
    let (found, ended) = measured?;
    let Some(metric) = found.iter().find_map(|found| found.metric.clone()) else {
        return match ended {
            Exit::Interrupted => Ok(ended),
            _ => Err(Problem::new(Exit::TrialFailed, "no pair counts: trials failed")
                .at(found.iter().filter_map(|own| own.against.reason.clone()).collect::<Vec<_>>().join("; "))
                .advice(format!("read the reasons in the folders below {}", out.display()))),
        };
    };
    let (engine, load) = ab_result::engine_and_load(base);
    let certificate = Certificate {
        made_at: tare_results::now(),
        machine: Fingerprint::of(&machine),
        engine,
        load,
        metric,
        by_turns: found.iter().any(|own| own.by_turns),
        side: match own.as_slice() {
            [] => ab_result::own_command(base).unwrap_or_default(),
            own => own.iter().map(Side::to_string).collect(),
        },
        minimum_effect: run.decide.minimum_effect.unwrap_or(MINIMUM_EFFECT),
        decides: Certificate::decides(&found),
        against: found.into_iter().map(|found| found.against).collect(),
    };
    let kept = ab_result::keep_certificate(certificate.clone())?;
    print(&certificate, json)?;
    note(&format!("results: {}\nkept with this machine: {}", out.display(), kept.path.display()));
    if let Some(aside) = &kept.aside {
        note(aside);
    }
    Ok(ended)
}

struct Run<'a> {
    /// How each comparison is decided.
    decide: Decide,
    machine: &'a Machine,
    options: RunOptions,
}

impl Run<'_> {
    /// The findings of the side and each of its twins, and how the measurement ended: done, interrupted by a signal, or
    /// with the first error after which pairs are left that count.
    fn against_all(
        &self,
        twins: &[MadeTwin],
        (base, own): (&Study, &[Side]),
        out: &Path,
    ) -> Result<(Vec<Found>, Exit), Problem> {
        let (mut found, mut ended) = (Vec::new(), Exit::Done);
        for (twin, other) in twins {
            let measured = match other {
                Err(reason) => Measured::Without(reason.clone()),
                Ok(_) if ended == Exit::Interrupted => {
                    Measured::Without("interrupted before this comparison".to_owned())
                }
                Ok(other) => self.against(*twin, ab_sides::study(base.clone(), own, other)?, out)?,
            };
            let (kept, why) = match measured {
                Measured::Done(kept) => (Some(kept), String::new()),
                Measured::Interrupted(kept) => {
                    ended = Exit::Interrupted;
                    (kept, "interrupted".to_owned())
                }
                Measured::Broken(kept, problem) => {
                    note(&problem.to_string());
                    ended = if ended == Exit::Done { problem.exit } else { ended };
                    (Some(kept), String::new())
                }
                Measured::Without(why) => (None, why),
            };
            found.push(kept.map_or_else(|| Found::left_out(*twin, why), |kept| *kept));
        }
        Ok((found, ended))
    }

    /// Runs pairs of a study whose two sides are equal until their time is over.
    fn against(&self, twin: Twin, study: Study, out: &Path) -> Result<Measured, Problem> {
        let (name, what) = match twin {
            Twin::Same => ("same", "comparing A with itself"),
            Twin::Copy => ("copy", "comparing A with a copy of its program at another path"),
            Twin::Layout => ("layout", "comparing A with itself in a larger environment, which moves the stack"),
            Twin::Relinked => ("relinked", "comparing A with another link of the same sources"),
        };
        note(what);
        let planned = unless_interrupted(study_file::planned(study, self.machine, Where::Here, true))?;
        let Some((study, plan)) = planned else { return Ok(Measured::Interrupted(None)) };
        let (study, mut plan) = match settle_of(self.decide.clone(), (study, plan), (self.machine, Where::Here)) {
            Err(problem) if twin != Twin::Same => return Ok(Measured::Without(reason(&problem))),
            planned => planned?,
        };
        if twin == Twin::Same && !self.options.json {
            plan_view::print_notes(&plan);
        }
        if let Some(rule) = &mut plan.settle {
            rule.certify = true;
        }
        room_for_data(&plan)?;
        let directory = begun_in(&out.join(name), &study, &plan, self.machine, self.options.trusted)?;
        let end = execute(&study, &plan, &directory, &self.options, &mut RoundListener::new(pair_line));
        let (plan, records) = (read_plan(directory.folder())?, read_trials(directory.folder())?);
        let found = Found::of(twin, &plan, &records).map(Box::new);
        match (end, found) {
            (Ok(end), found) if end.left > 0 => Ok(Measured::Interrupted(found)),
            (Ok(_), Some(found)) => Ok(Measured::Done(found)),
            (Err(problem), Some(found)) => Ok(Measured::Broken(found, Box::new(problem))),
            (Err(problem), None) if twin == Twin::Same => Err(problem),
            (Err(problem), None) => Ok(Measured::Without(reason(&problem))),
            (Ok(_), None) => Ok(Measured::Without("no pair counts".to_owned())),
        }
    }
}

/// An error as a reason on one line.
fn reason(problem: &Problem) -> String {
    std::iter::once(&problem.what)
        .chain(&problem.place)
        .chain(&problem.expected)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ")
}

fn print(certificate: &Certificate, json: bool) -> Result<(), Problem> {
    let text = words::sentence(certificate);
    if !json {
        return output::lines(&format!("{text}\n\n{}", ab_result::row_lines(&words::rows(certificate))));
    }
    let alarms = certificate.alarms(Rule::Looks);
    let document = object! {
        text,
        false_alarms: alarms.false_alarms,
        comparisons: alarms.comparisons,
        at_most: alarms.at_most(),
        by_itself: certificate.by_itself(),
        slot: certificate.against.iter().find(|own| own.twin == Twin::Same).and_then(|own| own.slot),
        #[serde(flatten)]
        certificate,
    };
    output::document("tare-certificate", &document)
}

/// The directory of copies, below the results; its path is longer than that of most programs.
const FOLDER: &str = "a-copy-of-the-same-program-at-a-path-of-another-length";
/// Size of the additional environment, bytes: it moves the stack by several pages and part of a page.
const ENVIRONMENT_BYTES: usize = 20_011;

/// A twin with its side, or the reason why it cannot be made.
type MadeTwin = (Twin, Result<Vec<Side>, String>);

/// The twins of a side for a study, with another link of its sources if one was named. Copies are made below `out`.
///
/// # Errors
/// When the results directory cannot be made or is not trusted: the copies run from there.
fn made_twins(
    study: &Study,
    own: &[Side],
    relinked: Option<&Side>,
    out: &Path,
    trust: Trust,
) -> Result<Vec<MadeTwin>, Problem> {
    Folder::open_or_create(out, trust)?;
    let command = own.iter().find(|side| side.factor_name() == "command");
    let (copy, layout) = match command {
        Some(command) => (copied_command(command.level(), out), Err("a command has its own environment".to_owned())),
        None if matches!(study.base.workload.load, AnyLoad::Counters(_)) => {
            (Err("this load has no server".to_owned()), Err("this load has no server".to_owned()))
        }
        None => (copied_server(study, own, out), Ok(Side::of("environment_bytes", ENVIRONMENT_BYTES))),
    };
    let with = |side: Side| {
        let others = own.iter().filter(|other| other.factor_name() != side.factor_name());
        others.cloned().chain([side.clone()]).collect()
    };
    let mut twins =
        vec![(Twin::Same, Ok(own.to_vec())), (Twin::Copy, copy.map(with)), (Twin::Layout, layout.map(with))];
    twins.extend(relinked.map(|relinked| (Twin::Relinked, Ok(with(relinked.clone())))));
    Ok(twins)
}

/// Removes the copies, which are identical to their originals, and the results directory if it is then empty.
fn remove_twins(out: &Path) {
    drop(fs::remove_dir_all(out.join(FOLDER)));
    drop(fs::remove_dir(out));
}

fn copied_command(command: &str, out: &Path) -> Result<Side, String> {
    let command = CommandLine::new(command)?;
    let (program, rest) = command.program_and_rest().ok_or("it names no program")?;
    let found = found(&program).ok_or_else(|| format!("{program} is not a file that can be copied"))?;
    let name = found.file_name().ok_or("the program has no name")?;
    let copy = place(out)?.join(name);
    copied(found.clone(), copy.clone()).map_err(|error| format!("cannot copy {}: {error}", found.display()))?;
    let path = copy.to_str().ok_or_else(|| format!("the path of the copy is not UTF-8: {}", copy.display()))?;
    Ok(Side::of("command", format!("{}{rest}", tare_text::quoted(path))))
}

/// Resolves a program by its path or, like a shell, in `PATH`.
fn found(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    let paths = std::env::var_os("PATH")?;
    std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn copied_server(study: &Study, own: &[Side], out: &Path) -> Result<Side, String> {
    if own.iter().any(|side| matches!(side.factor_name(), "build" | "engine")) {
        return Err("name the program with binary=PATH, so that it can be copied".to_owned());
    }
    let named = own.iter().find(|side| side.factor_name() == "binary").map(|side| PathBuf::from(side.level()));
    let named = named.or_else(|| study.base.engine.binary.clone());
    let program = study.base.engine.kind.binary(named.as_deref()).map_err(|error| error.to_string())?.path;
    let copy =
        with_its_tree(&program, &place(out)?).map_err(|error| format!("cannot copy {}: {error}", program.display()))?;
    Ok(Side::of("binary", copy.display()))
}

fn place(out: &Path) -> Result<PathBuf, String> {
    let place = std::path::absolute(out.join(FOLDER)).map_err(|error| error.to_string())?;
    // An existing directory was made by another process, so that `create_dir` must fail.
    fs::create_dir(&place).map_err(|error| format!("cannot make {}: {error}", place.display()))?;
    Ok(place)
}

/// Copies a program and links everything around it, because a server finds messages and scripts relative to its path.
fn with_its_tree(program: &Path, place: &Path) -> io::Result<PathBuf> {
    let program = fs::canonicalize(program)?;
    let missing = || io::Error::new(io::ErrorKind::InvalidInput, "it is not in a folder");
    let bin = program.parent().ok_or_else(missing)?;
    let tree = bin.parent().ok_or_else(missing)?;
    let name = |path: &Path| path.file_name().map(ToOwned::to_owned).ok_or_else(missing);
    let folder = place.join(name(bin)?);
    fs::create_dir(&folder)?;
    link_all(tree, place, bin)?;
    link_all(bin, &folder, &program)?;
    let copy = folder.join(name(&program)?);
    copied(program, copy.clone())?;
    Ok(copy)
}

/// Copies in a thread of its own, so that a signal need not wait for the rest of a large or endless file.
fn copied(from: PathBuf, to: PathBuf) -> io::Result<()> {
    interrupt::awaited(move || fs::copy(from, to).map(drop))
}

fn link_all(from: &Path, to: &Path, but: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path != but, path.file_name()) {
            symlink(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_command_with_spaces_in_its_paths_runs_the_copy_with_the_same_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("my prog");
        fs::write(&program, "program").unwrap();
        for (number, (written, rest)) in [
            (format!("'{}' -x 'two words'", program.display()), " -x 'two words'"),
            (program.display().to_string().replace(' ', "\\ "), ""),
            (format!("\"{}\" | tail -1", program.display()), " | tail -1"),
        ]
        .into_iter()
        .enumerate()
        {
            let out = folder.path().join(format!("results {number}"));
            fs::create_dir(&out).unwrap();
            let copy = out.join(FOLDER).join("my prog");
            let side = copied_command(&written, &out).unwrap();
            assert_eq!(side.level(), format!("'{}'{rest}", copy.display()), "{written}");
            assert_eq!(fs::read_to_string(copy).unwrap(), "program");
        }
        assert!(copied_command("'open quote", folder.path()).is_err());
    }

    #[test]
    fn a_copied_program_has_links_to_its_original_surroundings() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("server");
        for name in ["bin", "share"] {
            fs::create_dir_all(tree.join(name)).unwrap();
        }
        fs::write(tree.join("bin/serverd"), "program").unwrap();
        fs::write(tree.join("bin/helper"), "helper").unwrap();
        let place = folder.path().join("copy");
        fs::create_dir(&place).unwrap();
        let copy = with_its_tree(&tree.join("bin/serverd"), &place).unwrap();
        assert_eq!(copy, place.join("bin/serverd"));
        assert!(fs::symlink_metadata(&copy).unwrap().is_file(), "the program is bytes of its own");
        assert_eq!(fs::read_to_string(place.join("bin/helper")).unwrap(), "helper");
        assert!(fs::symlink_metadata(place.join("share")).unwrap().is_symlink());
    }
}
