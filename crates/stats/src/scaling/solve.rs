//! Least squares on ln X: Levenberg-Marquardt, sign constraints, profile likelihood.

use crate::interval::Interval;
use crate::linear::{dot, gram, inverse_spd, moment, times};

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Threads or nodes of this rung.
    pub n: f64,
    /// Throughput, the mean of its trials.
    pub x: f64,
}

/// Inverse of the normal equations of ln X with all three parameters free.
pub(super) fn covariance(points: &[Point], theta: &[f64; 3]) -> Option<Vec<Vec<f64>>> {
    let rows: Vec<Vec<f64>> = points.iter().map(|p| gradient(p.n, theta[1], theta[2]).to_vec()).collect();
    inverse_spd(&gram(&rows, &vec![1.0; rows.len()]))
}

/// 1 + sigma (n - 1) + kappa n (n - 1).
pub(super) fn cost(n: f64, sigma: f64, kappa: f64) -> f64 {
    1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)
}

/// Derivatives of ln X with respect to ln lambda, sigma and kappa.
pub(super) fn gradient(n: f64, sigma: f64, kappa: f64) -> [f64; 3] {
    let d = cost(n, sigma, kappa);
    [1.0, -(n - 1.0) / d, -n * (n - 1.0) / d]
}

fn pick(values: &[f64; 3], which: &[usize]) -> Vec<f64> {
    which.iter().map(|&j| values[j]).collect()
}

/// ln lambda, sigma, kappa and the sum of squares of ln X about the law.
pub(super) struct Minimum {
    pub theta: [f64; 3],
    pub rss: f64,
}

/// Residuals of ln X; `None` when the law is not positive at a point.
pub(super) fn residuals(points: &[Point], theta: &[f64; 3]) -> Option<Vec<f64>> {
    let one = |p: &Point| {
        let d = cost(p.n, theta[1], theta[2]);
        (d > 0.0).then(|| p.x.ln() - theta[0] - p.n.ln() + d.ln())
    };
    points.iter().map(one).collect()
}

/// Least squares in the parameters that are not held, by Levenberg-Marquardt with Marquardt's scaling. Implemented
/// here, because three parameters of which some are held take less code than the interface of a solver.
pub(super) fn minimise(points: &[Point], held: [Option<f64>; 3]) -> Option<Minimum> {
    minimise_from(points, held, start(points, held)?)
}

fn minimise_from(points: &[Point], held: [Option<f64>; 3], start: [f64; 3]) -> Option<Minimum> {
    let free: Vec<usize> = (0..3).filter(|&j| held[j].is_none()).collect();
    let mut theta = start;
    let mut r = residuals(points, &theta)?;
    let mut rss = dot(&r, &r);
    let mut damping = 1e-6;
    for _ in 0..200 {
        let rows: Vec<Vec<f64>> = points.iter().map(|p| pick(&gradient(p.n, theta[1], theta[2]), &free)).collect();
        let ones = vec![1.0; rows.len()];
        let slope = moment(&rows, &ones, &r);
        let normal = gram(&rows, &ones);
        let mut damped = normal.clone();
        (0..free.len()).for_each(|i| damped[i][i] *= 1.0 + damping);
        let step = times(&inverse_spd(&damped)?, &slope);
        let mut next = theta;
        free.iter().zip(&step).for_each(|(&j, s)| next[j] += s);
        let tried = residuals(points, &next).map(|r| (dot(&r, &r), r));
        match tried {
            Some((value, residual)) if value <= rss => {
                let gain = rss - value;
                (theta, rss, r) = (next, value, residual);
                damping = (damping / 10.0).max(1e-12);
                if gain <= 1e-13 * rss {
                    break;
                }
            }
            _ if damping > 1e10 => break,
            _ => damping *= 10.0,
        }
    }
    (rss.is_finite() && theta.iter().all(|v| v.is_finite())).then_some(Minimum { theta, rss })
}

/// N / X is linear in 1 / lambda, sigma / lambda and kappa / lambda: weighted linear least squares gives the start, or
/// the law without contention if that start is not positive everywhere.
fn start(points: &[Point], held: [Option<f64>; 3]) -> Option<[f64; 3]> {
    let rows: Vec<Vec<f64>> = points.iter().map(|p| vec![1.0, p.n - 1.0, p.n * (p.n - 1.0)]).collect();
    // In units of the largest, so that no square overflows: only ratios of the solution are used.
    let unit = points.iter().map(|p| p.x).fold(0.0, f64::max);
    let weights: Vec<f64> = points.iter().map(|p| (p.x / unit / p.n).powi(2)).collect();
    let y: Vec<f64> = points.iter().map(|p| p.n / (p.x / unit)).collect();
    let linear = inverse_spd(&gram(&rows, &weights)).map(|inverse| times(&inverse, &moment(&rows, &weights, &y)));
    let mut theta = match linear {
        Some(b) if b[0] > 0.0 => [0.0, b[1] / b[0], b[2] / b[0]],
        _ => [0.0; 3],
    };
    (1..3).for_each(|j| theta[j] = held[j].unwrap_or(theta[j]));
    if points.iter().any(|p| cost(p.n, theta[1], theta[2]) <= 0.0) {
        theta = [0.0, held[1].unwrap_or(0.0), held[2].unwrap_or(0.0)];
    }
    let offset = residuals(points, &theta)?;
    theta[0] = held[0].unwrap_or(offset.iter().sum::<f64>() / offset.len() as f64);
    Some(theta)
}

/// The best fit with sigma and kappa at least 0: the unconstrained one if it satisfies this, else the best of those
/// with one or both at 0.
pub(super) fn constrained(points: &[Point], open: &Minimum) -> Option<Minimum> {
    if open.theta[1] >= 0.0 && open.theta[2] >= 0.0 {
        return Some(Minimum { theta: open.theta, rss: open.rss });
    }
    [[None, Some(0.0), None], [None, None, Some(0.0)], [None, Some(0.0), Some(0.0)]]
        .into_iter()
        .filter_map(|held| minimise(points, held))
        .filter(|m| m.theta[1] >= 0.0 && m.theta[2] >= 0.0)
        .min_by(|a, b| a.rss.total_cmp(&b.rss))
}

/// The interval of parameter `j` within which the best fit stays within `limit`, by stepping out from the minimum and
/// bisection. `None` when on one side the limit is not reached before the law breaks down.
pub(super) fn profile(points: &[Point], open: &Minimum, j: usize, limit: f64) -> Option<Interval> {
    let covariance = covariance(points, &open.theta)?;
    let width = (covariance[j][j] * (limit - open.rss)).sqrt();
    if width == 0.0 {
        return Interval::finite(open.theta[j], open.theta[j]);
    }
    let within = |value: f64| {
        let mut held = [None; 3];
        held[j] = Some(value);
        let mut near = open.theta;
        near[j] = value;
        // Starts from the unconstrained minimum if the law is positive there, else from its own start.
        let found = minimise_from(points, held, near).or_else(|| minimise(points, held));
        found.is_some_and(|m| m.rss <= limit)
    };
    let side = |direction: f64| {
        let (mut inside, mut step) = (open.theta[j], direction * width);
        let mut outside = inside + step;
        let mut tries = 0;
        while within(outside) {
            inside = outside;
            step *= 1.5;
            outside += step;
            tries += 1;
            if tries > 60 {
                return f64::NAN;
            }
        }
        // 14 halvings place the bound to within 1e-4 of the width.
        for _ in 0..14 {
            let middle = f64::midpoint(inside, outside);
            if within(middle) { inside = middle } else { outside = middle }
        }
        inside
    };
    Interval::finite(side(-1.0), side(1.0))
}
