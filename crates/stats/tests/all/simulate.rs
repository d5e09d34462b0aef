//! Simulated studies with known truths.
use rand_distr::{Distribution, Normal};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

pub type Generator = Xoshiro256PlusPlus;

pub fn generator(seed: u64) -> Generator {
    Generator::seed_from_u64(seed)
}

pub fn normal(rng: &mut Generator, mean: f64, sd: f64) -> f64 {
    Normal::new(mean, sd).unwrap().sample(rng)
}

/// Samples in trials, with the given mean, and standard deviations between and within trials.
pub fn nested(
    rng: &mut Generator,
    mean: f64,
    between: f64,
    within: f64,
    trials: usize,
    samples: usize,
) -> Vec<Vec<f64>> {
    (0..trials)
        .map(|_| {
            let centre = normal(rng, mean, between);
            (0..samples).map(|_| normal(rng, centre, within)).collect()
        })
        .collect()
}

pub fn normals(rng: &mut Generator, mean: f64, sd: f64, n: usize) -> Vec<f64> {
    (0..n).map(|_| normal(rng, mean, sd)).collect()
}

pub fn share(studies: usize, mut holds: impl FnMut() -> bool) -> f64 {
    (0..studies).filter(|_| holds()).count() as f64 / studies as f64
}

/// Asserts that the coverage of a 95% interval is 95 +- 2%.
#[track_caller]
pub fn assert_covers(what: &str, coverage: f64) {
    println!("{what}: {:.2}%", 100.0 * coverage);
    assert!((0.93..=0.97).contains(&coverage), "{what} covers {:.2}%", 100.0 * coverage);
}
