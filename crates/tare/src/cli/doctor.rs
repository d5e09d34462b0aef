//! `tare doctor`: measures the noise sources of this machine and reports what removes them, and whether a reference
//! weight would help a study here: with `--study`, and for `sampling.probe = "auto"`.

use super::execution::{RunOptions, begun_in, execute, host, room_for_data};
use super::interrupt::{self, unless_interrupted};
use super::output::{self, note};
use super::run_listener::RoundListener;
use super::study_file::{StudyText, planned};
use super::tools::{Found, TOOLS, Tool};
use super::{Exit, Problem, results_problem, trust};
use crate::config::{self, Config};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use tare_findings::confidence::CONFIDENCE;
use tare_findings::probes::{self, Weight, can_move};
use tare_noise::System;
use tare_noise::doctor::{Diagnosis, Drift, Finding, Jitter, Options, Severity, examine};
use tare_report::terminal::{Style, wrap};
use tare_report::words::steadiness as words;
use tare_results::probe::ProbeUse;
use tare_stats::plan::trials_to_show;
use tare_study::language::parse::Overrides;
use tare_study::language::settings::{Limit, Sampling};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_text::{count, object, percent};
use tare_topology::Machine;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Seconds to measure on each CPU how much time a spinning thread loses
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    spin: f64,
    /// Seconds to measure how a fixed amount of work drifts, and how well the probes of `sampling.probe` explain it; 0:
    /// skip [default: five times --spin]
    #[arg(long, value_name = "SECONDS")]
    drift: Option<f64>,
    /// Measure for about a minute whether a probe (`sampling.probe`) would help this study here: a file, or the name of
    /// a built-in study
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// With --study: measure on this engine [default: the study's]
    #[arg(long, requires = "study")]
    engine: Option<String>,
    /// With --study: samples to measure [default: as many as fit into a minute, 20 to 120]
    #[arg(long, value_name = "N", requires = "study", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    samples: Option<u32>,
    /// With --study: wait while another run uses this machine, instead of ending
    #[arg(long, requires = "study")]
    wait: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Measures the noise of this machine and prints what to do about it.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, Problem> {
    if !(0.01..=600.0).contains(&args.spin) {
        return Err(Problem::new(Exit::Usage, format!("--spin {}", args.spin)).expected("0.01 to 600 seconds"));
    }
    interrupt::stop()?;
    let programs: Vec<Found> = TOOLS.iter().map(Tool::find).collect();
    // Keeps the default ratio of 5 s of drift to 1 s of spinning.
    let drift = args.drift.unwrap_or(5.0 * args.spin);
    if !(0.0..=3600.0).contains(&drift) {
        return Err(Problem::new(Exit::Usage, format!("--drift {drift}")).expected("0 to 3600 seconds"));
    }
    let (spin, drift) = (Duration::from_secs_f64(args.spin), Duration::from_secs_f64(drift));
    let samples = args.samples.map(|samples| samples as usize);
    let weight = match &args.study {
        None => None,
        Some(study) => match measure_weight(study, args.engine.as_deref(), samples, args.wait)? {
            Some(found) => Some(found),
            None => return Ok(Exit::Interrupted),
        },
    };
    let options = Options { cpus: None, window: spin, spin, drift };
    let examined = interrupt::awaited(move || Ok(examine(&System::of_environment(), &options)));
    let examined = examined.map_err(|e| Problem::new(Exit::Machine, format!("this machine cannot be examined: {e}")));
    let Some(diagnosis) = unless_interrupted(examined)? else { return Ok(Exit::Interrupted) };
    if args.json {
        let document = object! {
            #[serde(flatten)]
            diagnosis: &diagnosis,
            resolves: diagnosis.drift.as_ref().and_then(Resolves::of),
            programs: &programs,
            configuration: Configuration::read(),
            #[serde(flatten)]
            weight: weight.map(|reference_weight| object! { reference_weight }),
        };
        output::document("tare-doctor", &document)?
    } else {
        let style = Style::of_stdout(config::get().colour);
        let weighed = weight.as_ref().map_or_else(String::new, |found| weighed(found, style));
        let rest = rendered(&diagnosis, style);
        output::lines(&format!("{}{}\n{rest}{weighed}", missing(&programs), Configuration::read().line()))?
    }
    Ok(Exit::Done)
}

/// Whether a reference weight helps the named study.
fn weighed(found: &StudyWeight, style: Style) -> String {
    let StudyWeight { study, found, text, .. } = found;
    let (Some(found), Some(text)) = (found, text) else {
        return wrap(style, "\n", "", &format!("Whether a probe helps {study} {}.", words::NO_WEIGHT));
    };
    let measured = wrap(style, "", "", &format!("{study}: {}.", words::measured_probes(found)));
    format!("\n{measured}{}", wrap(style, "", "", text))
}

/// The trials needed here to see a difference, from the variation of a job of known work.
#[derive(Serialize)]
struct Resolves {
    difference: f64,
    /// Coefficient of variation of the job, as a fraction.
    cov: f64,
    /// Trials of each side that show the difference in four runs of five, at 95%.
    trials: u64,
    /// Seconds for both sides with trials of a second.
    seconds: f64,
}

const UNKNOWN: &str = "The number of trials that a difference needs here could not be measured: the time was too \
    short, or the machine too busy. Longer: tare doctor --drift 30";

impl Resolves {
    const DIFFERENCE: f64 = 0.05;
    /// A second of warm-up and sample, and a start of the embedded server.
    const TRIAL_S: f64 = 1.6;
    /// Fewer trials have no useful interval.
    const FEWEST: u64 = 3;

    fn of(drift: &Drift) -> Option<Self> {
        let cov = Some(drift.cov).filter(|cov| cov.is_finite())?;
        let trials = trials_to_show(Self::DIFFERENCE, cov, CONFIDENCE)?.max(Self::FEWEST);
        Some(Self { difference: Self::DIFFERENCE, cov, trials, seconds: 2.0 * trials as f64 * Self::TRIAL_S })
    }

    fn words(&self) -> String {
        format!(
            "Here a difference of {} needs about {} of each side, {} in all with trials of a second: a fixed amount of \
             work varied by {}. A server varies by more; tare ab shows while it runs how many are left.",
            percent(self.difference),
            count(usize::try_from(self.trials).unwrap_or(usize::MAX), "trial"),
            output::duration(self.seconds),
            percent(self.cov)
        )
    }
}

/// The user's defaults, and the error in them.
#[derive(Serialize)]
struct Configuration {
    file: Option<PathBuf>,
    cache: Option<PathBuf>,
    colour: Option<bool>,
    engines: BTreeMap<String, PathBuf>,
    error: Option<String>,
}

impl Configuration {
    fn read() -> Self {
        let error = config::load().err().map(|e| Problem::from(e).to_string());
        let Config { file, engines, cache, colour } = config::get().clone();
        Self { file, cache, colour, engines, error }
    }

    fn line(&self) -> String {
        let file = match (&self.error, &self.file, config::folder()) {
            (Some(error), _, _) => return format!("configuration: not used\n{error}\n"),
            (None, Some(file), _) => file,
            (None, None, Some(folder)) => {
                return format!(
                    "configuration: none; it would be read from {}\n",
                    folder.join("config.toml").display()
                );
            }
            (None, None, None) => {
                return "configuration: none, and no environment variable names its place\n".to_owned();
            }
        };
        let mut says: Vec<String> = self.cache.iter().map(|cache| format!("cache {}", cache.display())).collect();
        says.extend(self.colour.map(|always| format!("colour {}", if always { "always" } else { "never" })));
        says.extend(self.engines.iter().map(|(engine, program)| format!("{engine} {}", program.display())));
        format!(
            "configuration: {}: {}\n",
            file.display(),
            if says.is_empty() { "nothing".into() } else { says.join(", ") }
        )
    }
}

/// Missing programs and their purpose, first: without them there is nothing to measure.
fn missing(programs: &[Found]) -> String {
    let (here, missing): (Vec<&Found>, Vec<&Found>) = programs.iter().partition(|found| found.path.is_some());
    let names = |found: &[&Found]| found.iter().map(|found| found.name).collect::<Vec<_>>().join(", ");
    let mut text = format!("here: {}\n", names(&here));
    for found in missing {
        text.push_str(&format!("missing: {}, for {}; see: tare setup {}\n", found.name, found.purpose, found.name));
    }
    text
}

fn rendered(diagnosis: &Diagnosis, style: Style) -> String {
    let mut findings: Vec<&Finding> = diagnosis.findings.iter().collect();
    findings.sort_by_key(|f| std::cmp::Reverse(f.severity));
    let mut text = String::from("noise on this machine, worst first\n\n");
    findings.iter().for_each(|finding| text.push_str(&line(finding, style)));
    text.push_str("\ntime that a spinning thread lost on each CPU\n");
    diagnosis.jitter.iter().for_each(|jitter| text.push_str(&jitter_line(jitter)));
    let resolves = diagnosis.drift.as_ref().and_then(Resolves::of);
    let conclusion = resolves.map_or_else(|| UNKNOWN.to_owned(), |resolves| resolves.words());
    text.push_str(&format!("\n{}", wrap(style, "", "", &conclusion)));
    text
}

fn line(finding: &Finding, style: Style) -> String {
    const INDENT: &str = "         ";
    let head = format!("{}: {}", finding.name, finding.value);
    let mut text = wrap(style, &format!("{:8} ", word(finding.severity)), INDENT, &head);
    if finding.severity > Severity::Good {
        text.push_str(&wrap(style, INDENT, INDENT, &finding.cost));
    }
    let remedies = [("run", &finding.command), ("or in a study", &finding.study)];
    for (label, remedy) in remedies {
        if let Some(remedy) = remedy {
            text.push_str(&format!("         {label}: {remedy}\n"));
        }
    }
    text
}

fn word(severity: Severity) -> String {
    format!("{severity:?}").to_lowercase()
}

fn jitter_line(jitter: &Jitter) -> String {
    format!(
        "CPU {:3}  {:>5} lost, longest {:.0} us, over {:.1} s\n",
        jitter.cpu,
        percent(jitter.stolen_fraction),
        jitter.longest_us,
        jitter.elapsed_s
    )
}

/// Fewest and most samples if their number follows from the time.
const WEIGHT_SAMPLES: [usize; 2] = [20, 120];
const WEIGHT_S: f64 = 60.0;
/// Length of a sample of a load without an end of its own, seconds.
const WEIGHT_SAMPLE_S: f64 = 0.5;

#[derive(Debug, Serialize)]
struct StudyWeight {
    pub study: String,
    /// What the probes show; null if the samples have no spread or no readings, or resemble each other too much.
    #[serde(flatten)]
    pub found: Option<Weight>,
    pub text: Option<String>,
    /// The line of a study that uses the probe, if one helps.
    pub line: Option<String>,
}

/// Measures the base of a study, without its factors, in one server lifetime; `None` when interrupted.
fn measure_weight(
    name: &str,
    engine: Option<&str>,
    samples: Option<usize>,
    wait: bool,
) -> Result<Option<StudyWeight>, Problem> {
    let file = StudyText::read(name, trust::whose(false), false)?;
    let machine = Machine::this()?;
    let study = file.parse(&Overrides { engine: engine.map(str::to_owned), ..Overrides::default() })?;
    let Some(_host) = unless_interrupted(host(wait))? else { return Ok(None) };
    let Some(found) = weight_of_samples(&study, &machine, samples, &RunOptions::of(true, false))? else {
        return Ok(None);
    };
    let text = found.as_ref().map(words::probe_advice);
    let line = found.as_ref().and_then(|found| found.probe).map(|probe| format!("sampling.probe = \"{}\"", probe));
    Ok(Some(StudyWeight { study: name.to_owned(), found, text, line }))
}

/// Resolves `sampling.probe = "auto"` on the machine, which is locked, and gives the reason; `None` when interrupted.
pub(crate) fn choose_probe(
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
    let Some(found) = weight_of_samples(study, machine, None, options)? else { return Ok(None) };
    let used = found.as_ref().and_then(|found| found.probe).map_or(ProbeUse::Off, ProbeUse::AdjustBy);
    Ok(Some((used, words::chosen_probe(found.as_ref()))))
}

/// Measures so many samples of a study's base with all probes; `None` when interrupted.
fn weight_of_samples(
    study: &Study,
    machine: &Machine,
    samples: Option<usize>,
    options: &RunOptions,
) -> Result<Option<Option<Weight>>, Problem> {
    let of = |samples: usize| planned(shortened(study.clone(), samples), machine, Where::Here, true);
    let samples = match samples {
        Some(samples) => samples,
        None => {
            let [few, many] = WEIGHT_SAMPLES;
            let each_s = (of(many)?.1.estimated_s - of(few)?.1.estimated_s) / (many - few) as f64;
            ((WEIGHT_S / each_s.max(1e-3)) as usize).clamp(few, many)
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
struct Scratch(PathBuf);

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
fn shortened(mut study: Study, samples: usize) -> Study {
    study.factors.clear();
    study.conditions.clear();
    study.decide = None;
    study.sampling = Sampling {
        trials: 1,
        samples,
        warmup_s: 2.0,
        sample_s: WEIGHT_SAMPLE_S,
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
