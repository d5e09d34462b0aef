//! The universal scalability law, X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)) (Gunther, "Guerrilla Capacity
//! Planning", 2007), fitted over threads or nodes.

use super::descriptive::mean;
use super::error::{Error, all_positive, valid_confidence};
use super::interval::{Estimate, Interval};
use super::ladder::Rung;
use super::line::{dot, gram, inverse_spd, moment, times};
use super::quantiles::t_two_sided;

/// The fitted law, with intervals where they exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    /// Throughput of one thread or node.
    pub lambda: Estimate,
    /// Contention, the serial fraction.
    pub sigma: Estimate,
    /// Coherency, the cost of keeping pairs of threads or nodes consistent.
    pub kappa: Estimate,
    /// N* = sqrt((1 - sigma) / kappa), where throughput is largest; `None` when the law has no peak (kappa 0).
    pub peak: Option<f64>,
    /// Standard deviation of the points about the law, as a fraction. `None` when there are as many parameters as
    /// points.
    pub residual_cov: Option<f64>,
    /// The fit without sign constraints, on which predictions are based.
    open: Open,
}

/// The fit without sign constraints.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    /// ln lambda, sigma, kappa.
    theta: [f64; 3],
    /// Inverse of the normal equations of ln X, to be multiplied by the residual variance.
    covariance: Vec<Vec<f64>>,
    /// Its residual standard deviation and degrees of freedom.
    sd: f64,
    df: f64,
}

impl Law {
    /// Throughput that the law gives at `n`.
    pub fn at(&self, n: f64) -> f64 {
        self.lambda.value * (n / cost(n, self.sigma.value, self.kappa.value))
    }

    /// Throughput of one more trial at `n`, with its prediction interval, which includes the uncertainty of the law and
    /// the variance of a trial. It assumes that the law continues to hold, so present it as a prediction.
    ///
    /// n / X is linear in 1 / lambda, sigma / lambda and kappa / lambda. The t interval is therefore computed on that
    /// scale, where it is valid far outside the ladder, and from the fit without sign constraints; it is then cut where
    /// throughput would exceed linear scaling.
    pub fn predict(&self, n: f64, confidence: f64) -> Estimate {
        let value = self.at(n);
        let ci = self.lambda.ci.and_then(|lambda| {
            let [log_lambda, sigma, kappa] = self.open.theta;
            // In units of lambda, so that no square overflows.
            let unit = log_lambda.exp();
            let value = value / unit;
            let y = cost(n, sigma, kappa);
            let slope = [-y, n - 1.0, n * (n - 1.0)];
            let of_law = dot(&slope, &times(&self.open.covariance, &slope)).max(0.0).sqrt();
            let t = t_two_sided(confidence, self.open.df);
            let half = t * self.open.sd * of_law.hypot(n / value);
            let linear = lambda.high / unit * n * (t * self.open.sd).exp();
            let high = if y > half { (n / (y - half)).min(linear) } else { linear };
            Interval::finite((n / (y + half).max(n / value)).min(value) * unit, high.max(value) * unit)
        });
        Estimate { value, ci }
    }
}

/// One point per rung, the geometric mean of its trials, for [`fit`]. Effects of a rung (its pages, its placement) move
/// all of its trials together, so trials as separate points would overstate the evidence. Rungs with a value that is
/// not positive are left out.
pub fn rung_points(rungs: &[Rung]) -> Vec<Point> {
    let point = |rung: &Rung| {
        let usable = rung.trials.iter().all(|x| *x > 0.0);
        let logs: Vec<f64> = rung.trials.iter().map(|x| x.ln()).collect();
        Some(Point { n: rung.n, x: mean(&logs).filter(|_| usable)?.exp() })
    };
    rungs.iter().filter_map(point).collect()
}

/// Fits the law to one point per rung, see [`rung_points`].
///
/// Errors of throughput are multiplicative, so ln X is fitted by least squares, which is equivalent to weighting by 1 /
/// X^2. sigma and kappa are fixed at 0 where they would be negative (the law does not include superlinear scaling).
/// Intervals are profile likelihood: all values of a parameter for which the best fit of the others has a sum of
/// squares of at most RSS (1 + t^2 / (n - 3)). They are computed without the sign constraints, which preserves their
/// coverage near the boundary, and then cut at 0. They are absent with fewer than four points.
///
/// # Errors
/// [`Error::NotPositive`], and [`Error::TooFew`] for fewer than three different N.
pub fn fit(points: &[Point], confidence: f64) -> Result<Law, Error> {
    valid_confidence(confidence)?;
    all_positive("threads or nodes", &points.iter().map(|p| p.n).collect::<Vec<_>>())?;
    all_positive("throughput", &points.iter().map(|p| p.x).collect::<Vec<_>>())?;
    let mut ladder: Vec<f64> = points.iter().map(|p| p.n).collect();
    ladder.sort_by(f64::total_cmp);
    ladder.dedup();
    if ladder.len() < 3 {
        return Err(Error::TooFew {
            what: "different numbers of threads or nodes".into(),
            needed: 3,
            got: ladder.len(),
        });
    }
    let failed = || Error::NotFinite { what: "fit of the scalability law".into() };
    let open = minimise(points, [None; 3]).ok_or_else(failed)?;
    let best = constrained(points, &open).ok_or_else(failed)?;

    let df = points.len() as f64 - 3.0;
    let limit = open.rss * (1.0 + t_two_sided(confidence, df.max(1.0)).powi(2) / df);
    let interval = |j: usize| if df > 0.0 { profile(points, &open, j, limit) } else { None };
    let estimate = |j: usize| {
        let value = best.theta[j];
        // The point estimate is from the constrained fit and must not fall outside.
        let ci = interval(j).map(|i| Interval { low: i.low.max(0.0).min(value), high: i.high.max(value) });
        Estimate { value, ci }
    };
    let lambda = Estimate {
        value: best.theta[0].exp(),
        ci: interval(0).and_then(|i| Interval::finite(i.low.min(best.theta[0]).exp(), i.high.max(best.theta[0]).exp())),
    };
    if !lambda.value.is_normal() {
        return Err(failed());
    }
    let (sigma, kappa) = (estimate(1), estimate(2));
    let peak = (kappa.value > 0.0 && sigma.value < 1.0).then(|| ((1.0 - sigma.value) / kappa.value).sqrt());
    let residual_cov = (df > 0.0).then(|| (best.rss / df).sqrt());
    let covariance = covariance(points, &open.theta).ok_or_else(failed)?;
    let open = Open { theta: open.theta, covariance, sd: (open.rss / df).sqrt(), df };
    Ok(Law { lambda, sigma, kappa, peak, residual_cov, open })
}

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Threads or nodes of this rung.
    pub n: f64,
    /// Throughput, the mean of its trials.
    pub x: f64,
}

/// Inverse of the normal equations of ln X with all three parameters free.
fn covariance(points: &[Point], theta: &[f64; 3]) -> Option<Vec<Vec<f64>>> {
    let rows: Vec<Vec<f64>> = points.iter().map(|p| gradient(p.n, theta[1], theta[2]).to_vec()).collect();
    inverse_spd(&gram(&rows, &vec![1.0; rows.len()]))
}

/// 1 + sigma (n - 1) + kappa n (n - 1).
pub(crate) fn cost(n: f64, sigma: f64, kappa: f64) -> f64 {
    1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)
}

/// Derivatives of ln X with respect to ln lambda, sigma and kappa.
fn gradient(n: f64, sigma: f64, kappa: f64) -> [f64; 3] {
    let d = cost(n, sigma, kappa);
    [1.0, -(n - 1.0) / d, -n * (n - 1.0) / d]
}

fn pick(values: &[f64; 3], which: &[usize]) -> Vec<f64> {
    which.iter().map(|&j| values[j]).collect()
}

/// ln lambda, sigma, kappa and the sum of squares of ln X about the law.
pub(crate) struct Minimum {
    pub theta: [f64; 3],
    pub rss: f64,
}

/// Residuals of ln X; `None` when the law is not positive at a point.
pub(crate) fn residuals(points: &[Point], theta: &[f64; 3]) -> Option<Vec<f64>> {
    let one = |p: &Point| {
        let d = cost(p.n, theta[1], theta[2]);
        (d > 0.0).then(|| p.x.ln() - theta[0] - p.n.ln() + d.ln())
    };
    points.iter().map(one).collect()
}

/// Least squares in the parameters that are not held, by Levenberg-Marquardt with Marquardt's scaling. Implemented
/// here, because three parameters of which some are held take less code than the interface of a solver.
fn minimise(points: &[Point], held: [Option<f64>; 3]) -> Option<Minimum> {
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
fn constrained(points: &[Point], open: &Minimum) -> Option<Minimum> {
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
pub(crate) fn profile(points: &[Point], open: &Minimum, j: usize, limit: f64) -> Option<Interval> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn law(lambda: f64, sigma: f64, kappa: f64, ladder: &[f64]) -> Vec<Point> {
        ladder.iter().map(|&n| Point { n, x: lambda * n / cost(n, sigma, kappa) }).collect()
    }

    #[test]
    fn an_exact_law_is_recovered() {
        let points = law(995.6, 0.02671, 0.000769, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        let f = fit(&points, 0.95).unwrap();
        assert!((f.lambda.value - 995.6).abs() < 1e-5);
        assert!((f.sigma.value - 0.02671).abs() < 1e-9 && (f.kappa.value - 0.000769).abs() < 1e-10);
        assert!((f.peak.unwrap() - (0.97329f64 / 0.000769).sqrt()).abs() < 1e-4);
        assert!((f.at(128.0) - law(995.6, 0.02671, 0.000769, &[128.0])[0].x).abs() < 1e-4);
    }

    #[test]
    fn three_points_give_the_law_without_intervals() {
        let f = fit(&law(100.0, 0.05, 0.01, &[1.0, 2.0, 4.0]), 0.95).unwrap();
        assert!((f.kappa.value - 0.01).abs() < 1e-9);
        assert_eq!((f.kappa.ci, f.residual_cov, f.predict(8.0, 0.95).ci), (None, None, None));
    }

    #[test]
    fn superlinear_throughput_stays_at_the_boundary() {
        let points: Vec<Point> = [(1.0, 100.0), (2.0, 215.0), (4.0, 440.0), (8.0, 900.0), (16.0, 1800.0)]
            .map(|(n, x)| Point { n, x })
            .into();
        let f = fit(&points, 0.95).unwrap();
        assert_eq!((f.sigma.value, f.kappa.value >= 0.0), (0.0, true));
        let ci = f.sigma.ci.unwrap();
        assert!(ci.low == 0.0 && ci.contains(0.0), "{ci:?}");
        assert!(f.predict(32.0, 0.95).ci.unwrap().contains(3600.0));
    }

    /// An independent search: no point of a fine grid around the minimum has a smaller sum of squares, and the profile
    /// limits are where the best of the grid exceeds the limit.
    #[test]
    fn the_minimum_and_the_profile_agree_with_a_grid() {
        let noise = [1.03, 0.96, 1.01, 1.05, 0.97, 0.99, 1.02, 0.98];
        let ladder = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0];
        let mut points = law(50.0, 0.06, 0.002, &ladder);
        points.iter_mut().zip(noise).for_each(|(p, e)| p.x *= e);
        let f = fit(&points, 0.95).unwrap();
        // For given sigma and kappa the best ln lambda is the mean residual, so RSS is a sum about a mean.
        let rss = |s: f64, k: f64| {
            let Some(r) = residuals(&points, &[0.0, s, k]) else { return f64::INFINITY };
            let m = r.iter().sum::<f64>() / r.len() as f64;
            r.iter().map(|v| (v - m).powi(2)).sum::<f64>()
        };
        let best = rss(f.sigma.value, f.kappa.value);
        for i in -100..=100 {
            for j in -100..=100 {
                let (s, k) = (f.sigma.value + 1e-4 * f64::from(i), f.kappa.value + 1e-6 * f64::from(j));
                assert!(rss(s, k) >= best * (1.0 - 1e-12));
            }
        }
        let limit = best * (1.0 + t_two_sided(0.95, 5.0).powi(2) / 5.0);
        for bound in [f.kappa.ci.unwrap().low, f.kappa.ci.unwrap().high] {
            let smallest = (0..40_000).map(|i| rss(-0.2 + 2e-5 * f64::from(i), bound)).fold(f64::INFINITY, f64::min);
            assert!((smallest / limit - 1.0).abs() < 1e-3, "{smallest} {limit}");
        }
    }

    #[test]
    fn unusable_points_are_named() {
        assert!(matches!(fit(&law(1.0, 0.1, 0.1, &[1.0, 2.0, 2.0]), 0.95), Err(Error::TooFew { .. })));
        let zero = [1.0, 2.0, 3.0].map(|n| Point { n, x: 0.0 });
        assert!(matches!(fit(&zero, 0.95), Err(Error::NotPositive { .. })));
    }
}
