//! A ratio adjusted by a control variate: a probe that is measured with each trial and that the treatment cannot
//! affect.

use crate::descriptive::mean;
use crate::error::{Error, all_positive, valid_confidence};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t_two_sided;
use crate::ratio::fewer;

/// The trials of one side: a metric and the probe of the same trials.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'a> {
    /// Trial means of the metric.
    pub metric: &'a [f64],
    /// Trial means of the probe, one for each trial.
    pub probe: &'a [f64],
}

/// Fewest trials per side: with fewer the slope is mostly noise.
const FEWEST: usize = 4;

/// The contribution of one side: logarithms minus their means.
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

/// The logarithm of a ratio, its standard error and its degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogRatio {
    pub value: f64,
    pub se: f64,
    pub df: f64,
}

impl LogRatio {
    fn estimate(&self, confidence: f64) -> Result<Estimate, Error> {
        let half = if self.se > 0.0 { t_two_sided(confidence, self.df) * self.se } else { 0.0 };
        let ci = Interval::finite((self.value - half).exp(), (self.value + half).exp());
        match self.value.exp() {
            value if value.is_normal() => Ok(Estimate { value, ci }),
            _ => Err(Error::NotFinite { what: "what is left with the probe taken out".into() }),
        }
    }

    /// For two independent arms; `inflation` is the factor by which the variance of each arm's mean exceeds that of
    /// independent trials.
    pub(crate) fn of_arms(a: &Arm<'_>, b: &Arm<'_>, inflation: [f64; 2]) -> Result<Self, Error> {
        let sides = [Side::of("A", a)?, Side::of("B", b)?];
        let sxx = varies(sides[0].sxx + sides[1].sxx)?;
        let slope = (sides[0].sxy() + sides[1].sxy()) / sxx;
        let moved = sides[1].centre[0] - sides[0].centre[0];
        let value = sides[1].centre[1] - sides[0].centre[1] - slope * moved;
        let (mut variance, mut by_df) = (0.0, 0.0);
        for (side, inflation) in sides.iter().zip(inflation) {
            // The slope takes half a degree of freedom from each side.
            let (n, df) = (side.y.len() as f64, side.y.len() as f64 - 1.5);
            let left: f64 = side.x.iter().zip(&side.y).map(|(x, y)| (y - slope * x).powi(2)).sum();
            let own = inflation * left / df * (1.0 / n + moved * moved * side.sxx / (sxx * sxx));
            variance += own;
            by_df += own * own / fewer(df, inflation);
        }
        let df = if by_df > 0.0 { variance * variance / by_df } else { f64::INFINITY };
        Ok(Self { value, se: variance.sqrt(), df })
    }

    /// For two arms whose trials are paired by block: the differences within blocks are regressed on those of the
    /// probe, and evaluated where the probe's difference is 0, its known expectation (Lavenberg & Welch 1981, the
    /// control's mean known to be 0).
    pub(crate) fn of_blocks(a: &Arm<'_>, b: &Arm<'_>) -> Result<Self, Error> {
        // `Side::of` checks the values; the centres are added back below.
        let sides = [Side::of("A", a)?, Side::of("B", b)?];
        if sides[0].y.len() != sides[1].y.len() {
            let (expected, got) = (sides[0].y.len(), sides[1].y.len());
            return Err(Error::Mismatch { what: "blocks of B".into(), expected, got });
        }
        let moved = sides[1].centre[0] - sides[0].centre[0];
        let difference = |of: fn(&Side) -> &Vec<f64>| -> Vec<f64> {
            of(&sides[1]).iter().zip(of(&sides[0])).map(|(b, a)| b - a).collect()
        };
        let line = LeastSquares::of(&difference(|side| &side.x), &difference(|side| &side.y))?;
        let value = sides[1].centre[1] - sides[0].centre[1] - line.slope * moved;
        Ok(Self { value, se: line.se_at(moved), df: line.df })
    }
}

/// Residuals of each side after fitting one slope for both, on logarithms and about 0, in the order of the trials. The
/// autocorrelation of *these* determines how much an adjusted interval is widened, because the drift that the probe
/// explains is removed from them.
///
/// # Errors
/// As [`adjusted`].
pub fn residuals(a: &Arm<'_>, b: &Arm<'_>) -> Result<[Vec<f64>; 2], Error> {
    let sides = [Side::of("A", a)?, Side::of("B", b)?];
    let slope = (sides[0].sxy() + sides[1].sxy()) / varies(sides[0].sxx + sides[1].sxx)?;
    Ok(sides.map(|side| side.x.iter().zip(&side.y).map(|(x, y)| y - slope * x).collect()))
}

/// Least-squares fit of centred points.
struct LeastSquares {
    slope: f64,
    sxx: f64,
    /// Residual variance, with `df` degrees of freedom.
    left: f64,
    n: f64,
    df: f64,
}

impl LeastSquares {
    fn of(x: &[f64], y: &[f64]) -> Result<Self, Error> {
        let sxx = varies(x.iter().map(|x| x * x).sum())?;
        let slope = x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>() / sxx;
        let (n, df) = (y.len() as f64, y.len() as f64 - 2.0);
        let left = x.iter().zip(y).map(|(x, y)| (y - slope * x).powi(2)).sum::<f64>() / df;
        Ok(Self { slope, sxx, left, n, df })
    }

    /// Standard error of the line at this distance from the centre.
    fn se_at(&self, away: f64) -> f64 {
        (self.left * (1.0 / self.n + away * away / self.sxx)).sqrt()
    }
}

fn varies(sxx: f64) -> Result<f64, Error> {
    match sxx > 0.0 {
        true => Ok(sxx),
        false => Err(Error::NotPositive { what: "variance of the probe".into(), value: sxx }),
    }
}

/// Ratio of the geometric means of B and A after removing what the probe explains: one slope for both sides on
/// logarithms, a separate residual variance for each, Welch-Satterthwaite degrees of freedom. The simulated coverage of
/// the 95% interval is 94.6 to 96.3% at 6 to 20 trials per side, for normal, t3 and lognormal trial means of equal and
/// unequal variance.
///
/// Decide to adjust before seeing the data, and only where the treatment cannot affect the probe: otherwise the ratio
/// is biased, and testing the probe first does not repair that.
///
/// # Errors
/// [`Error::TooFew`] below 4 trials per side, [`Error::Mismatch`] without a probe for each trial,
/// [`Error::NotPositive`] for values without a logarithm or a probe that never varies.
pub fn adjusted(a: &Arm<'_>, b: &Arm<'_>, confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    LogRatio::of_arms(a, b, [1.0; 2])?.estimate(confidence)
}

/// The geometric mean of one side, adjusted to the probe value `at`, so that several sides can be compared at the same
/// value.
///
/// # Errors
/// As [`adjusted`].
pub fn mean_at(arm: &Arm<'_>, at: f64, confidence: f64) -> Result<Estimate, Error> {
    valid_confidence(confidence)?;
    all_positive("probe to adjust to", &[at])?;
    let side = Side::of("the condition", arm)?;
    let line = LeastSquares::of(&side.x, &side.y)?;
    let away = at.ln() - side.centre[0];
    LogRatio { value: side.centre[1] + line.slope * away, se: line.se_at(away), df: line.df }.estimate(confidence)
}

/// The share of the standard deviation between trials that remains after adjustment: residual divided by plain standard
/// deviation of the logarithms. 1 when the probe explains nothing (or above, because the slope takes a degree of
/// freedom).
///
/// # Errors
/// As [`adjusted`]; [`Error::NotPositive`] for trials that never vary.
pub fn left(arm: &Arm<'_>) -> Result<f64, Error> {
    let side = Side::of("the condition", arm)?;
    let line = LeastSquares::of(&side.x, &side.y)?;
    let plain = side.y.iter().map(|y| y * y).sum::<f64>() / (line.n - 1.0);
    all_positive("variance of the trials", &[plain])?;
    Ok((line.left / plain).sqrt())
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
    fn by_block_what_the_probe_explains_is_gone_and_so_is_the_block() {
        let blocks = [1.0, 2.0, 0.7, 1.4, 3.0];
        let probes = [[1.0, 1.2, 0.9, 1.1, 1.05], [1.3, 0.8, 1.0, 1.15, 0.95]];
        let y = |probe: &[f64], scale: f64| -> Vec<f64> {
            probe.iter().zip(blocks).map(|(x, block)| scale * block * x.sqrt()).collect()
        };
        let (a, b) = (y(&probes[0], 1.0), y(&probes[1], 1.1));
        let arms = (Arm { metric: &a, probe: &probes[0] }, Arm { metric: &b, probe: &probes[1] });
        let found = LogRatio::of_blocks(&arms.0, &arms.1).and_then(|ratio| ratio.estimate(0.95)).unwrap();
        assert!((found.value - 1.1).abs() < 1e-12 && found.ci.unwrap().width() < 1e-6, "{found:?}");
        assert!(adjusted(&arms.0, &arms.1, 0.95).unwrap().ci.unwrap().width() > 0.5, "blocks are in the way otherwise");
    }

    #[test]
    fn the_remaining_spread_and_the_mean_at_another_probe_value_are_correct() {
        let probe = [1.0, 1.2, 0.9, 1.1, 1.05];
        let exact: Vec<f64> = probe.iter().map(|x| 3.0 * x).collect();
        let arm = Arm { metric: &exact, probe: &probe };
        assert!(left(&arm).unwrap() < 1e-6);
        let there = mean_at(&arm, 2.0, 0.95).unwrap();
        assert!((there.value - 6.0).abs() < 1e-9 && there.ci.unwrap().width() < 1e-6);
        // Of y = 1, -1, 1, -1 the probe x = 1, 1, -1, -1 explains nothing: 4/2 over 4/3.
        let flat = [1.0f64, -1.0, 1.0, -1.0].map(f64::exp);
        let useless = [1.0f64, 1.0, -1.0, -1.0].map(f64::exp);
        assert!((left(&Arm { metric: &flat, probe: &useless }).unwrap() - 1.5f64.sqrt()).abs() < 1e-12);
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
