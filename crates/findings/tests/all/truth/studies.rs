//! Null studies, with the rate of false claims for each first claim and over all findings of one study; and studies
//! with a true effect, to measure the power.

use super::made::{DRIFTS, Drift, Kind, LAYOUTS, Layout, SHAPES, Shape, Truth, names, on_machines, study};
use super::{Limit, Rate, Rows, is_selected, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use tare_findings::compare::{Gate, Options, Side, compare};
use tare_findings::confidence::MODES;
use tare_findings::verdict::{Untested, Verdict};
use tare_findings::{answered, summarize};
use tare_results::Results;
use tare_stats::order::randomized_blocks;

/// Studies of each kind in the test suite: enough to detect a rate that is several times too high.
const FEW: usize = 3;

// The possible first claims.
listed! { First {
    Moved,
    MovedAlone,
    Ranked,
    RankedAlone,
    RankedLevels,
    SpreadFrom,
    Less,
    PooledLess,
    InsteadOfLadder,
    ModesAlone,
    OneLoad,
    RankedLevelsAlone,
} }

impl First {
    /// The claim of a verdict, if any. The match has no wildcard, so that a new verdict must be added here, and is
    /// measured.
    fn of(verdict: &Verdict) -> Option<Self> {
        match verdict {
            // A race is measured with its own rule, in `claims`.
            Verdict::Raced(_) => None,
            Verdict::Untested(why) => Self::of_untested(why),
            Verdict::Moved { .. } => Some(Self::Moved),
            Verdict::NotMoved { alone, .. } => (!alone.is_empty()).then_some(Self::MovedAlone),
            Verdict::Ranked { .. } => Some(Self::Ranked),
            Verdict::NotRanked { alone, .. } => (!alone.is_empty()).then_some(Self::RankedAlone),
            Verdict::NotRankedLevels { alone, .. } => (!alone.is_empty()).then_some(Self::RankedLevelsAlone),
            Verdict::RankedLevels { .. } => Some(Self::RankedLevels),
            Verdict::SpreadFrom(from) => (!from.sources.is_empty()).then_some(Self::SpreadFrom),
            Verdict::Steps { pooled, .. } => {
                verdict.is_claim().then_some(if pooled.is_empty() { Self::Less } else { Self::PooledLess })
            }
            Verdict::ByLoad(_) => verdict.is_claim().then_some(Self::OneLoad),
        }
    }

    /// What is said next to a question that cannot be answered.
    fn of_untested(why: &Untested) -> Option<Self> {
        match why {
            Untested::TooFewRungs { instead, .. } => instead.is_claim().then_some(Self::InsteadOfLadder),
            Untested::Alone(found) => (!found.modes.is_empty()).then_some(Self::ModesAlone),
            Untested::NoTrial
            | Untested::NoneOk { .. }
            | Untested::NoValue
            | Untested::LoadsAlone { .. }
            | Untested::StepsAlone { .. }
            | Untested::NotPositive { .. }
            | Untested::Lacking { .. }
            | Untested::SingleTrial { .. }
            | Untested::NotRankable
            | Untested::NoSpreadSources
            | Untested::SpreadRounded { .. }
            | Untested::NoSteps => None,
        }
    }

    /// A study that may make the claim: question and layout.
    fn question_and_layout(self) -> (&'static str, Layout) {
        match self {
            Self::Moved => ("effect", Layout::Factors),
            Self::MovedAlone => ("effect", Layout::Queries),
            Self::Ranked => ("best", Layout::Choices),
            Self::RankedAlone => ("best", Layout::Queries),
            Self::RankedLevels => ("best aslr", Layout::Factors),
            Self::RankedLevelsAlone => ("best aslr", Layout::Queries),
            Self::SpreadFrom => ("spread", Layout::Factors),
            Self::Less => ("scaling", Layout::Ladder),
            Self::PooledLess => ("scaling", Layout::Grid),
            Self::InsteadOfLadder => ("scaling", Layout::Rungs),
            Self::ModesAlone => ("effect", Layout::Alone),
            Self::OneLoad => ("effect", Layout::Loads),
        }
    }

    /// Nominal rate of false claims, percent of studies (`tare_findings::confidence`).
    fn limit(self) -> f64 {
        match self {
            Self::MovedAlone | Self::RankedAlone | Self::RankedLevelsAlone => 0.5,
            Self::ModesAlone => 100.0 * MODES,
            _ => 2.0,
        }
    }

    /// Numbers of trials, distributions and drifts of studies in which it would be wrong.
    fn kinds(self) -> ([usize; 3], &'static [Shape], &'static [Drift]) {
        match self {
            // A drift or two modes are more than one mode.
            Self::ModesAlone => ([5, 10, 20], &[Shape::Normal, Shape::T3, Shape::LogNormal], &[Drift::None]),
            _ => ([3, 5, 10], &SHAPES, &DRIFTS),
        }
    }
}

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

/// Which claims a study makes, in the order of [`CLAIMS`].
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

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    claimed: [usize; 9],
    /// Any claim except the gate of two runs, which is not part of a single study.
    any: usize,
    studies: usize,
}

impl Tally {
    fn of(kind: Kind, studies: usize, seed: u64) -> Self {
        let mut rng = Draws::new(seed);
        let mut tally = Self::default();
        for i in 0..studies {
            let kind = Kind { layout: layout_of(kind, i), ..kind };
            let (results, other) = (study(&mut rng, kind, None), study(&mut rng, kind, None));
            tally.count(claims(&results, &other, &names(kind.layout)));
        }
        tally
    }

    fn count(&mut self, claims: [bool; 9]) {
        claims.iter().zip(&mut self.claimed).for_each(|(claim, count)| *count += usize::from(*claim));
        self.any += usize::from(claims[..8].contains(&true));
        self.studies += 1;
    }

    fn rate(&self, hits: usize) -> Rate {
        Rate { hits, of: self.studies }
    }

    /// How often the claim of this name was made.
    fn of_claim(&self, claim: &str) -> Rate {
        self.rate(self.claimed[CLAIMS.iter().position(|known| *known == claim).unwrap()])
    }

    fn merge(&mut self, other: &Self) {
        self.claimed.iter_mut().zip(other.claimed).for_each(|(sum, count)| *sum += count);
        self.any += other.any;
        self.studies += other.studies;
    }
}

/// Null studies use all layouts in turn; a study with a true effect uses the layout for it.
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
            let place = kinds.iter().position(|other| std::ptr::eq(other, kind)).unwrap();
            done.push((place, Tally::of(*kind, studies, 20_261_121 + place as u64)));
        }
        done
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all: Vec<(usize, Tally)> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|_| std::thread::Builder::new().spawn_scoped(scope, work).unwrap()).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, tally)| tally).collect()
}

/// Of studies that claim anything at all, `tare_findings::confidence`.
const LIMIT: Limit = Limit::AtMost(6.0);

#[test]
fn nothing_is_claimed_of_studies_without_differences() {
    let each = requested().unwrap_or(FEW);
    let mut kinds = Vec::new();
    for n in [3, 5, 10] {
        for shape in SHAPES {
            kinds.extend(DRIFTS.map(|drift| Kind { shape, drift, layout: LAYOUTS[0], n, truth: Truth::Nothing }));
        }
    }
    let (mut rows, mut all) = (Rows::default(), Tally::default());
    for (kind, tally) in kinds.iter().zip(tallies(&kinds, each)) {
        let Kind { n, shape, drift, .. } = kind;
        all.merge(&tally);
        rows.add(&format!("anything but the last: {n} trials, {shape:?}, {drift:?}"), LIMIT, tally.rate(tally.any));
    }
    rows.add("anything but the last: all", LIMIT, all.rate(all.any));
    for claim in CLAIMS {
        rows.add(&format!("of nothing: {claim}"), Limit::None, all.of_claim(claim));
    }
    rows.judge();
}

#[test]
fn nothing_is_claimed_of_studies_without_differences_on_several_machines() {
    let (each, shapes) = (requested().unwrap_or(FEW), [Shape::Normal, Shape::T3, Shape::LogNormal]);
    let (mut rows, mut all) = (Rows::default(), Tally::default());
    let mut rng = Draws::new(20_261_500);
    for machines in [2, 4] {
        for (shape, drift) in shapes.into_iter().flat_map(|shape| DRIFTS.map(|drift| (shape, drift))) {
            let mut tally = Tally::default();
            for i in 0..each {
                let kind = Kind { shape, drift, layout: LAYOUTS[i % LAYOUTS.len()], n: 4, truth: Truth::Nothing };
                // Machines vary more than trials do.
                let levels: Vec<f64> = (0..machines).map(|_| (0.04 * rng.normal()).exp()).collect();
                let [one, other] = [(); 2].map(|()| on_machines(&mut rng, kind, &levels));
                tally.count(claims(&one, &other, &names(kind.layout)));
            }
            all.merge(&tally);
            let name = format!("anything but the last: {machines} machines, {shape:?}, {drift:?}");
            rows.add(&name, LIMIT, tally.rate(tally.any));
        }
    }
    for claim in CLAIMS {
        rows.add(&format!("of nothing on several machines: {claim}"), Limit::None, all.of_claim(claim));
    }
    rows.judge();
}

/// Four placements, six allocators and one option, 240 trials: with only the contrasts of each pair of conditions, +3%
/// was found in 42%.
#[test]
fn three_percent_of_one_level_of_48_conditions_are_found_in_five_blocks() {
    let each = requested().map_or(4, |requested| requested / 20);
    let is_judged = |kind: &(&str, f64)| *kind == ("aslr=on", 0.03);
    let kinds = [("aslr=on", 0.0), ("aslr=on", 0.02), ("aslr=on", 0.03), ("p3", 0.03), ("m5", 0.03)];
    let names: Vec<String> = (0..48)
        .map(|i| format!("placement=p{} allocator=m{} aslr={}", i % 4, i / 4 % 6, ["off", "on"][i / 24]))
        .collect();
    let (mut draws, mut rows) = (Draws::new(20_261_400), Rows::default());
    for (level, gain) in kinds.into_iter().filter(|kind| requested().is_some() || is_judged(kind)) {
        let found = Rate::count(each, |_| {
            let mut trials = Vec::new();
            let mut state = draws.normal();
            for (block, order) in randomized_blocks(48, 5, draws.normal().to_bits()).into_iter().enumerate() {
                for name in order.into_iter().map(|i| &names[i]) {
                    state = 0.8 * state + 0.6 * draws.normal();
                    let own = if name.contains(level) { gain } else { 0.0 };
                    let tps = 1000.0 * (own + 0.02 * draws.normal() + 0.04 * state).exp();
                    trials.push(trial(trials.len(), block, name, tps, false));
                }
            }
            answered(&results("effect", trials)).verdict.is_claim()
        });
        let limit = match gain <= 0.0 {
            true => Limit::AtMost(2.0),
            false if is_judged(&(level, gain)) => Limit::AtLeast(75.0),
            false => Limit::None,
        };
        rows.add(&format!("4x6x2, 5 blocks, {level} +{:.0}%", 100.0 * gain), limit, found);
    }
    rows.judge();
}

#[test]
fn planted_differences_are_found() {
    let each = requested().map_or(20, |requested| (requested / 4).max(20));
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
    // Three standard deviations in ten trials must be found. `benches/truth` prints how often the others are found.
    let is_judged = |kind: &Kind| kind.n == 10 && kind.shape == Shape::Normal && kind.drift == Drift::None;
    if requested().is_none() {
        kinds.retain(is_judged);
    }
    let mut rows = Rows::default();
    for (kind, tally) in kinds.iter().zip(tallies(&kinds, each)) {
        let claim = match kind.truth {
            Truth::Nothing => continue,
            Truth::Mean => "headline",
            Truth::Spread => "source",
            Truth::Cause => "residual cause",
            Truth::Less => "retrograde",
        };
        // The spread of ten trials is harder to detect.
        let least = Limit::AtLeast(if kind.truth == Truth::Spread { 60.0 } else { 75.0 });
        let limit = if is_judged(kind) { least } else { Limit::None };
        let Kind { n, shape, drift, truth, .. } = kind;
        rows.add(&format!("{truth:?} is found: {n} trials, {shape:?}, {drift:?}"), limit, tally.of_claim(claim));
    }
    rows.judge();
}

/// How often null studies make each first claim, by their question.
fn first_claims(first: First, each: usize) -> (usize, usize) {
    let (question, layout) = first.question_and_layout();
    let mut rng = Draws::new(20_261_123 + first as u64);
    let mut found: BTreeMap<Option<First>, usize> = BTreeMap::new();
    let (sizes, shapes, drifts) = first.kinds();
    for n in sizes {
        for shape in shapes.iter().copied() {
            for drift in drifts.iter().copied() {
                let kind = Kind { shape, drift, layout, n, truth: Truth::Nothing };
                for _ in 0..each {
                    let verdict = answered(&study(&mut rng, kind, Some(question))).verdict;
                    let is_tested =
                        verdict.stated().is_tested() || matches!(verdict, Verdict::Untested(Untested::Alone(_)));
                    assert!(is_tested || n == 3, "{kind:?} {question}: {verdict:?}");
                    *found.entry(First::of(&verdict)).or_default() += 1;
                }
            }
        }
    }
    (found.get(&Some(first)).copied().unwrap_or(0), found.values().sum())
}

#[test]
fn each_first_sentence_claims_no_more_of_nothing_than_expected() {
    let each = requested().unwrap_or(FEW);
    let mut rows = Rows::default();
    for first in First::ALL.iter().copied().filter(is_selected) {
        let (hits, of) = first_claims(first, each);
        let what = format!("first, asked for {}: {first:?}", first.question_and_layout().0);
        rows.add(&what, Limit::AtMost(first.limit()), Rate { hits, of });
    }
    rows.judge();
}
