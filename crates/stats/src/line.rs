//! A response as a straight line of one or a few measured quantities, with intervals and how well it fits.

use crate::Interval;
use crate::error::{Error, all_finite};
use crate::linear::{gram, independent_columns, inverse_spd, moment, times};
use crate::quantiles::t_two_sided;

/// What the response changes by with one of the explaining values, the others unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// By how much the response changes with 1 of the quantity.
    pub value: f64,
    /// Its interval, from what the line leaves of the response.
    pub ci: Interval,
}

/// A line fitted by least squares, and how much of the response it explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// One for each quantity; none where it does not vary, or only with those before it.
    pub slopes: Vec<Option<Slope>>,
    /// Share of the response's variance that the line explains, 0 to 1.
    pub r_squared: f64,
    /// Points less fitted numbers.
    pub df: usize,
}

/// Least squares of `response` on rows of quantities, with an intercept. None where no quantity varies or no point is
/// left over to tell how well it fits.
///
/// # Errors
/// [`Error::Mismatch`] when there is not one row a response, [`Error::NotFinite`].
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
        let half = factor * (inverse[place][place] * left / df as f64).sqrt();
        let value = slopes[place];
        Some(Slope { value, ci: Interval { low: value - half, high: value + half } })
    };
    let r_squared = if all > 0.0 { 1.0 - left / all } else { 0.0 };
    Ok(Some(Line { slopes: (0..given).map(of).collect(), r_squared, df }))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// On seeds that tuned nothing.
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
