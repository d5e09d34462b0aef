//! `tare doctor --study`: would a reference weight help here, from a minute of the study's own samples.

use super::rounds::{self, Locked, RoundListener};
use super::run::{Teller, execute, unless_interrupted};
use super::study_file::{StudyText, planned};
use super::{Exit, Problem, interrupt, results_problem, trust};
use serde::Serialize;
use tare_findings::weight::{self, Weight};
use tare_report::words::weight as words;
use tare_results::schema::Plan;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_topology::Machine;

/// Samples that are asked for at least and at most, where the time decides.
const SAMPLES: [usize; 2] = [20, 120];
/// Seconds that all of them should take.
const TIME_S: f64 = 60.0;
/// Length of a sample of a load that goes on as long as it is told to, seconds.
const SAMPLE_S: f64 = 0.5;

/// What a study's own samples say.
#[derive(Debug, Serialize)]
pub struct StudyWeight {
    pub study: String,
    /// What the probes say; null where the samples have no spread or no readings.
    #[serde(flatten)]
    pub found: Option<Weight>,
    /// The advice in one sentence.
    pub text: Option<String>,
    /// The line of a study that uses the probe, where one helps.
    pub line: Option<String>,
}

/// Measures the base of a study, without its factors, in one server lifetime; none when interrupted.
pub fn measure(name: &str, engine: Option<&str>, samples: Option<usize>) -> Result<Option<StudyWeight>, Problem> {
    let file = StudyText::read(name, trust::whose(false), false)?;
    let machine = Machine::this()?;
    interrupt::stop()?;
    let of = |samples: usize| -> Result<(Study, Plan), Problem> {
        let study = short(file.parse(&overrides(engine, samples))?);
        planned(study, &machine, Where::Here, true)
    };
    let samples = match samples {
        Some(samples) => samples,
        None => {
            let [few, many] = SAMPLES;
            let each_s = (of(many)?.1.estimated_s - of(few)?.1.estimated_s) / (many - few) as f64;
            ((TIME_S / each_s.max(1e-3)) as usize).clamp(few, many)
        }
    };
    let Some(planned) = unless_interrupted(of(samples))? else { return Ok(None) };
    let scratch = scratch()?;
    let out = scratch.0.join("results");
    let Some(locked) = rounds::begun(planned, &machine, Some(&out), (true, false))? else { return Ok(None) };
    let Locked { study, plan, directory, .. } = &locked;
    let end = execute(study, plan, directory, &Teller::of(true, false), &mut RoundListener(|_, _| None))?;
    if end.left > 0 {
        return Ok(None);
    }
    let found = weight::of(&results_problem::open_folder(directory.folder())?);
    if found.is_none() && end.given_up > 0 {
        return Err(Problem::new(Exit::TrialFailed, format!("the samples of {name} could not be measured"))
            .advice(format!("read why with: tare run {name} --quick")));
    }
    let text = found.as_ref().map(words::advice);
    let line = found.as_ref().and_then(|found| found.probe).map(|probe| format!("sampling.probe = \"{probe}\""));
    Ok(Some(StudyWeight { study: name.to_owned(), found, text, line }))
}

/// A folder of this process alone, removed when it is dropped.
struct Scratch(std::path::PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in the folder for such things, and says nothing of the machine.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn scratch() -> Result<Scratch, Problem> {
    let path = crate::state::cache_directory()?.join(format!("doctor-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).map_err(|e| {
        Problem::new(Exit::Machine, format!("no folder for the samples: {e}")).at(path.display().to_string())
    })?;
    Ok(Scratch(path))
}

fn overrides(engine: Option<&str>, samples: usize) -> Overrides {
    let sets = [
        "sampling.trials=1".to_owned(),
        format!("sampling.samples={samples}"),
        format!("sampling.sample_s={SAMPLE_S}"),
        "sampling.warmup_s=2".to_owned(),
        "sampling.drop_samples=0".to_owned(),
        "sampling.probe=record".to_owned(),
        // A sample that something disturbs is what a probe is there for.
        "sampling.steal_limit=off".to_owned(),
        "sampling.foreign_cpu_limit=off".to_owned(),
    ];
    Overrides { engine: engine.map(str::to_owned), sets: sets.to_vec(), ..Overrides::default() }
}

/// What every condition of a study starts from, once.
fn short(mut study: Study) -> Study {
    study.factors.clear();
    study.conditions.clear();
    study.decide = None;
    study.sampling.target_half_width = None;
    study.sampling.within_s = None;
    study
}
