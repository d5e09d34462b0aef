//! PLACEHOLDER until stats is merged.
pub struct Interval {
    pub low: f64,
    pub high: f64,
}
pub struct Summary {
    pub trials: usize,
    pub mean: f64,
    pub ci: Option<Interval>,
    pub within_cov: Option<f64>,
    pub between_cov: Option<f64>,
    pub min: f64,
    pub max: f64,
}
pub fn summarize(trials: &[Vec<f64>], _confidence: f64) -> Option<Summary> {
    let means: Vec<f64> = trials.iter().map(|t| t.iter().sum::<f64>() / t.len() as f64).collect();
    let n = means.len() as f64;
    if means.is_empty() {
        return None;
    }
    let mean = means.iter().sum::<f64>() / n;
    let sd = |v: &[f64]| {
        let m = v.iter().sum::<f64>() / v.len() as f64;
        (v.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (v.len() as f64 - 1.0)).sqrt()
    };
    let s = sd(&means);
    Some(Summary {
        trials: means.len(),
        mean,
        ci: (n > 1.0).then(|| Interval { low: mean - 2.26 * s / n.sqrt(), high: mean + 2.26 * s / n.sqrt() }),
        within_cov: (trials[0].len() > 1)
            .then(|| trials.iter().map(|t| sd(t) / (t.iter().sum::<f64>() / t.len() as f64)).sum::<f64>() / n),
        between_cov: (n > 1.0).then(|| s / mean),
        min: means.iter().copied().fold(f64::MAX, f64::min),
        max: means.iter().copied().fold(f64::MIN, f64::max),
    })
}
