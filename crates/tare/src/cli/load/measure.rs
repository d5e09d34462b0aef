//! Measures a load of `tare load`: once with a line per interval, or with `--out` as a study.

use super::lines::{self, Prompt};
use super::measured_system::MeasuredSystem;
use super::oltp_args::ReportArgs;
use super::request::LoadRequest;
use super::view::{self, Viewed};
use super::{search_view, sql_view, stage, tpcc_view};
use crate::cli::{Exit, Problem, output};
use crate::trial::disturbance;
use tare_drive::capture::interference::OthersSeen;
use tare_drive::workload::sessions::Reconnect;
use tare_drive::workload::{AnyLoad, Driven};

/// Measures the requested load and prints the result.
///
/// # Errors
/// With exit codes 3 (no connection, placement not possible here) and 4 (a transaction failed for good, no rate meets
/// the limit, or what was done is not what was requested).
pub(crate) fn measure(request: LoadRequest<'_>, report: &ReportArgs, survives: bool) -> Result<Exit, Problem> {
    if let Some(out) = &request.args.out {
        return request.keep(out, report.json);
    }
    let measured_system = MeasuredSystem::of(&request)?;
    let (again, engine) = (request.target.clone(), request.engine);
    let reconnect = survives.then(|| Reconnect::new(move || engine.connect(&again)));
    let prompt = Prompt::new(&request, report, reconnect)?;
    let driven = stage::measure(&request, &prompt)?;
    note_disturbance(&request, &driven);
    if request.args.searches() {
        search_view::print(&measured_system, driven.searches.first().ok_or_else(no_sample)?, report.json)?;
        return Ok(Exit::Done);
    }
    let (sample, judged, outage) = prompt.seen().ok_or_else(no_sample)?;
    let measured = driven.samples.first().ok_or_else(no_sample)?;
    let viewed = Viewed { measured_system: &measured_system, measured, sample: &sample, outage, report };
    match (&request.settings.workload.load, report.json) {
        (AnyLoad::Sql(_), true) => output::document("tare-load-sql", &sql_view::document(&viewed))?,
        (AnyLoad::Sql(_), false) => output::lines(&sql_view::words(&viewed))?,
        (AnyLoad::Tpcc(_), true) => output::document("tare-load-tpcc", &tpcc_view::document(&viewed))?,
        (AnyLoad::Tpcc(_), false) => output::lines(&tpcc_view::words(&viewed))?,
        (_, true) => output::document("tare-load", &view::document(&viewed))?,
        (_, false) => output::lines(&view::words(&viewed))?,
    }
    if let Some(exit) = lines::ended(measured.elapsed_s) {
        return Ok(exit);
    }
    judged.map_err(|e| {
        Problem::new(Exit::TrialFailed, e.to_string())
            .advice("lower the rate, measure longer, or give the clients or the server more CPUs")
    })?;
    if let Some(outage) = outage.filter(|outage| outage.still_away > 0) {
        let what = format!("{} of {} clients had no connection at the end", outage.still_away, request.threads());
        return Err(Problem::new(Exit::TrialFailed, what).advice("start the server again, and see its log"));
    }
    Ok(Exit::Done)
}

/// Reports what disturbed the measurement, by the limits of a study: the figures may describe that and not the server.
fn note_disturbance(request: &LoadRequest<'_>, driven: &Driven) {
    let around = driven.samples.first().map(|measured| &measured.surroundings);
    let seen = around.map(|around| OthersSeen { covariates: around.covariates.clone(), users: around.users.clone() });
    if let Some(reasons) = seen.and_then(|seen| disturbance::reasons(&request.sampling, &seen)) {
        output::note(&format!("this measurement was disturbed: {reasons}; repeat it on a quieter machine"));
    }
}

fn no_sample() -> Problem {
    Problem::new(Exit::TrialFailed, "the load made no sample")
}
