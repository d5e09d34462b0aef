//! Made-up studies in which nothing is different: how often the program says something all the same, over everything
//! that one study says; and studies in which something is, to see what that costs. `TARE_NULL_STUDIES` says how many of
//! each kind; `benches/nulls` runs the whole.

use crate::report::fake::Noise;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tare_findings::compare::{Gate, Options, Side, compare};
use tare_findings::summarize;
use tare_results::levels_of;
use tare_results::schema::*;
use tare_results::{Results, Source};

/// Studies of each kind in the test suite: enough to see a rate that is several times too high.
const FEW: usize = 6;
/// Spread between trials, as a fraction.
const COV: f64 = 0.02;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Normal,
    T3,
    LogNormal,
    Bimodal,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Drift {
    None,
    Blocks,
    Ar(f64),
    Linear,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Layout {
    /// Two factors of two levels.
    Factors,
    /// One factor of six levels.
    Choices,
    /// Threads 1 to 8.
    Ladder,
}

const SHAPES: [Shape; 4] = [Shape::Normal, Shape::T3, Shape::LogNormal, Shape::Bimodal];
const DRIFTS: [Drift; 5] = [Drift::None, Drift::Blocks, Drift::Ar(0.5), Drift::Ar(0.8), Drift::Linear];
const LAYOUTS: [Layout; 3] = [Layout::Factors, Layout::Choices, Layout::Ladder];

impl Shape {
    fn draw(self, rng: &mut Noise) -> f64 {
        let z = rng.bell();
        match self {
            Self::Normal => z,
            Self::T3 => z / ((0..3).map(|_| rng.bell().powi(2)).sum::<f64>() / 3.0).sqrt(),
            Self::LogNormal => 2.0 * ((0.5 * z).exp() - 1.13),
            Self::Bimodal => (if rng.bell() < 0.0 { 4.0 } else { 0.0 }) + z,
        }
    }
}

/// What neighbours share, in standard deviations, trial by trial.
fn drifting(rng: &mut Noise, drift: Drift, trials: usize, conditions: usize) -> Vec<f64> {
    let blocks: Vec<f64> = (0..trials.div_ceil(conditions)).map(|_| 2.0 * rng.bell()).collect();
    let mut state = rng.bell();
    (0..trials)
        .map(|i| match drift {
            Drift::None => 0.0,
            Drift::Blocks => blocks[i / conditions],
            Drift::Ar(rho) => {
                state = rho * state + (1.0 - rho * rho).sqrt() * rng.bell();
                2.0 * state
            }
            Drift::Linear => 4.0 * i as f64 / trials as f64,
        })
        .collect()
}

fn names(layout: Layout) -> Vec<String> {
    match layout {
        Layout::Factors => {
            ["off", "on"].iter().flat_map(|a| ["off", "on"].map(|b| format!("ahi={a} aslr={b}"))).collect()
        }
        Layout::Choices => (0..6).map(|i| format!("placement=p{i}")).collect(),
        Layout::Ladder => [1, 2, 4, 8].iter().map(|n| format!("threads={n}")).collect(),
    }
}

/// What is there to be found.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Truth {
    /// Nothing.
    Nothing,
    /// One level changes the mean, by three standard deviations.
    Mean,
    /// One level makes trials vary four times as much.
    Spread,
    /// A covariate goes with what is left, at a correlation of about 0.9.
    Cause,
    /// The last rung of a ladder gives less, by three standard deviations.
    Less,
}

/// One study of a kind.
#[derive(Debug, Clone, Copy)]
struct Kind {
    shape: Shape,
    drift: Drift,
    layout: Layout,
    n: usize,
    truth: Truth,
}

const BESIDE: [&str; 4] = ["major_faults", "throttle_events", "swap_pages", "steal_fraction"];

/// One run; in which, where nothing is true, every condition is the same.
fn study(rng: &mut Noise, kind: Kind) -> Results {
    let names = names(kind.layout);
    let order = tare_stats::order::randomized_blocks(names.len(), kind.n, rng.bell().to_bits());
    let schedule: Vec<(usize, usize)> =
        order.iter().enumerate().flat_map(|(block, order)| order.iter().map(move |c| (block, *c))).collect();
    let shared = drifting(rng, kind.drift, schedule.len(), names.len());
    let beside: Vec<Vec<f64>> = (0..4).map(|_| drifting(rng, kind.drift, schedule.len(), names.len())).collect();
    let last = names.len() - 1;
    let mut trials = Vec::new();
    for (trial, (block, condition)) in schedule.iter().enumerate() {
        let planned = PlannedTrial { trial, block: *block, condition: names[*condition].clone(), lifetime: None };
        let mut record = TrialRecord::new(&planned, 1, levels_of(&names[*condition]), String::new());
        let mut own = kind.shape.draw(rng);
        let mut recorded: Vec<f64> = beside.iter().map(|drift| 100.0 + drift[trial] + rng.bell()).collect();
        match kind.truth {
            Truth::Mean if names[*condition].contains("aslr=on") => own += 3.0,
            Truth::Spread if names[*condition].contains("aslr=on") => own *= 4.0,
            Truth::Cause => recorded[0] = 100.0 + own + shared[trial] + 0.5 * rng.bell(),
            Truth::Less if *condition == last => own -= 3.0,
            _ => {}
        }
        let tps = 1000.0 * (COV * (own + shared[trial])).exp();
        record.samples = vec![SampleRecord {
            sample: 0,
            started_at: String::new(),
            elapsed_s: 1.0,
            metrics: BTreeMap::from([("tps".to_owned(), tps)]),
            tps_each_second: Vec::new(),
            covariates: BESIDE.iter().zip(recorded).map(|(name, value)| ((*name).to_owned(), value)).collect(),
            histograms: Default::default(),
            threads: Vec::new(),
        }];
        trials.push(record);
    }
    results_of(trials)
}

fn results_of(trials: Vec<TrialRecord>) -> Results {
    let plan = serde_json::json!({
        "schema": SCHEMA, "study": "null", "seed": 1, "conditions": [], "trials": [], "samples": 1, "estimated_s": 1.0
    });
    Results {
        path: PathBuf::from("null"),
        source: Source::Directory,
        study: "null".into(),
        plan: Some(serde_json::from_value(plan).unwrap()),
        environment: None,
        study_toml: None,
        trials,
        captures: BTreeMap::new(),
        machines: BTreeMap::new(),
        open_shards: Vec::new(),
        warnings: Vec::new(),
        damaged: Default::default(),
    }
}

/// All that is claimed.
const CLAIMS: [&str; 9] = [
    "headline",
    "effects marked",
    "spreads marked",
    "source",
    "residual cause",
    "mode cause",
    "retrograde",
    "gate",
    "gate of two runs",
];

/// What a study says, in the order of [`CLAIMS`].
fn claims(results: &Results, other: &Results, names: &[String]) -> [bool; 9] {
    let summary = summarize(results);
    let gated = |a: (&Results, &str), b: (&Results, &str)| {
        let side = |(results, condition)| Side { results, condition: Some(condition) };
        let options = Options { fail_if_slower: Some(0.0), ..Options::default() };
        compare(side(a), side(b), &options).unwrap().gate == Some(Gate::Failed)
    };
    [
        summary.answer.verdict.is_claim(),
        summary.effects.iter().any(|effect| effect.shown),
        summary.effects.iter().any(|effect| effect.spread_shown),
        summary.spread_sources.is_some_and(|s| s.ranking.iter().any(|source| source.shown)),
        !summary.residual_causes.is_empty(),
        summary.conditions.iter().flat_map(|c| &c.metrics).any(|metric| metric.mode_cause.is_some()),
        summary.scaling.iter().any(|law| law.retrograde),
        gated((results, &names[0]), (results, &names[1])),
        gated((results, &names[0]), (other, &names[0])),
    ]
}

/// How often each was claimed.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    claimed: [usize; 9],
    /// Anything but the gate of two runs, which is not of one study.
    any: usize,
    studies: usize,
}

impl Tally {
    fn of(kind: Kind, studies: usize, seed: u64) -> Self {
        let mut rng = Noise::new(seed);
        let mut tally = Self::default();
        for i in 0..studies {
            let kind = Kind { layout: layout_of(kind, i), ..kind };
            let (results, other) = (study(&mut rng, kind), study(&mut rng, kind));
            let said = claims(&results, &other, &names(kind.layout));
            said.iter().zip(&mut tally.claimed).for_each(|(said, count)| *count += usize::from(*said));
            tally.any += usize::from(said[..8].contains(&true));
            tally.studies += 1;
        }
        tally
    }

    fn percent(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.studies.max(1) as f64
    }

    fn row(&self) -> String {
        let all = self.claimed.iter().chain([&self.any]);
        all.map(|count| format!("{:.1}", self.percent(*count))).collect::<Vec<_>>().join(" | ")
    }

    fn merge(&mut self, other: &Self) {
        self.claimed.iter_mut().zip(other.claimed).for_each(|(sum, count)| *sum += count);
        self.any += other.any;
        self.studies += other.studies;
    }
}

/// Null studies take all layouts in turn; one in which something is true the layout that has it.
fn layout_of(kind: Kind, i: usize) -> Layout {
    match kind.truth {
        Truth::Nothing => LAYOUTS[i % LAYOUTS.len()],
        Truth::Less => Layout::Ladder,
        Truth::Mean | Truth::Spread | Truth::Cause => Layout::Factors,
    }
}

/// All kinds, on as many threads as there are PUs.
fn tallies(kinds: &[Kind], studies: usize) -> Vec<Tally> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let place = next_place(kinds, kind);
            done.push((place, Tally::of(*kind, studies, 20_261_121 + place as u64)));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, Tally)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, tally)| tally).collect()
}

fn next_place(kinds: &[Kind], kind: &Kind) -> usize {
    kinds.iter().position(|other| std::ptr::eq(other, kind)).unwrap()
}

fn head(what: &str) {
    println!("| trials | shape | drift | {what} | {} | any but the last |", CLAIMS.join(" | "));
    println!("| {}|", "--- | ".repeat(CLAIMS.len() + 5).trim_end());
}

fn asked() -> Option<usize> {
    std::env::var("TARE_NULL_STUDIES").ok().and_then(|text| text.parse().ok())
}

#[test]
fn nothing_is_claimed_of_studies_without_differences() {
    let each = asked().unwrap_or(FEW);
    let mut kinds = Vec::new();
    for n in [3, 5, 10] {
        for shape in SHAPES {
            kinds.extend(DRIFTS.map(|drift| Kind { shape, drift, layout: LAYOUTS[0], n, truth: Truth::Nothing }));
        }
    }
    head("truth");
    let mut all = Tally::default();
    for (kind, tally) in kinds.iter().zip(tallies(&kinds, each)) {
        println!("| {} | {:?} | {:?} | {:?} | {} |", kind.n, kind.shape, kind.drift, kind.truth, tally.row());
        all.merge(&tally);
        // A single kind of few studies varies much; a rate several times too high shows all the same.
        let limit = 6.0 + 400.0 * (0.06 * 0.94 / tally.studies as f64).sqrt();
        let any = tally.percent(tally.any);
        assert!(any <= limit, "{kind:?}: something in {any}%: {}", tally.row());
    }
    println!("| all | | | | {} |", all.row());
    let any = all.percent(all.any);
    assert!(any <= 6.0 + 200.0 * (0.06 * 0.94 / all.studies as f64).sqrt(), "something in {any}% of all");
}

#[test]
fn what_there_is_is_found() {
    let each = asked().map_or(20, |asked| (asked / 4).max(20));
    let mut kinds = Vec::new();
    for n in [3, 5, 10] {
        for truth in [Truth::Mean, Truth::Spread, Truth::Cause, Truth::Less] {
            kinds.extend([Shape::Normal, Shape::T3, Shape::LogNormal].map(|shape| Kind {
                shape,
                drift: Drift::None,
                layout: Layout::Factors,
                n,
                truth,
            }));
            kinds.push(Kind { shape: Shape::Normal, drift: Drift::Ar(0.8), layout: Layout::Factors, n, truth });
        }
    }
    // Three standard deviations in ten trials are nothing to miss. How often the others are found, `benches/nulls`
    // prints.
    let is_judged = |kind: &Kind| kind.n == 10 && kind.shape == Shape::Normal && kind.drift == Drift::None;
    if asked().is_none() {
        kinds.retain(is_judged);
    }
    head("truth");
    for (kind, tally) in kinds.iter().zip(tallies(&kinds, each)) {
        println!("| {} | {:?} | {:?} | {:?} | {} |", kind.n, kind.shape, kind.drift, kind.truth, tally.row());
        let claim = match kind.truth {
            Truth::Nothing => continue,
            Truth::Mean => "headline",
            Truth::Spread => "source",
            Truth::Cause => "residual cause",
            Truth::Less => "retrograde",
        };
        let place = CLAIMS.iter().position(|known| *known == claim).unwrap();
        let found = tally.percent(tally.claimed[place]);
        if is_judged(kind) {
            // The spread of ten trials is another matter.
            let least = if kind.truth == Truth::Spread { 60.0 } else { 75.0 };
            assert!(found >= least, "{kind:?}: {claim} in {found}%");
        }
    }
}
