//! Values rounded to few digits: equal ones are no certainty, neither of a difference nor of equality.

use crate::rates::{Limit, Rate, Rows, requested};
use crate::simulate::{Generator, generator, normal};
use rand_distr::{Distribution, Uniform};
use tare_stats::descriptive::mean;
use tare_stats::ratio::{Arms, Better, Design, Rounding, Verdict, compare};
use tare_stats::simultaneous::{Condition, rank_rounded};

const DESIGNS: [Design<'static>; 2] = [Design::Independent, Design::Blocks];
/// A hundredth is the last digit.
const DIGIT: f64 = 0.01;

/// The samples of each trial of a side.
type Samples = Vec<Vec<f64>>;

/// Trials of a side of one metric: `n` of `samples` each, around a centre in digits, with these standard deviations
/// between trials and between the samples of one.
#[derive(Clone, Copy)]
struct Kind {
    n: usize,
    samples: usize,
    between: f64,
    within: f64,
}

impl Kind {
    fn single(n: usize, sd: f64) -> Self {
        Self { n, samples: 1, between: sd, within: 0.0 }
    }

    fn draw(self, rng: &mut Generator, centre: f64) -> Samples {
        let trial = |_| {
            let own = normal(rng, centre, self.between);
            (0..self.samples).map(|_| normal(rng, own, self.within).round() * DIGIT).collect()
        };
        (0..self.n).map(trial).collect()
    }
}

/// One metric of two sides: trial means and what rounding hides of them.
struct Sides {
    means: [Vec<f64>; 2],
    rounding: [Rounding; 2],
}

impl Sides {
    fn of(samples: [Samples; 2]) -> Self {
        let all: Vec<f64> = samples.iter().flatten().flatten().copied().collect();
        let digit = Rounding::digit(&all);
        Self {
            means: samples.each_ref().map(|side| side.iter().map(|trial| mean(trial).unwrap()).collect()),
            rounding: samples.each_ref().map(|side| Rounding::of(side.iter().map(Vec::as_slice), digit)),
        }
    }

    fn draw(rng: &mut Generator, kind: Kind, centres: [f64; 2]) -> Self {
        Self::of(centres.map(|centre| kind.draw(rng, centre)))
    }

    fn equal_values(n: usize, values: [f64; 2]) -> Self {
        Self::of(values.map(|value| vec![vec![value]; n]))
    }
}

/// Two equal sides, each with so many metrics of 10 to 20 digits, or of exactly this many.
fn equal_sides(rng: &mut Generator, kind: Kind, at: Option<f64>, metrics: usize) -> Vec<Sides> {
    let digits = Uniform::new(10.0, 20.0).unwrap();
    let of = |_| {
        let centre = at.unwrap_or_else(|| digits.sample(rng));
        Sides::draw(rng, kind, [centre; 2])
    };
    (0..metrics).map(of).collect()
}

fn verdicts(sides: &[Sides], design: Design<'_>, min_effect: f64) -> Vec<Verdict> {
    let family: Vec<Arms<'_>> = sides
        .iter()
        .map(|of| Arms { a: &of.means[0], b: &of.means[1], better: Better::Lower, design, rounding: Some(of.rounding) })
        .collect();
    compare(&family, min_effect, 0.95).unwrap().iter().map(|found| found.verdict).collect()
}

fn is_claim(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Faster | Verdict::Slower)
}

/// Whether any metric is ranked, each at its share of `rate`, as a study's answer tests metrics that move alone.
fn is_ranked(sides: &[Sides], rate: f64, blocks: bool) -> bool {
    let cell = |values: &Vec<f64>| values.iter().map(|v| v.ln()).enumerate().collect::<Condition>();
    let share = rate / sides.len() as f64;
    let of = |sides: &Sides| {
        let errors = [0, 1].map(|side| sides.rounding[side].error / mean(&sides.means[side]).unwrap());
        let cells = sides.means.each_ref().map(cell);
        rank_rounded((&cells, &errors), &[vec![0], vec![1]], share, blocks).unwrap().widest.is_some()
    };
    sides.iter().any(of)
}

/// Single samples of three spreads, and means of samples that are often equal, or that spread over several digits.
fn kinds(n: usize) -> Vec<(String, Kind)> {
    let single = [0.0, 0.3, 0.6].map(|sd| (format!("sd {sd}"), Kind::single(n, sd)));
    let several = [(2, 0.1, 0.1), (4, 0.1, 0.1), (4, 0.3, 0.3), (5, 0.05, 0.6)].map(|(samples, between, within)| {
        (format!("{samples} samples, sd {between} and {within}"), Kind { n, samples, between, within })
    });
    single.into_iter().chain(several).collect()
}

/// With a standard error of 0 taken as certainty, 81% of comparisons of 22 metrics with two trials named a difference,
/// 44% with three, and 25% of studies with three named a metric at a rate of 0.5%.
#[test]
fn equal_sides_of_rounded_values_do_not_differ() {
    let mut rng = generator(41);
    let mut rows = Rows::default();
    let studies = requested().unwrap_or(100);
    for n in [2usize, 3, 4, 5, 10] {
        for (of, kind) in kinds(n) {
            for (metrics, at) in [(1usize, None), (1, Some(12.5)), (22, None)] {
                let digits = at.map_or("10 to 20", |_| "12.5");
                let what = format!("rounded: {metrics} metrics of {digits} digits, n {n}, {of}");
                for design in DESIGNS {
                    let count = Rate::count(studies, |_| {
                        verdicts(&equal_sides(&mut rng, kind, at, metrics), design, 0.0).iter().any(is_claim)
                    });
                    rows.add(&format!("{what}, compared, {design:?}"), Limit::AtMost(5.0), count);
                }
                for blocks in [false, true] {
                    let rate = if metrics == 1 { 0.02 } else { 0.005 };
                    let count =
                        Rate::count(studies, |_| is_ranked(&equal_sides(&mut rng, kind, at, metrics), rate, blocks));
                    rows.add(&format!("{what}, ranked, blocks {blocks}"), Limit::AtMost(100.0 * rate), count);
                }
            }
        }
    }
    rows.judge();
}

#[test]
fn a_difference_of_many_digits_is_found_although_all_values_of_a_side_are_equal() {
    for n in [3usize, 10] {
        for design in DESIGNS {
            let found = |values| verdicts(&[Sides::equal_values(n, values)], design, 0.01);
            assert_eq!(found([0.10, 0.14]), [Verdict::Slower], "{design:?}, n {n}");
            assert_eq!(found([0.12, 0.13]), [Verdict::Inconclusive], "{design:?}, n {n}");
        }
        let sides = [Sides::equal_values(n, [0.10, 0.14])];
        assert!(is_ranked(&sides, 0.02, true) && is_ranked(&sides, 0.02, false), "n {n}");
    }
    let mut rng = generator(42);
    let mut rows = Rows::default();
    let several = Kind { n: 5, samples: 4, between: 0.3, within: 0.3 };
    let kinds = [
        (Kind::single(3, 0.3), 80.0),
        (Kind::single(5, 0.3), 95.0),
        (Kind::single(5, 0.6), 80.0),
        (Kind::single(10, 0.6), 95.0),
        (several, 95.0),
    ];
    for (kind, least) in kinds {
        let Kind { n, samples, between, .. } = kind;
        for design in DESIGNS {
            let found = Rate::count(requested().unwrap_or(150), |_| {
                verdicts(&[Sides::draw(&mut rng, kind, [10.2, 14.1])], design, 0.01)[0] == Verdict::Slower
            });
            let what = format!("rounded: 10.2 and 14.1 digits, n {n}, {samples} samples, sd {between}, {design:?}");
            rows.add(&what, Limit::AtLeast(least), found);
        }
    }
    rows.judge();
}

/// 11.6 and 12.4 digits differ by 6.9%; with all values equal after rounding they were equivalent within 1% in 87% of
/// comparisons with three trials, and in 63% with ten.
#[test]
fn rounded_values_are_not_equivalent_within_less_than_rounding_hides() {
    let mut rng = generator(43);
    let mut rows = Rows::default();
    for n in [3usize, 10] {
        let single = [(0.05, 0.01), (0.05, 0.06), (0.1, 0.05), (0.3, 0.05), (0.6, 0.05)]
            .map(|(sd, min_effect)| (Kind::single(n, sd), min_effect));
        let several = [(0.05, 0.01), (0.1, 0.05), (0.3, 0.05)]
            .map(|(sd, min_effect)| (Kind { n, samples: 4, between: sd, within: sd }, min_effect));
        for (kind, min_effect) in single.into_iter().chain(several) {
            for design in DESIGNS {
                let wrong = Rate::count(requested().unwrap_or(150), |_| {
                    let sides = [Sides::draw(&mut rng, kind, [11.6, 12.4])];
                    verdicts(&sides, design, min_effect)[0] == Verdict::Equivalent
                });
                let Kind { samples, between, .. } = kind;
                let what = format!(
                    "rounded: equivalent, n {n}, {samples} samples, sd {between}, within {min_effect}, {design:?}"
                );
                rows.add(&what, Limit::AtMost(5.0), wrong);
            }
        }
        // Beyond what rounding can hide, equal values are still equivalent.
        for design in DESIGNS {
            let found = |value, min_effect| verdicts(&[Sides::equal_values(n, [value; 2])], design, min_effect);
            assert_eq!(found(0.12, 0.25), [Verdict::Equivalent], "{n}");
            assert_eq!(found(123.4, 0.01), [Verdict::Equivalent], "{n}");
        }
    }
    rows.judge();
}

/// Values that are not rounded are compared as if nothing was known of rounding.
#[test]
fn values_that_are_not_rounded_lose_nothing() {
    let mut rng = generator(44);
    for n in [2usize, 3, 5, 10] {
        for design in DESIGNS {
            for _ in 0..100 {
                let side = |rng: &mut Generator, centre: f64| (0..n).map(|_| normal(rng, centre, 0.01)).collect();
                let (a, b): (Vec<f64>, Vec<f64>) = (side(&mut rng, 1.0), side(&mut rng, 1.02));
                let of =
                    |rounding| compare(&[Arms { a: &a, b: &b, better: Better::Lower, design, rounding }], 0.0, 0.95);
                assert_eq!(of(None).unwrap(), of(Some([Rounding::default(); 2])).unwrap());
            }
        }
    }
}
