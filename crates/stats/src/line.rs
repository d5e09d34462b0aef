//! Least squares for a few columns, and a straight-line fit of a response on one or a few measured quantities, with
//! intervals and goodness of fit.
//!
//! Least squares are implemented here rather than taken from a linear algebra crate because designs must drop aliased
//! terms by name, and because at most a few dozen columns are ever solved.

use super::Interval;
use super::error::{Error, all_finite};
use super::quantiles::{t_two_sided, t_upper_tail};
use std::collections::BTreeMap;

/// Inverse of a symmetric positive definite matrix by Gauss-Jordan with diagonal pivots, scaled to a unit diagonal
/// first so that the units of the columns do not matter. `None` when it is singular to working precision.
pub(crate) fn inverse_spd(a: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let scale: Vec<f64> = (0..n).map(|i| a[i][i].sqrt()).collect();
    if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
        return None;
    }
    let mut m: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| a[i][j] / (scale[i] * scale[j])).collect()).collect();
    for k in 0..n {
        let pivot = m[k][k];
        // The remainder of a unit diagonal is 1 - R^2 of this column on those before it.
        if !(pivot.is_finite() && pivot > 1e-12) {
            return None;
        }
        m[k][k] = 1.0;
        m[k].iter_mut().for_each(|v| *v /= pivot);
        let row = m[k].clone();
        for (i, other) in m.iter_mut().enumerate() {
            if i != k {
                let factor = other[k];
                other[k] = 0.0;
                other.iter_mut().zip(&row).for_each(|(v, r)| *v -= factor * r);
            }
        }
    }
    Some((0..n).map(|i| (0..n).map(|j| m[i][j] / (scale[i] * scale[j])).collect()).collect())
}

/// X'WX for rows `x` and weights `w`.
pub(crate) fn gram(x: &[Vec<f64>], w: &[f64]) -> Vec<Vec<f64>> {
    let p = x.first().map_or(0, Vec::len);
    let mut g = vec![vec![0.0; p]; p];
    for (row, &weight) in x.iter().zip(w) {
        for i in 0..p {
            for j in 0..p {
                g[i][j] += weight * row[i] * row[j];
            }
        }
    }
    g
}

/// X'Wy for rows `x`, weights `w` and responses `y`.
pub(crate) fn moment(x: &[Vec<f64>], w: &[f64], y: &[f64]) -> Vec<f64> {
    let p = x.first().map_or(0, Vec::len);
    (0..p).map(|j| x.iter().zip(w).zip(y).map(|((row, w), y)| row[j] * w * y).sum()).collect()
}

/// The product of a matrix, row by row, with a vector.
pub(crate) fn times(a: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    a.iter().map(|row| dot(row, v)).collect()
}

/// The inner product of two vectors of equal length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The columns, from the left, that are linearly independent of those kept before them (modified Gram-Schmidt).
pub(crate) fn independent_columns(x: &[Vec<f64>]) -> Vec<usize> {
    let p = x.first().map_or(0, Vec::len);
    let mut kept = Vec::new();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for j in 0..p {
        let mut column: Vec<f64> = x.iter().map(|row| row[j]).collect();
        let before = dot(&column, &column);
        for b in &basis {
            let along = dot(&column, b);
            column.iter_mut().zip(b).for_each(|(c, b)| *c -= along * b);
        }
        let left = dot(&column, &column);
        if left > 1e-9 * before {
            let norm = left.sqrt();
            basis.push(column.iter().map(|c| c / norm).collect());
            kept.push(j);
        }
    }
    kept
}

/// The change of the response per unit of one quantity, with the others unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The change of the response per unit of the quantity.
    pub value: f64,
    /// Its interval, from the residuals of the line.
    pub ci: Interval,
    /// Two-sided p-value of no slope.
    pub p_value: f64,
}

/// A line fitted by least squares, with its goodness of fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// One slope per quantity; `None` when it does not vary, or is collinear with earlier ones.
    pub slopes: Vec<Option<Slope>>,
    /// Share of the response's variance that the line explains, 0 to 1.
    pub r_squared: f64,
    /// Degrees of freedom: points minus fitted parameters.
    pub df: usize,
}

/// Least squares of `response` on rows of quantities, with an intercept. `None` when no quantity varies or no degree of
/// freedom remains.
///
/// # Errors
/// [`Error::Mismatch`] unless there is one row per response, [`Error::NotFinite`].
pub fn fit(response: &[f64], quantities: &[Vec<f64>], confidence: f64) -> Result<Option<Line>, Error> {
    if quantities.len() != response.len() {
        return Err(Error::Mismatch {
            what: "rows of quantities".to_owned(),
            expected: response.len(),
            got: quantities.len(),
        });
    }
    all_finite("response", response)?;
    quantities.iter().try_for_each(|row| all_finite("quantities", row))?;
    let given = quantities.first().map_or(0, Vec::len);
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / response.len().max(1) as f64;
    let centre: Vec<f64> = (0..given).map(|j| mean(&mut quantities.iter().map(|row| row[j]))).collect();
    let level = mean(&mut response.iter().copied());
    let centred: Vec<Vec<f64>> =
        quantities.iter().map(|row| row.iter().zip(&centre).map(|(value, mean)| value - mean).collect()).collect();
    let kept = independent_columns(&centred);
    let df = response.len().saturating_sub(kept.len() + 1);
    if kept.is_empty() || df == 0 {
        return Ok(None);
    }
    let x: Vec<Vec<f64>> = centred.iter().map(|row| kept.iter().map(|j| row[*j]).collect()).collect();
    let y: Vec<f64> = response.iter().map(|value| value - level).collect();
    let ones = vec![1.0; y.len()];
    let Some(inverse) = inverse_spd(&gram(&x, &ones)) else { return Ok(None) };
    let slopes = times(&inverse, &moment(&x, &ones, &y));
    let left: f64 = times(&x, &slopes).iter().zip(&y).map(|(fitted, value)| (value - fitted).powi(2)).sum();
    let all: f64 = y.iter().map(|value| value * value).sum();
    let factor = t_two_sided(confidence, df as f64);
    let of = |j: usize| {
        let place = kept.iter().position(|column| *column == j)?;
        let error = (inverse[place][place] * left / df as f64).sqrt();
        let (value, half) = (slopes[place], factor * error);
        let steep = if value == 0.0 { 0.0 } else { (value / error).abs() };
        let p_value = (2.0 * t_upper_tail(steep, df as f64)).min(1.0);
        Some(Slope { value, ci: Interval { low: value - half, high: value + half }, p_value })
    };
    let r_squared = if all > 0.0 { 1.0 - left / all } else { 0.0 };
    Ok(Some(Line { slopes: (0..given).map(of).collect(), r_squared, df }))
}

/// The slope of the quantity with index `of`, estimated from the means of groups of responses: effects that the
/// responses of a group share (for instance that one of two places is slower) then count as one residual, not as many
/// as there are responses. Quantities that vary within a group are first removed with the slopes of the line through
/// all points. `None` when the quantity does not vary or too few groups remain to judge the fit.
///
/// # Errors
/// As [`fit`]; [`Error::Mismatch`] unless there is one group per response.
pub fn between<G: Ord>(
    response: &[f64],
    quantities: &[Vec<f64>],
    groups: &[G],
    of: usize,
    confidence: f64,
) -> Result<Option<Slope>, Error> {
    if groups.len() != response.len() {
        return Err(Error::Mismatch {
            what: "groups of responses".into(),
            expected: response.len(),
            got: groups.len(),
        });
    }
    let Some(all) = fit(response, quantities, confidence)? else { return Ok(None) };
    let mut members: BTreeMap<&G, Vec<usize>> = BTreeMap::new();
    groups.iter().enumerate().for_each(|(i, group)| members.entry(group).or_default().push(i));
    let varies = |j: usize| members.values().any(|own| own.iter().any(|i| quantities[*i][j] != quantities[own[0]][j]));
    let within: Vec<bool> = (0..all.slopes.len()).map(|j| j != of && varies(j)).collect();
    let left = |i: usize| {
        let taken = |j: usize| if within[j] { all.slopes[j].map_or(0.0, |s| s.value * quantities[i][j]) } else { 0.0 };
        response[i] - (0..within.len()).map(taken).sum::<f64>()
    };
    let mean =
        |own: &[usize], value: &dyn Fn(usize) -> f64| own.iter().map(|i| value(*i)).sum::<f64>() / own.len() as f64;
    let means: Vec<f64> = members.values().map(|own| mean(own, &left)).collect();
    let row = |own: &Vec<usize>| {
        (0..within.len()).map(|j| if within[j] { 0.0 } else { mean(own, &|i| quantities[i][j]) }).collect()
    };
    let rows: Vec<Vec<f64>> = members.values().map(row).collect();
    Ok(fit(&means, &rows, confidence)?.and_then(|line| line.slopes[of]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_times_matrix_is_the_identity_whatever_the_units() {
        let x = vec![vec![1.0, 2e6, 3e-6], vec![1.0, -1e6, 5e-6], vec![1.0, 4e6, -2e-6], vec![1.0, 0.5e6, 1e-6]];
        let g = gram(&x, &[1.0, 2.0, 0.5, 1.0]);
        let inverse = inverse_spd(&g).unwrap();
        for (i, row) in inverse.iter().enumerate() {
            for j in 0..3 {
                let column: Vec<f64> = g.iter().map(|r| r[j]).collect();
                let expected = if i == j { 1.0 } else { 0.0 };
                let scale = (g[j][j] / g[i][i]).sqrt();
                assert!((dot(row, &column) - expected).abs() < 1e-9 * scale.max(1.0));
            }
        }
    }

    #[test]
    fn aliased_columns_are_found() {
        let x = vec![vec![1.0, 1.0, 1.0], vec![1.0, -1.0, -1.0], vec![1.0, 1.0, 1.0]];
        assert_eq!(independent_columns(&x), [0, 1]);
        assert!(inverse_spd(&gram(&x, &[1.0; 3])).is_none());
    }

    #[test]
    fn a_line_without_noise_is_found_and_what_does_not_vary_has_no_slope() {
        let quantities: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i), 7.0, f64::from(i * i)]).collect();
        let response: Vec<f64> = quantities.iter().map(|row| 3.0 - 2.0 * row[0] + 0.5 * row[2]).collect();
        let line = fit(&response, &quantities, 0.95).unwrap().unwrap();
        let value = |j: usize| line.slopes[j].unwrap().value;
        assert!((value(0) + 2.0).abs() < 1e-9 && (value(2) - 0.5).abs() < 1e-9, "{line:?}");
        assert_eq!((line.slopes[1], line.df), (None, 5));
        assert!(line.r_squared > 1.0 - 1e-9);
        assert_eq!(fit(&[1.0, 2.0], &[vec![1.0], vec![2.0]], 0.95).unwrap(), None, "nothing is left over");
    }

    /// 4 x 4 x 4 places, where a pair of the first two may be slower than its distance predicts: the line through all
    /// 64 points reports a slope in 17% of cases without one.
    #[test]
    fn what_pairs_have_in_common_is_one_deviation_a_pair() {
        use rand::{SeedableRng, rngs::StdRng};
        use rand_distr::{Distribution, Normal};
        const TIMES: u32 = 1500;
        let (mut rng, normal) = (StdRng::seed_from_u64(41_003), Normal::new(0.0, 1.0).unwrap());
        let places: Vec<[usize; 3]> = (0..64).map(|i| [i / 16, i / 4 % 4, i % 4]).collect();
        let ns = |a: usize, b: usize| if a == b { 1.0 } else { 2.0 + f64::from(u8::from(a.abs_diff(b) == 2)) };
        let quantities: Vec<Vec<f64>> = places.iter().map(|[c, s, m]| vec![ns(*c, *s), ns(*s, *m)]).collect();
        let pairs: Vec<usize> = places.iter().map(|[c, s, _]| 4 * c + s).collect();
        let (mut plain, mut grouped) = (0, 0);
        for _ in 0..TIMES {
            let own: Vec<f64> = (0..16).map(|_| 0.03 * normal.sample(&mut rng)).collect();
            let y: Vec<f64> = pairs
                .iter()
                .zip(&quantities)
                .map(|(pair, x)| 0.02 * x[1] + own[*pair] + 0.01 * normal.sample(&mut rng))
                .collect();
            let costs = |slope: Option<Slope>| u32::from(slope.unwrap().ci.high < 0.0);
            plain += costs(fit(&y, &quantities, 0.95).unwrap().unwrap().slopes[0]);
            grouped += costs(between(&y, &quantities, &pairs, 0, 0.95).unwrap());
        }
        let share = |count: u32| f64::from(count) / f64::from(TIMES);
        println!("shown: {} of all, {} of pairs", share(plain), share(grouped));
        // 2.5% plus three standard errors.
        assert!(share(grouped) <= 0.037 && share(plain) > 0.10, "{} {}", share(grouped), share(plain));
        assert!(
            between(&[1.0, 2.0, 3.0, 4.0], &[vec![1.0], vec![1.0], vec![2.0], vec![2.0]], &[0, 0, 1, 1], 0, 0.95)
                .unwrap()
                .is_none(),
            "two groups"
        );
    }

    /// With seeds that were not used for tuning.
    #[test]
    fn intervals_hold_the_slope_as_often_as_they_promise() {
        use rand_xoshiro::Xoshiro256PlusPlus;
        use rand_xoshiro::rand_core::{Rng, SeedableRng};
        let mut held = 0;
        const TIMES: u32 = 2000;
        for seed in 0..u64::from(TIMES) {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(77_000 + seed);
            let mut bell =
                || (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0;
            let quantities: Vec<Vec<f64>> = (0..16).map(|i| vec![f64::from(i % 4) * 100.0]).collect();
            let response: Vec<f64> = quantities.iter().map(|row| -0.0006 * row[0] + 0.02 * bell()).collect();
            let ci = fit(&response, &quantities, 0.95).unwrap().unwrap().slopes[0].unwrap().ci;
            held += u32::from(ci.low <= -0.0006 && -0.0006 <= ci.high);
        }
        let share = f64::from(held) / f64::from(TIMES);
        assert!((0.935..0.965).contains(&share), "{share}");
    }
}
