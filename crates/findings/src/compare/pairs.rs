//! Values of the metrics that A and B share, and how they can be compared.

use super::matching::Run;
use super::model::{ConditionPair, MetricComparison, Side};
use crate::collect::{self, ConditionTrials, host, in_blocks};
use crate::confidence::CONFIDENCE;
use crate::residuals::SEED;
use crate::{probes, rounding, state};
use tare_results::metric;
use tare_results::probe::Probe;
use tare_stats::control::{self, Arm};
use tare_stats::ratio::{Arms, Basis, Better, Design, Levelled, Rounding, Verdict, by_machine};
use tare_stats::serial::{self, RunOrder};

/// The trial means of one metric on both sides.
#[derive(Clone)]
pub(super) struct Values {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub design: Design<'static>,
    /// The design of the residuals after adjustment by a probe; without a probe, equal to `design`.
    left: Design<'static>,
    /// Whether consecutive trials of the verdict's data are shown to be correlated.
    pub drifted: bool,
    /// Two runs: the largest correlation of neighbours that they do not exclude, and the design with it.
    pub unseen: Option<(f64, Design<'static>)>,
    /// The probe's readings alongside the trials of A and of B, if they adjust the comparison.
    pub probes: Option<[Vec<f64>; 2]>,
    /// What rounding hides of A and of B.
    rounding: [Rounding; 2],
    /// Number of machines that two runs share, whose levels were removed, and the factor on variances for it.
    machines: Option<(usize, f64)>,
}

/// The largest correlation of neighbouring trials that is considered; runs of fewer than [`LONG`] trials exclude none.
const UNSEEN: f64 = 0.8;
const LONG: usize = 10;

/// The two sides with the largest possible effect of the disturbance, for each direction of a claim.
pub(super) struct Bounded {
    /// A as measured, B corrected: if B is still slower, it is slower.
    pub against_slower: Values,
    /// A corrected, B as measured: if B is still faster, it is faster.
    pub against_faster: Values,
    /// The largest share of the time of a disturbed trial that other processes took, of A and of B.
    pub taken: [f64; 2],
}

pub(super) struct Pair {
    pub comparison: MetricComparison,
    pub all: Values,
    /// The undisturbed trials; none if no trial was disturbed.
    pub clean: Option<Values>,
    /// The values with the largest possible effect of the measured disturbance; none if it has no bound.
    pub bounded: Option<Bounded>,
    /// The probe that adjusts the pair, if readings exist.
    pub probe: Option<Probe>,
}

impl Pair {
    /// The data that verdicts are based on: adjusted by the probe if declared in advance.
    pub(crate) fn arms<'p>(&self, values: &'p Values) -> Arms<'p> {
        let plain = self.plain(values);
        match &values.probes {
            Some([a, b]) => Arms { design: Design::Probed { probes: [a, b], trials: &values.left }, ..plain },
            None => plain,
        }
    }

    /// The probe's own readings, if they adjust the comparison.
    pub(crate) fn probe_arms<'p>(&self, values: &'p Values) -> Option<Arms<'p>> {
        let [a, b] = values.probes.as_ref()?;
        let design = match values.design {
            Design::Apart(_) => Design::Apart(drift_of([a, b]).0),
            together => together,
        };
        Some(Arms { a, b, better: Better::Lower, design, rounding: None })
    }

    /// Ratio of the width of the verdict's interval to that for independent trials.
    pub(crate) fn widened(&self) -> f64 {
        let values = &self.all;
        let Design::Apart(_) = values.left else { return 1.0 };
        let design = Design::Apart([values.machines.map_or(1.0, |(_, factor)| factor); 2]);
        let independent = Values { left: design, design, ..values.clone() };
        let width = |values: &Values| {
            let found = self.arms(values).effect(CONFIDENCE).ok()?.estimate();
            found.ci.map(|ci| ci.width()).filter(|width| *width > 0.0)
        };
        width(values).zip(width(&independent)).map_or(1.0, |(found, independent)| found / independent)
    }

    /// The values of two runs as if neighbours had the correlation [`Values::unseen`]; other values unchanged.
    pub(crate) fn if_drifted(&self) -> Values {
        Values { design: self.all.unseen.map_or(self.all.design, |(_, design)| design), ..self.all.clone() }
    }

    /// The data of the unadjusted interval that is shown alongside.
    pub(crate) fn plain<'p>(&self, values: &'p Values) -> Arms<'p> {
        Arms {
            a: &values.a,
            b: &values.b,
            better: self.comparison.better,
            design: values.design,
            rounding: Some(values.rounding),
        }
    }

    /// The values least favourable to a verdict, with the share of time taken; none if the disturbance has no bound.
    pub(crate) fn against(&self, verdict: Verdict) -> Option<(&Values, f64)> {
        let bounded = self.bounded.as_ref()?;
        match verdict {
            Verdict::Slower => Some((&bounded.against_slower, bounded.taken[1])),
            Verdict::Faster => Some((&bounded.against_faster, bounded.taken[0])),
            Verdict::Equivalent | Verdict::Inconclusive => None,
        }
    }

    /// The values without disturbed trials: all values if none was disturbed.
    pub(crate) fn undisturbed(&self) -> &Values {
        self.clean.as_ref().unwrap_or(&self.all)
    }
}

/// P-value up to which drift between two runs is shown.
const SHOWN: f64 = 0.05;

/// The inflation of the variance of each run's mean compared with independent trials, from the values themselves, and
/// whether consecutive values are shown to be correlated.
fn drift_of(runs: [&[f64]; 2]) -> ([f64; 2], bool) {
    let found = serial::of_runs(&runs, SEED);
    (runs.map(|run| found.map_or(1.0, |order| order.inflation(run.len()))), shown(found))
}

fn shown(order: Option<RunOrder>) -> bool {
    order.is_some_and(|order| order.p_value <= SHOWN)
}

/// The origin of the trials of A and B: the same blocks of one run, two consecutive runs, or unknown.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    together: bool,
    /// Serial correlation of the trials, from both runs together.
    order: Option<RunOrder>,
    /// As `Order::among` of its run, if the order of its trials is known.
    trials: [Option<usize>; 2],
    /// The probe that both studies declared in advance for adjusting comparisons.
    probe: Option<Probe>,
    /// The largest correlation of neighbours that the runs do not exclude.
    unseen: f64,
}

/// How far apart trials of one condition ran, in trials: between them, trials of other conditions ran.
fn apart(all: usize, n: usize, machines: usize) -> f64 {
    all as f64 / (n * machines).max(1) as f64
}

/// Minimum number of trials per side for an adjustment: with fewer the slope is mostly chance.
const FEWEST_PROBED: usize = 4;

impl Origin {
    pub(crate) fn of(a: (Side<'_>, &Run<'_>), b: (Side<'_>, &Run<'_>)) -> Self {
        let adjusts = |side: Side<'_>| probes::declared(side.results).adjusts();
        let together = std::ptr::eq(a.0.results, b.0.results);
        let orders = [a.1, b.1].map(|run| run.order.as_ref());
        let known: Vec<&[f64]> = orders.iter().flatten().flat_map(|order| &order.series).map(Vec::as_slice).collect();
        let short = known.iter().any(|run| run.len() < LONG);
        Self {
            together,
            unseen: if together || short { UNSEEN } else { serial::not_excluded(&known, UNSEEN) },
            order: if together { None } else { serial::of_runs(&known, SEED) },
            trials: orders.map(|order| order.map(|order| order.among)),
            probe: adjusts(a.0).filter(|probe| adjusts(b.0) == Some(*probe)),
        }
    }

    pub(crate) fn probe(&self) -> Option<Probe> {
        self.probe
    }

    pub(crate) fn together(&self) -> bool {
        self.together
    }

    /// Values of both sides, with the probe's readings if `adjusted` and every trial has one.
    fn values(&self, a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, metric: &str, adjusted: bool) -> Values {
        let mut values = self.plain_values(a, b, metric);
        let enough = values.a.len().min(values.b.len()) >= FEWEST_PROBED;
        let positive = values.a.iter().chain(&values.b).all(|v| *v > 0.0);
        let probe = self.probe.filter(|_| adjusted && enough && positive);
        values.probes = probe.and_then(|probe| {
            let [of_a, of_b] = [a, b].map(|side| probes::readings(side, metric, probe));
            let (of_a, of_b) = (of_a?, of_b?);
            if values.design != Design::Blocks {
                return Some([of_a, of_b]);
            }
            let numbered = |side: &ConditionTrials<'_>, readings: Vec<f64>| -> Vec<(usize, f64)> {
                side.numbered(metric).into_iter().map(|(block, _)| block).zip(readings).collect()
            };
            let (of_a, of_b) = tare_stats::ratio::by_block(&numbered(a, of_a), &numbered(b, of_b))?;
            Some([of_a, of_b])
        });
        if let (Design::Apart(_), Some([of_a, of_b])) = (values.design, &values.probes) {
            // Adjustment by the probe also removes the drift that the probe follows.
            let arms = [(&values.a, of_a), (&values.b, of_b)].map(|(metric, probe)| Arm { metric, probe });
            let left = control::residuals(&arms[0], &arms[1]).unwrap_or_default();
            let (inflation, drifted) = drift_of([&left[0], &left[1]]);
            let known = |side: usize| self.trials[side].map_or(1.0, |_| inflation[side]);
            (values.left, values.drifted) = (Design::Apart([known(0), known(1)]), drifted);
        }
        if values.probes.is_none() && !self.together {
            self.without_machines([a, b], metric, &mut values);
        }
        values
    }

    /// Removes the levels of the machines that two runs share: the same machines ran trials of both.
    fn without_machines(&self, sides: [&ConditionTrials<'_>; 2], metric: &str, values: &mut Values) {
        let mut known: Vec<&str> = Vec::new();
        let [a, b] = sides.map(|side| -> Vec<(usize, f64)> {
            let placed = side.with(metric).into_iter().map(|(trial, value)| {
                let own = host(trial);
                let place = known.iter().position(|other| *other == own).unwrap_or_else(|| {
                    known.push(own);
                    known.len() - 1
                });
                (place, value)
            });
            placed.collect()
        });
        let Some(Levelled { arms: [of_a, of_b], basis, machines }) = by_machine([&a, &b]) else { return };
        (values.a, values.b) = (of_a, of_b);
        let Basis::Trials(inflation) = basis else {
            (values.design, values.left, values.unseen) = (Design::Blocks, Design::Blocks, None);
            values.machines = Some((machines, 1.0));
            return;
        };
        let n = [a.len(), b.len()].map(|n| n.div_ceil(machines));
        // Neighbours are those of one machine, which has its part of the trials.
        let found = self.inflations(n, machines);
        let times = |design: [f64; 2]| Design::Apart(design.map(|own| own * inflation));
        values.unseen = self.unseen(n, machines, found).map(|(most, design)| (most, times(design)));
        values.machines = Some((machines, inflation));
        values.design = times(found);
        values.left = values.design;
    }

    /// The largest correlation of neighbours that two runs of `n` trials of a condition on each machine do not exclude,
    /// with its inflations; `inflations` are those that the runs show.
    fn unseen(&self, n: [usize; 2], machines: usize, inflations: [f64; 2]) -> Option<(f64, [f64; 2])> {
        let order = RunOrder { correlation: self.unseen, p_value: 1.0, trials: 0 };
        let [Some(of_a), Some(of_b)] = self.trials else { return None };
        let all = [of_a, of_b];
        let inflation = |side: usize| {
            let apart = apart(all[side], n[side], machines);
            order.inflation_apart(n[side].max(2), apart).max(inflations[side])
        };
        (!self.together).then(|| (self.unseen, [inflation(0), inflation(1)]))
    }

    fn plain_values(&self, a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, metric: &str) -> Values {
        let rounding = rounding::of_sides([a, b], metric);
        let of = |(a, b): (Vec<f64>, Vec<f64>), design: Design<'static>| Values {
            rounding,
            a,
            b,
            design,
            left: design,
            drifted: shown(self.order),
            unseen: None,
            probes: None,
            machines: None,
        };
        if let Some(both) = in_blocks(a, b, metric).filter(|_| self.together) {
            return of(both, Design::Blocks);
        }
        let means = |side: &ConditionTrials<'_>| side.means(metric);
        let (a, b) = (means(a), means(b));
        let n = [a.len(), b.len()];
        let unseen = self.unseen(n, 1, self.inflations(n, 1)).map(|(most, design)| (most, Design::Apart(design)));
        Values { unseen, ..of((a, b), self.design(n)) }
    }

    /// The design of `n` trials of a condition each that are not paired by blocks.
    pub(crate) fn design(&self, n: [usize; 2]) -> Design<'static> {
        if self.together { Design::Independent } else { Design::Apart(self.inflations(n, 1)) }
    }

    /// For `n` trials of a condition on each of so many machines.
    fn inflations(&self, n: [usize; 2], machines: usize) -> [f64; 2] {
        [0, 1].map(|side| match (self.order, self.trials[side]) {
            (Some(order), Some(all)) => order.inflation_apart(n[side].max(2), apart(all, n[side], machines)),
            _ => 1.0,
        })
    }
}

pub(super) fn metrics_of(
    a: &ConditionTrials<'_>,
    b: &ConditionTrials<'_>,
    origin: Origin,
    adjusted: bool,
) -> Vec<Pair> {
    let condition = ConditionPair { a: a.name.to_owned(), b: b.name.to_owned() };
    let disturbed = !(a.disturbed().is_empty() && b.disturbed().is_empty());
    let clean = disturbed.then(|| (a.clean(), b.clean()));
    let taken = state::most_taken(a.disturbed())
        .zip(state::most_taken(b.disturbed()))
        .map(|(a, b)| [a, b])
        .filter(|_| disturbed);
    let in_b = b.metrics();
    let shared = a.metrics().into_iter().filter(|name| in_b.contains(name));
    shared
        .map(|name| {
            let all = origin.values(a, b, &name, adjusted);
            let described = metric::describe(&name);
            let mean = |values: &[f64]| collect::mean(values).unwrap_or(0.0);
            let comparison = MetricComparison {
                condition: condition.clone(),
                unit: described.unit,
                better: described.better,
                mean_a: mean(&all.a),
                mean_b: mean(&all.b),
                modes_a: Vec::new(),
                modes_b: Vec::new(),
                trials_a: all.a.len(),
                trials_b: all.b.len(),
                ratio: None,
                ci: None,
                difference: None,
                adjusted: None,
                beyond: None,
                verdict: Verdict::Inconclusive,
                judged: false,
                disturbed,
                withheld: false,
                paired: all.design == Design::Blocks,
                left_out: match all.machines {
                    Some(_) => 0,
                    None => a.means(&name).len() + b.means(&name).len() - all.a.len() - all.b.len(),
                },
                one_run: origin.together(),
                fails_gate: false,
                machines: all.machines.map(|(machines, _)| machines),
                name: name.clone(),
            };
            let clean = clean.as_ref().map(|(a, b)| origin.values(a, b, &name, adjusted));
            let bounded = taken.filter(|_| state::taken_applies(&name)).map(|taken| Bounded {
                against_slower: origin.values(a, &b.at_best(), &name, adjusted),
                against_faster: origin.values(&a.at_best(), b, &name, adjusted),
                taken,
            });
            Pair { comparison, all, clean, bounded, probe: origin.probe() }
        })
        .collect()
}
