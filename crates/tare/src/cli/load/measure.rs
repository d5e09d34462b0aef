//! Measures a load of `tare load`: once with a line per interval, or with `--out` as a study.

use super::lines::{self, Prompt};
use super::oltp_args::ReportArgs;
use super::other_views;
use super::request::{LoadRequest, MeasuredSystem};
use super::view::{self, Viewed};
use crate::cli::{Exit, Problem, execution, output};
use crate::state::Host;
use crate::trial::load::TrialLoad;
use crate::trial::{running, samples, verify_charset};
use tare_drive::capture::interference::OthersSeen;
use tare_drive::sut::SharedAffinities;
use tare_drive::workload::sessions::Reconnect;
use tare_drive::workload::{self, AnyLoad, Driven};
use tare_engine::RunningServer;
use tare_topology::{Machine, ResolvedPlacement};

/// Measures the requested load and prints the result.
///
/// # Errors
/// With exit codes 3 (no connection, placement not possible here) and 4 (a transaction failed for good, no rate meets
/// the limit, or what was done is not what was requested).
pub(crate) fn measure(request: LoadRequest<'_>, report: &ReportArgs, survives: bool) -> Result<Exit, Problem> {
    if let Some(out) = &request.args.out {
        return request.keep(out, report.json);
    }
    let server = RunningServer::attach(request.engine, request.target.clone())?;
    verify_charset(&request.settings.engine, &server)?;
    let measured_system = MeasuredSystem::of(&request, &server);
    let (again, engine) = (request.target.clone(), request.engine);
    let reconnect = survives.then(|| Reconnect::new(move || engine.connect(&again)));
    let prompt = Prompt::new(&request, report, reconnect)?;
    let driven = drive(&request, &server, &prompt)?;
    note_disturbance(&request, &driven);
    if request.args.searches() {
        other_views::print_search(&measured_system, driven.searches.first().ok_or_else(no_sample)?, report.json)?;
        return Ok(Exit::Done);
    }
    let (sample, judged, outage) = prompt.seen().ok_or_else(no_sample)?;
    let measured = driven.samples.first().ok_or_else(no_sample)?;
    let viewed = Viewed { measured_system: &measured_system, measured, sample: &sample, outage, report };
    match (&request.settings.workload.load, report.json) {
        (AnyLoad::Sql(_), true) => output::document("tare-load-sql", &other_views::sql_document(&viewed))?,
        (AnyLoad::Sql(_), false) => output::lines(&other_views::sql_words(&viewed))?,
        (AnyLoad::Tpcc(_), true) => output::document("tare-load-tpcc", &other_views::tpcc_document(&viewed))?,
        (AnyLoad::Tpcc(_), false) => output::lines(&other_views::tpcc_words(&viewed))?,
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
    if let Some(reasons) = seen.and_then(|seen| samples::disturbance_reasons(&request.sampling, &seen)) {
        output::note(&format!("this measurement was disturbed: {reasons}; repeat it on a quieter machine"));
    }
}

fn no_sample() -> Problem {
    Problem::new(Exit::TrialFailed, "the load made no sample")
}

/// Drives the load as the first trial of its study. Affinities are restored on every return, and after kill -9 by the
/// next start.
fn drive(request: &LoadRequest<'_>, server: &RunningServer, prompt: &dyn workload::Host) -> Result<Driven, Problem> {
    let LoadRequest { settings, sampling, .. } = request;
    let placement = placement(request)?;
    let held = AffinityGuard::take(&placement)?;
    let load = TrialLoad { settings, sampling, placement: &placement, trial: 0, turns: None };
    let driven = load.drive(settings.workload.load.load(), Some(server), held.affinities.clone(), prompt);
    running::put_back(held.affinities.as_ref())?;
    driven.map_err(|e| request.failed(e))
}

fn placement(LoadRequest { settings, target, .. }: &LoadRequest<'_>) -> Result<ResolvedPlacement, Problem> {
    let placement = settings
        .placement
        .resolve(&Machine::this()?, settings.workload.threads)
        .map_err(|e| Problem::new(Exit::Machine, e.to_string()).advice("see what this machine has with: tare topo"))?;
    if running::binds_server(&placement) && !target.address.is_here() {
        return Err(Problem::new(
            Exit::Usage,
            format!("--server places threads, but {} is another host", target.address),
        )
        .expected("a server on this machine, by its socket or a loopback address")
        .advice("leave out --server, --background and --pairing, or run tare on the server's machine"));
    }
    Ok(placement)
}

/// Held while threads of another user's server are bound: locks the machine and journals the original affinities.
struct AffinityGuard {
    affinities: Option<SharedAffinities>,
    _host: Option<Host>,
}

impl AffinityGuard {
    /// Locks the machine if the placement binds server threads; first restores what a killed run left.
    fn take(placement: &ResolvedPlacement) -> Result<Self, Problem> {
        let host = if running::binds_server(placement) { Some(execution::take_host()?) } else { None };
        Ok(Self { affinities: running::affinities(placement)?, _host: host })
    }
}
