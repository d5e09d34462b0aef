//! What keeps the threads that serve connections asleep, by condition: means over trials.

use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::captures::Captures;
use tare_results::waits::{CallerShare, Doing, WakesFile};

const LISTED: usize = 16;

/// Sleeps of the connections' threads in the capture samples of one condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WakesSummary {
    pub trials: usize,
    /// Share of these threads' time for which they slept until they were woken.
    pub slept_fraction: f64,
    /// The wakers, with the share of the time, the largest first.
    pub woken_by: Vec<(String, f64)>,
    /// What the sleeps waited for: the same time attributed along the chain of wakers, the largest first.
    pub charged: Vec<(String, Doing, f64)>,
    /// Callers of the functions that they sleep in, `caller;callee`, with the share of the time, the largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<(String, f64)>,
    /// Whether a recording was too long to be read in full.
    pub cut: bool,
}

/// Chains with their mean share over the trials that have any, the largest first.
pub(super) fn callers<'f>(trials: impl Iterator<Item = &'f [CallerShare]>) -> Vec<(String, f64)> {
    let trials: Vec<&[CallerShare]> = trials.filter(|callers| !callers.is_empty()).collect();
    let mut shares = BTreeMap::<String, f64>::new();
    for one in trials.iter().copied().flatten() {
        *shares.entry(one.chain.clone()).or_default() += one.fraction / trials.len() as f64;
    }
    let mut shares: Vec<(String, f64)> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares.truncate(LISTED);
    shares
}

pub(super) fn summary(captures: &[&Captures]) -> Option<WakesSummary> {
    let files: Vec<&WakesFile> = captures.iter().filter_map(|captures| captures.wakes.as_ref()).collect();
    let n = files.len() as f64;
    let (mut woken_by, mut charged) = (BTreeMap::<String, f64>::new(), BTreeMap::<(String, Doing), f64>::new());
    for file in &files {
        for one in &file.woken_by {
            *woken_by.entry(one.who.clone()).or_default() += one.fraction / n;
        }
        for one in &file.charged {
            *charged.entry((one.who.clone(), one.doing)).or_default() += one.fraction / n;
        }
    }
    let mut woken_by: Vec<(String, f64)> = woken_by.into_iter().collect();
    woken_by.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut charged: Vec<(String, Doing, f64)> = charged.into_iter().map(|((who, doing), f)| (who, doing, f)).collect();
    charged.sort_by(|a, b| b.2.total_cmp(&a.2));
    let callers = callers(files.iter().map(|file| file.callers.as_slice()));
    woken_by.truncate(LISTED);
    charged.truncate(LISTED);
    (!files.is_empty()).then(|| WakesSummary {
        trials: files.len(),
        slept_fraction: files.iter().map(|file| file.slept_fraction).sum::<f64>() / n,
        woken_by,
        charged,
        callers,
        cut: files.iter().any(|file| file.cut),
    })
}
