//! `tare ab --certify`: compares one side with itself and with copies of itself.

use super::ab_plan::{MeasuredOn, pair_line, settle_of};
use super::ab_sides::{self, Side};
use super::beforehand::Outlook;
use super::execution::{RunOptions, begun_in, default_out, execute, host, room_for_data};
use super::interrupt::unless_interrupted;
use super::output::{self, duration, note};
use super::rounds::RoundListener;
use super::{Exit, Problem, ab_certificates, ab_output, ab_twins, plan_view, study_file, trust};
use std::path::Path;
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

/// Compares a side with itself and its twins, keeps the certificate and prints it.
pub(crate) fn run(
    requested: &MeasuredOn<'_>,
    (side, relinked): (Option<&Side>, Option<&Side>),
    out: Option<&Path>,
    options: RunOptions,
) -> Result<Exit, Problem> {
    let sides: Vec<&Side> = side.into_iter().chain(relinked).collect();
    let base = ab_sides::measured_on(requested.study, &sides, &requested.overrides, requested.trusted)?;
    let own: Vec<Side> = side.cloned().into_iter().collect();
    let (machine, json) = (Machine::this()?, options.json);
    let seconds = requested.budget_s.unwrap_or(BUDGET_S);
    let line = format!("{CERTIFY}: comparisons of A with itself and with its copies; at most {}", duration(seconds));
    let outlook = Outlook { line, seconds };
    outlook.announce(options.json);
    if !outlook.is_wanted(options.yes, || None)? {
        return Ok(Exit::Interrupted);
    }
    let Some(_host) = unless_interrupted(host(options.wait))? else { return Ok(Exit::Interrupted) };
    let out = out.map_or_else(|| default_out(CERTIFY, &tare_results::now()), Path::to_owned);
    let twins = ab_twins::twins(&base, &own, relinked, &out, trust::whose(requested.trusted))?;
    let measured = against_all(requested, &twins, (&base, &own), (&machine, &out), options);
    ab_twins::remove(&out);
    let (found, ended) = measured?;
    let Some(metric) = found.iter().find_map(|found| found.metric.clone()) else {
        return match ended {
            Exit::Interrupted => Ok(ended),
            _ => Err(Problem::new(Exit::TrialFailed, "no pair counts: trials failed")
                .at(found.iter().filter_map(|own| own.against.reason.clone()).collect::<Vec<_>>().join("; "))
                .advice(format!("read the reasons in the folders below {}", out.display()))),
        };
    };
    let (engine, load) = ab_certificates::measured(&base);
    let certificate = Certificate {
        made_at: tare_results::now(),
        machine: Fingerprint::of(&machine),
        engine,
        load,
        metric,
        by_turns: found.iter().any(|own| own.by_turns),
        side: match own.as_slice() {
            [] => ab_certificates::command(&base).unwrap_or_default(),
            own => own.iter().map(Side::to_string).collect(),
        },
        minimum_effect: requested.minimum_effect,
        decides: Certificate::decides(&found),
        against: found.into_iter().map(|found| found.against).collect(),
    };
    let kept = ab_certificates::keep(certificate.clone())?;
    print(&certificate, json)?;
    note(&format!("results: {}\nkept with this machine: {}", out.display(), kept.path.display()));
    if let Some(aside) = &kept.aside {
        note(aside);
    }
    Ok(ended)
}

/// The findings of the side and each of its twins, and how the measurement ended: done, interrupted by a signal, or
/// with the first error after which pairs are left that count.
fn against_all(
    requested: &MeasuredOn<'_>,
    twins: &[ab_twins::Made],
    (base, own): (&Study, &[Side]),
    (machine, out): (&Machine, &Path),
    options: RunOptions,
) -> Result<(Vec<Found>, Exit), Problem> {
    let measurable = twins.iter().filter(|(_, twin)| twin.is_ok()).count();
    let budget_s = requested.budget_s.unwrap_or(BUDGET_S) / measurable.max(1) as f64;
    let run = Run { requested, budget_s, machine, options };
    let (mut found, mut ended) = (Vec::new(), Exit::Done);
    for (twin, other) in twins {
        let measured = match other {
            Err(reason) => Measured::Without(reason.clone()),
            Ok(_) if ended == Exit::Interrupted => Measured::Without("interrupted before this comparison".to_owned()),
            Ok(other) => run.against(*twin, ab_sides::study(base.clone(), own, other)?, out)?,
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

struct Run<'a> {
    requested: &'a MeasuredOn<'a>,
    budget_s: f64,
    machine: &'a Machine,
    options: RunOptions,
}

impl Run<'_> {
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
        let decide = Decide {
            metric: self.requested.metric.clone(),
            minimum_effect: Some(self.requested.minimum_effect),
            budget_s: Some(self.budget_s),
            interleave: self.requested.interleave,
            seed: self.requested.seed,
            ..Decide::default()
        };
        let (study, mut plan) = match settle_of(decide, (study, plan), (self.machine, Where::Here)) {
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
        return output::lines(&format!("{text}\n\n{}", ab_output::lines(&words::rows(certificate))));
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
