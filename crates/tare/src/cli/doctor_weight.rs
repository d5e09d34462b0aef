//! Whether a reference weight would help a study here: for `tare doctor --study` and `sampling.probe = "auto"`.

use super::execution::{RunOptions, begun_in, execute, host, room_for_data};
use super::interrupt::unless_interrupted;
use super::output::note;
use super::rounds::RoundListener;
use super::study_file::{StudyText, planned};
use super::{Exit, Problem, interrupt, results_problem, trust};
use serde::Serialize;
use tare_findings::probes::{self, Weight, can_move};
use tare_report::words::weight as words;
use tare_results::probe::ProbeUse;
use tare_study::language::limit::Limit;
use tare_study::language::parse::Overrides;
use tare_study::language::settings::Sampling;
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_topology::Machine;

/// Fewest and most samples if their number follows from the time.
const SAMPLES: [usize; 2] = [20, 120];
const TIME_S: f64 = 60.0;
/// Length of a sample of a load without an end of its own, seconds.
const SAMPLE_S: f64 = 0.5;

#[derive(Debug, Serialize)]
pub(crate) struct StudyWeight {
    pub study: String,
    /// What the probes show; null if the samples have no spread or no readings.
    #[serde(flatten)]
    pub found: Option<Weight>,
    pub text: Option<String>,
    /// The line of a study that uses the probe, if one helps.
    pub line: Option<String>,
}

/// Measures the base of a study, without its factors, in one server lifetime; `None` when interrupted.
pub(crate) fn measure(
    name: &str,
    engine: Option<&str>,
    samples: Option<usize>,
    wait: bool,
) -> Result<Option<StudyWeight>, Problem> {
    let file = StudyText::read(name, trust::whose(false), false)?;
    let machine = Machine::this()?;
    interrupt::stop()?;
    let study = file.parse(&Overrides { engine: engine.map(str::to_owned), ..Overrides::default() })?;
    let Some(_host) = unless_interrupted(host(wait))? else { return Ok(None) };
    let Some(found) = of_samples(&study, &machine, samples, &RunOptions::of(true, false))? else { return Ok(None) };
    let text = found.as_ref().map(words::advice);
    let line =
        found.as_ref().and_then(|found| found.probe).map(|probe| format!("sampling.probe = \"{}\"", probe.word()));
    Ok(Some(StudyWeight { study: name.to_owned(), found, text, line }))
}

/// Resolves `sampling.probe = "auto"` on the machine, which is locked, and gives the reason; `None` when interrupted.
pub(crate) fn choose(
    study: &Study,
    machine: &Machine,
    options: &RunOptions,
) -> Result<Option<(ProbeUse, String)>, Problem> {
    let movers: Vec<&str> =
        study.factors.iter().map(|factor| factor.name.as_str()).filter(|name| can_move(name)).collect();
    if let [first, ..] = movers.as_slice()
        && movers.len() == study.factors.len()
    {
        return Ok(Some((
            ProbeUse::Off,
            format!("sampling.probe = \"auto\": {first} can change it, so no probe is used"),
        )));
    }
    note("measuring for about a minute whether a probe helps here");
    let Some(found) = of_samples(study, machine, None, options)? else { return Ok(None) };
    let used = found.as_ref().and_then(|found| found.probe).map_or(ProbeUse::Off, ProbeUse::AdjustBy);
    Ok(Some((used, words::chosen(found.as_ref()))))
}

/// Measures so many samples of a study's base with all probes; `None` when interrupted.
fn of_samples(
    study: &Study,
    machine: &Machine,
    samples: Option<usize>,
    options: &RunOptions,
) -> Result<Option<Option<Weight>>, Problem> {
    let of = |samples: usize| planned(short(study.clone(), samples), machine, Where::Here, true);
    let samples = match samples {
        Some(samples) => samples,
        None => {
            let [few, many] = SAMPLES;
            let each_s = (of(many)?.1.estimated_s - of(few)?.1.estimated_s) / (many - few) as f64;
            ((TIME_S / each_s.max(1e-3)) as usize).clamp(few, many)
        }
    };
    let Some((short, plan)) = unless_interrupted(of(samples))? else { return Ok(None) };
    room_for_data(&plan)?;
    let scratch = scratch()?;
    let directory = begun_in(&scratch.0.join("results"), &short, &plan, machine, false)?;
    let end = execute(&short, &plan, &directory, options, &mut RoundListener::new(|_, _| None))?;
    if end.left > 0 {
        return Ok(None);
    }
    let found = probes::weigh(&results_problem::open_folder(directory.folder())?);
    if found.is_none() && end.given_up > 0 {
        return Err(Problem::new(Exit::TrialFailed, format!("the samples of {} could not be measured", study.name))
            .advice(format!("to see the reason: tare run {} --quick", study.name)));
    }
    Ok(Some(found))
}

/// A directory used by this process only, removed on drop.
struct Scratch(std::path::PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failed removal leaves a directory in the cache and does not affect the result.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scratch() -> Result<Scratch, Problem> {
    let path = crate::state::cache_directory()?.join(format!("doctor-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).map_err(|e| {
        Problem::new(Exit::Machine, format!("cannot create a folder for the samples: {e}"))
            .at(path.display().to_string())
    })?;
    Ok(Scratch(path))
}

/// The base of the study as one trial, with all probes and the given number of short samples.
fn short(mut study: Study, samples: usize) -> Study {
    study.factors.clear();
    study.conditions.clear();
    study.decide = None;
    study.sampling = Sampling {
        trials: 1,
        samples,
        warmup_s: 2.0,
        sample_s: SAMPLE_S,
        drop_samples: 0,
        target_half_width: None,
        within_s: None,
        probe: Some(ProbeUse::Record),
        // Disturbed samples are kept: they are what a probe corrects.
        steal_limit: Limit(None),
        foreign_cpu_limit: Limit(None),
        ..study.sampling
    };
    study
}
