//! Shares that grow along a ladder: the symbol or lock that limits scaling is the one whose share *grows* with threads
//! or nodes, not the one with the largest share.

use std::collections::BTreeMap;

use crate::error::{Error, all_positive};
use crate::interval::{Estimate, Interval};
use crate::quantiles::t_two_sided;

/// The profile or the lock waits of one trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Threads or nodes of this rung.
    pub n: f64,
    /// Share of each name as a fraction of the whole. Missing names have the share 0.
    pub shares: BTreeMap<String, f64>,
}

/// How the share of one name changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Growth {
    /// Name of the symbol or lock.
    pub name: String,
    /// Mean share on the first rung.
    pub first: f64,
    /// Mean share on the last rung.
    pub last: f64,
    /// Change of the share per doubling of N, the slope of the share against log2 N, with its t interval (absent with
    /// two profiles).
    pub per_doubling: Estimate,
}

/// All names, the fastest growing share first, then by name. Growth is in share points, not a ratio: a symbol that grew
/// from 0.001% to 0.1% does not limit scaling.
///
/// # Errors
/// [`Error::NotPositive`] for an N that is not positive, [`Error::NotFinite`] for a share that is not finite,
/// [`Error::TooFew`] for fewer than two different N.
pub fn rank(profiles: &[Profile], confidence: f64) -> Result<Vec<Growth>, Error> {
    crate::error::valid_confidence(confidence)?;
    all_positive("threads or nodes", &profiles.iter().map(|p| p.n).collect::<Vec<_>>())?;
    for profile in profiles {
        crate::error::all_finite("shares", &profile.shares.values().copied().collect::<Vec<_>>())?;
    }
    let x: Vec<f64> = profiles.iter().map(|p| p.n.log2()).collect();
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return Err(Error::TooFew { what: "different numbers of threads or nodes".into(), needed: 2, got: 1 });
    }
    let mut names: Vec<&String> = profiles.iter().flat_map(|p| p.shares.keys()).collect();
    names.sort();
    names.dedup();
    let mut found: Vec<Growth> = names
        .into_iter()
        .map(|name| {
            let y: Vec<f64> = profiles.iter().map(|p| p.shares.get(name).copied().unwrap_or(0.0)).collect();
            let on = |rung: f64| {
                let there: Vec<f64> = x.iter().zip(&y).filter(|(x, _)| **x == rung).map(|(_, y)| *y).collect();
                there.iter().sum::<f64>() / there.len() as f64
            };
            Growth { name: name.clone(), first: on(low), last: on(high), per_doubling: slope(&x, &y, confidence) }
        })
        .collect();
    found.sort_by(|a, b| b.per_doubling.value.total_cmp(&a.per_doubling.value));
    Ok(found)
}

/// Least-squares slope with its t interval of n - 2 degrees of freedom.
fn slope(x: &[f64], y: &[f64], confidence: f64) -> Estimate {
    // In units of the largest share, so that no square overflows.
    let unit = y.iter().fold(0.0f64, |largest, y| largest.max(y.abs())).max(f64::MIN_POSITIVE);
    let y: Vec<f64> = y.iter().map(|y| y / unit).collect();
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let xx: f64 = x.iter().map(|x| (x - mx).powi(2)).sum();
    let value = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / xx;
    let rss: f64 = x.iter().zip(&y).map(|(x, y)| (y - my - value * (x - mx)).powi(2)).sum();
    let half = t_two_sided(confidence, n - 2.0) * (rss / (n - 2.0) / xx).sqrt();
    let ci = if n > 2.0 { Interval::finite((value - half) * unit, (value + half) * unit) } else { None };
    Estimate { value: value * unit, ci }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(n: f64, shares: &[(&str, f64)]) -> Profile {
        Profile { n, shares: shares.iter().map(|(k, v)| ((*k).to_string(), *v)).collect() }
    }

    #[test]
    fn the_growing_lock_is_first_though_another_is_larger() {
        let profiles = [
            profile(1.0, &[("row_search_mvcc", 0.30), ("spin_lock", 0.001)]),
            profile(2.0, &[("row_search_mvcc", 0.29), ("spin_lock", 0.03)]),
            profile(4.0, &[("row_search_mvcc", 0.25), ("spin_lock", 0.1212), ("rare", 0.0005)]),
        ];
        let ranked = rank(&profiles, 0.95).unwrap();
        assert_eq!(
            ranked.iter().map(|g| g.name.as_str()).collect::<Vec<_>>(),
            ["spin_lock", "rare", "row_search_mvcc"]
        );
        assert_eq!((ranked[0].first, ranked[0].last), (0.001, 0.1212));
        assert!((ranked[0].per_doubling.value - (0.1212 - 0.001) / 2.0).abs() < 1e-12);
        // Residuals of the line through x = 0, 1, 2 are d (1, -2, 1) / 6, where d is the second difference 0.0622.
        let half = 12.706_205 * (0.0622f64.powi(2) / 6.0 / 2.0).sqrt();
        let ci = ranked[0].per_doubling.ci.unwrap();
        assert!((ci.width() / 2.0 - half).abs() < 1e-6);
    }

    #[test]
    fn one_rung_has_no_growth() {
        assert!(rank(&[profile(2.0, &[("a", 0.1)]), profile(2.0, &[("a", 0.2)])], 0.95).is_err());
        assert!(rank(&[], 0.95).is_err());
        assert_eq!(rank(&[profile(1.0, &[("a", 0.1)]), profile(2.0, &[])], 0.95).unwrap()[0].per_doubling.ci, None);
    }
}
