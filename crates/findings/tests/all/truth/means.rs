//! How often the mean of a condition gives way to the range of its trials: where they have one mode, and where they are
//! two groups far apart.

use super::made::Shape;
use super::{Limit, Rate, Rows, requested};
use crate::draws::Draws;
use crate::made_up::{results, trial};
use tare_findings::summarize;

/// Limit up to a CoV of 10%, in percent.
const LIMIT: f64 = 2.0;

fn has_mean(values: &[f64]) -> bool {
    let trials = values.iter().enumerate().map(|(number, tps)| trial(number, number, "placement=p0", *tps, false));
    let found = summarize(&results("effect", trials.collect()));
    found.conditions[0].metrics[0].has_mean()
}

/// A condition with one mode and this standard deviation.
fn alike(draws: &mut Draws, shape: Shape, n: usize, sd: f64) -> Vec<f64> {
    // Standard deviations of `Shape::draw`.
    let unit = match shape {
        Shape::T3 => 3.0_f64.sqrt(),
        Shape::LogNormal => 1.21,
        _ => 1.0,
    };
    (0..n).map(|_| 1000.0 * (1.0 + sd * shape.draw(draws) / unit)).collect()
}

#[test]
fn trials_with_one_mode_keep_their_mean() {
    let mut rows = Rows::default();
    for shape in [Shape::Normal, Shape::T3, Shape::LogNormal] {
        for cov in [1, 2, 5, 10, 15, 20].into_iter().filter(|cov| *cov == 10 || requested().is_some()) {
            for n in [4, 5, 6, 8, 10] {
                let mut draws = Draws::new(20_261_500 + n as u64);
                let lost = Rate::count(requested().unwrap_or(20), |_| {
                    !has_mean(&alike(&mut draws, shape, n, f64::from(cov) / 100.0))
                });
                let limit = if cov <= 10 { Limit::AtMost(LIMIT) } else { Limit::None };
                rows.add(&format!("mean lost: {shape:?}, CoV {cov}%, {n} trials"), limit, lost);
            }
        }
    }
    rows.judge();
}

#[test]
fn two_groups_far_apart_have_no_mean() {
    let mut rows = Rows::default();
    let mut draws = Draws::new(20_261_600);
    for (low, n) in [(2, 4), (2, 5), (2, 6), (3, 6), (3, 8), (4, 8), (4, 10), (5, 10)] {
        let studies = requested().unwrap_or(20);
        let uniform = Rate::count(studies, |_| {
            let of = |i| if i < low { 42.0 + 5.0 * draws.uniform() } else { 74.0 + 13.0 * draws.uniform() };
            !has_mean(&(0..n).map(of).collect::<Vec<_>>())
        });
        rows.add(&format!("no mean: {low} of {n} trials 42 to 47, others 74 to 87"), Limit::AtLeast(95.0), uniform);
        for (a, b, sd) in [(44.5, 80.5, 0.07), (24.0, 37.0, 0.04)] {
            let normal = Rate::count(studies, |_| {
                let of = |i| if i < low { a } else { b } * (1.0 + sd * draws.normal());
                !has_mean(&(0..n).map(of).collect::<Vec<_>>())
            });
            let name = format!("no mean: {low} of {n} trials about {a}, others about {b}, CoV {:.0}%", 100.0 * sd);
            rows.add(&name, Limit::AtLeast(80.0), normal);
        }
    }
    rows.judge();
}
