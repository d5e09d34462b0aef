//! The search for the highest rate that meets an objective: each step is a run of its own on the same server.

use super::pace::{Pace, Slo};
use super::run::{Merge, Ran, further, take_extra};
use super::search::{Next, Search};
use crate::sut::Surroundings;
use crate::workload::{Driven, LoadContext, LoadError, Measured, TrialSize};
use tare_load::Curve;
use tare_results::metric;
use tare_results::search::{ClientLimit, Limit, SearchRecord, StepRecord};
use tare_results::server_cost::Operation;

/// Seconds of load at each rate before its step, as a share of the step's length.
const SETTLE: f64 = 0.25;
/// Minimum duration of the closed loop before the first step, seconds.
const LEAST_CLOSED_S: f64 = 1.0;
/// Maximum number of measurements of a step in which the client was the limit.
const TIMES: usize = 3;
/// Minimum number of transactions in a step: fewer give no meaningful percentile.
const LEAST_TRANSACTIONS: f64 = 10.0;
/// Steps of a search on most servers.
const USUAL_STEPS: f64 = 10.0;

#[derive(Debug, thiserror::Error)]
enum SearchError {
    #[error(
        "no transaction was finished in {0:.1} s of load before the search for a rate: make samples longer \
         (sampling.sample_s; on the command line --time), or see the server's log"
    )]
    Nothing(f64),
    #[error(
        "no rate meets {objective}: at {requested:.2} transactions per second it was {value}{client}: set a higher \
         limit, or longer samples (sample_s; on the command line --time)"
    )]
    NoRate { objective: Slo, requested: f64, value: String, client: String },
    #[error("every rate meets {objective}, up to {requested:.0} transactions per second: set a lower limit")]
    NoLimit { objective: Slo, requested: f64 },
    #[error(
        "a probe needs an idle server around each sample, and an SLO (objective) keeps it loaded: set sampling.probe = \
         \"off\""
    )]
    Probe,
}

/// Expected seconds of warm-up and samples of a trial, or of its searches if there is an objective.
pub(crate) fn expected_s(pace: Pace, counts: &TrialSize) -> f64 {
    match pace {
        Pace::Closed | Pace::Rate(_) => {
            counts.warmup_s + (counts.samples + usize::from(counts.extra)) as f64 * counts.sample_s
        }
        Pace::Search(_) => {
            let step_s = (1.0 + SETTLE) * counts.sample_s;
            closed_s(counts) + step_s * (counts.samples as f64 * USUAL_STEPS + f64::from(u8::from(counts.extra)))
        }
    }
}

fn closed_s(counts: &TrialSize) -> f64 {
    counts.warmup_s.max(LEAST_CLOSED_S)
}

/// Measures at a pace. `run` runs the load once, at a rate or as fast as possible, with the counts of the stage;
/// `measured` converts its result to metrics, or returns why it is not a valid measurement.
pub(crate) fn at_pace<T: Merge>(
    pace: Pace,
    mut stage: LoadContext<'_>,
    run: impl Fn(Option<Curve>, &mut LoadContext<'_>) -> Result<Vec<Ran<T>>, LoadError>,
    measured: impl Fn(Ran<T>) -> Result<Measured, LoadError>,
) -> Result<Driven, LoadError> {
    if let Pace::Search(objective) = pace {
        return under_objective(objective, stage, run, measured);
    }
    let wanted = stage.counts.samples;
    let mut ran = run(pace.rate(), &mut stage)?;
    let extra = take_extra(&mut ran, wanted);
    let judged = |ran: Ran<T>| {
        let judged = stage.host.judge(pace, &ran.sample);
        // The load's own error comes first: it may explain why nothing was done.
        let measured = measured(ran)?;
        judged?;
        Ok(measured)
    };
    let samples = ran.into_iter().map(judged).collect::<Result<_, LoadError>>()?;
    Ok(Driven { samples, extra, settled: stage.settled, ..Driven::default() })
}

/// Searches once per requested sample. `run` and `measured` as in [`at_pace`].
fn under_objective<T: Merge>(
    objective: Slo,
    mut stage: LoadContext<'_>,
    run: impl Fn(Option<Curve>, &mut LoadContext<'_>) -> Result<Vec<Ran<T>>, LoadError>,
    measured: impl Fn(Ran<T>) -> Result<Measured, LoadError>,
) -> Result<Driven, LoadError> {
    if stage.watch.probes() {
        return Err(LoadError::own(SearchError::Probe));
    }
    let requested = stage.counts;
    let mut steps = Steps { objective, requested, stage: &mut stage, run, runs: 0 };
    let closed = steps.run(None, TrialSize { warmup_s: 0.0, sample_s: closed_s(&requested), ..ONE })?.sample;
    let mut driven = Driven::default();
    for search in 0..requested.samples {
        let (best, mut record, whole) = steps.search(closed.tps(), closed.elapsed_s)?;
        record.search = search;
        let rate = best.sample.tps();
        let mut sample = measured(best)?;
        // Covariates and costs cover the whole search, the other figures only the step that met the objective.
        sample.elapsed_s = whole.elapsed_s;
        sample.operations = Some((Operation::Transaction, whole.transactions));
        let threads = std::mem::take(&mut sample.surroundings.threads);
        sample.surroundings = Surroundings { threads, ..whole.around };
        let found = record.found_tps.unwrap_or(rate);
        // The throughput of that step depends on how many arrivals fell into it: the result is the rate itself.
        sample.metrics.retain(|(named, _)| *named != metric::TPS && *named != metric::QPS);
        // Transactions that still waited at the end are in the figure that was judged, and not in the metrics.
        let judged = record.found_step().and_then(|step| step.value);
        set_judged_figure(&mut sample.metrics, objective, judged);
        sample.metrics.insert(0, (metric::MAX_TPS_UNDER_OBJECTIVE, found));
        driven.samples.push(sample);
        driven.searches.push(record);
        if requested.extra && search + 1 == requested.samples {
            let extra = steps.run(Some(found), TrialSize { samples: 0, extra: true, ..steps.counts() })?;
            driven.extra = Some(further(&extra, rate));
        }
    }
    driven.settled = stage.settled;
    Ok(driven)
}

const ONE: TrialSize = TrialSize { samples: 1, warmup_s: 0.0, sample_s: 0.0, extra: false, threads: 1, cpus: 1 };

struct Steps<'s, 'a, R> {
    objective: Slo,
    requested: TrialSize,
    stage: &'s mut LoadContext<'a>,
    run: R,
    runs: u64,
}

#[derive(Default)]
struct Whole {
    elapsed_s: f64,
    transactions: f64,
    around: Surroundings,
}

impl<T, R: Fn(Option<Curve>, &mut LoadContext<'_>) -> Result<Vec<Ran<T>>, LoadError>> Steps<'_, '_, R> {
    fn counts(&self) -> TrialSize {
        let sample_s = self.requested.sample_s;
        TrialSize { samples: 1, warmup_s: SETTLE * sample_s, sample_s, extra: false, ..self.requested }
    }

    /// Runs once, with new connections, so that no transaction of the rate before is left in a queue.
    fn run(&mut self, rate: Option<f64>, counts: TrialSize) -> Result<Ran<T>, LoadError> {
        let (seed, requested) = (self.stage.seed, self.stage.counts);
        self.stage.watch.clear();
        self.stage.counts = TrialSize { threads: requested.threads, cpus: requested.cpus, ..counts };
        // Each run draws different keys and times; the factor is odd, so that the runs of different trials differ too.
        self.stage.seed = seed.wrapping_add(self.runs.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        self.runs += 1;
        let ran = (self.run)(rate.map(Curve::Constant), self.stage);
        (self.stage.seed, self.stage.counts) = (seed, requested);
        let nothing = || LoadError::own(SearchError::Nothing(counts.sample_s));
        ran?.into_iter().next().ok_or_else(nothing)
    }

    /// One search: the best step, the record, and the sum of all steps.
    fn search(&mut self, closed_tps: f64, closed_s: f64) -> Result<(Ran<T>, SearchRecord, Whole), LoadError> {
        if closed_tps <= 0.0 {
            return Err(LoadError::own(SearchError::Nothing(closed_s)));
        }
        let (objective, mut whole, mut met) = (self.objective, Whole::default(), Vec::new());
        let mut record = SearchRecord {
            search: 0,
            slo: objective.record(),
            closed_loop_tps: closed_tps,
            found_tps: None,
            bracket_tps: None,
            limit: None,
            steps: Vec::new(),
        };
        let mut search = Search::new(closed_tps / 2.0, LEAST_TRANSACTIONS / self.requested.sample_s);
        let found = loop {
            let rate = match search.next() {
                Next::Measure(rate) => rate,
                Next::Found(rate) => {
                    record.limit = search.bound().and_then(|bound| limit_at(&record.steps, bound));
                    break rate;
                }
                // The server changed during the search: the result is a range of rates.
                Next::NoEnd(bracket) => {
                    record.bracket_tps = Some([bracket.low, bracket.high]);
                    break bracket.found;
                }
                Next::NoLimit => {
                    let requested = record.steps.last().map_or(0.0, |step| step.requested_tps);
                    return Err(LoadError::own(SearchError::NoLimit { objective, requested }));
                }
                Next::NoRate => return Err(LoadError::own(no_rate(objective, &record.steps))),
            };
            let ran = self.step(rate, &mut record.steps, &mut whole)?;
            let is_met = record.steps.last().is_some_and(|step| step.met);
            search.note(rate, is_met);
            if is_met {
                met.push((rate, ran));
            }
        };
        record.found_tps = Some(found);
        // Exists, because only a rate that met the objective can be found.
        let best = met.into_iter().rfind(|(of, _)| *of == found).map(|(_, ran)| ran);
        Ok((best.ok_or_else(|| LoadError::own(SearchError::Nothing(closed_s)))?, record, whole))
    }

    /// Measures one rate; repeated if the client was the limit, which may have been an accident.
    fn step(&mut self, rate: f64, steps: &mut Vec<StepRecord>, whole: &mut Whole) -> Result<Ran<T>, LoadError> {
        let mut time = 0;
        loop {
            time += 1;
            let mut ran = self.run(Some(rate), self.counts())?;
            let mut step = judged(self.objective, rate, &ran);
            let threads = std::mem::take(&mut ran.around.threads);
            whole.add(&ran);
            ran.around.threads = threads;
            step.repeated = matches!(step.limit, Some(Limit::Client(_))) && time < TIMES;
            let repeated = step.repeated;
            steps.push(step);
            if !repeated {
                return Ok(ran);
            }
        }
    }
}

impl Whole {
    fn add<T>(&mut self, ran: &Ran<T>) {
        let around = ran.around.clone();
        if self.elapsed_s == 0.0 {
            self.around = around
        } else {
            self.around.merge(around)
        }
        self.elapsed_s += ran.sample.elapsed_s;
        self.transactions += ran.sample.transactions as f64;
    }
}

fn judged<T>(objective: Slo, rate: f64, ran: &Ran<T>) -> StepRecord {
    let sample = &ran.sample;
    let of =
        |which: fn(&tare_load::Queued) -> &tare_load::Latencies| objective.figure_of(which(sample.queued.as_ref()?));
    let (value, value_of_prompt_client) = (of(|queued| &queued.measured), of(|queued| &queued.prompt));
    let behind = falls_behind(rate * sample.elapsed_s, sample.transactions as f64, sample.backlog.unwrap_or(0) as f64);
    let met = value.is_some_and(|value| objective.is_met_by(value)) && !behind;
    let mut covariates = ran.around.covariates.clone();
    covariates.extend(Measured::seen_by_the_load(sample));
    let own = || {
        // The client is the limit if the latency without the client's own lateness meets the objective, and more than
        // half of the latency is lateness.
        let late = value.zip(value_of_prompt_client);
        let late = late.filter(|(value, prompt)| objective.is_met_by(*prompt) && 2.0 * prompt < *value);
        let still_s = Some(sample.client_stood_still_s).filter(|still| *still > 0.0);
        ClientLimit::of(&covariates, sample.elapsed_s)
            .or(still_s.map(ClientLimit::StoodStillS))
            .or(late.map(|(_, prompt)| ClientLimit::BeganLateElse(prompt)))
    };
    let limit = (!met).then(|| own().map_or(Limit::Server, Limit::Client));
    let beyond = objective.beyond(sample.transactions);
    let done_tps = sample.tps();
    StepRecord { requested_tps: rate, done_tps, value, value_of_prompt_client, beyond, met, limit, repeated: false }
}

/// Sets the figure of the objective to the value by which the step met it.
fn set_judged_figure(metrics: &mut [(metric::Named, f64)], objective: Slo, judged: Option<f64>) {
    let own = metrics.iter_mut().find(|(named, _)| named.name() == objective.metric());
    if let (Some((_, value)), Some(judged)) = (own, judged) {
        *value = judged;
    }
}

/// Whether a queue grows: more than a tenth of the transactions that should have been due is missing, and waits. In a
/// step that is short relative to the limit, latencies do not show this yet. A rate that was low by chance is no
/// reason.
fn falls_behind(requested: f64, done: f64, backlog: f64) -> bool {
    done < 0.9 * requested && backlog > 0.1 * requested
}

/// What limited a rate that did not meet the objective.
fn limit_at(steps: &[StepRecord], rate: f64) -> Option<Limit> {
    steps.iter().rfind(|step| step.requested_tps == rate).and_then(|step| step.limit)
}

fn no_rate(objective: Slo, steps: &[StepRecord]) -> SearchError {
    let last = steps.last();
    let value = last.and_then(|step| step.value).map_or("no figure".to_owned(), |value| format!("{value:.3} ms"));
    let client = match last.and_then(|step| step.limit) {
        Some(Limit::Client(why)) => format!(", and the client was the limit ({why})"),
        _ => String::new(),
    };
    SearchError::NoRate { objective, requested: last.map_or(0.0, |step| step.requested_tps), value, client }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reported_figure_of_the_objective_is_the_one_that_met_it() {
        let mut metrics = [(metric::LATENCY_MS_P95, 3.0), (metric::LATENCY_MS_P99, 6.0)];
        set_judged_figure(&mut metrics, "p99 <= 5ms".parse().unwrap(), Some(4.9));
        assert_eq!(metrics.map(|(_, value)| value), [3.0, 4.9]);
    }

    #[test]
    fn a_rate_is_missed_if_the_missing_transactions_are_queued() {
        assert!(falls_behind(1286.0, 1103.0, 183.0), "a queue that grew for half a second");
        assert!(!falls_behind(100.0, 85.0, 3.0), "fewer arrived by chance");
        assert!(!falls_behind(1000.0, 960.0, 150.0), "slow, but not behind");
    }
}
