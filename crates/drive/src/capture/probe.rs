//! Probes before and after each sample: the speed of the machine on the sample's own logical CPUs while the server
//! idles.

use std::time::{Duration, Instant};
use tare_noise::NoiseError;
use tare_noise::probe::{Probe, ProbeCpus, Reading};
use tare_results::probe::Probe as ProbeName;

/// Shortest length of a reading: 5 ms of dependent loads, 2 ms of spinning, 2 ms of mutual wake-ups. With about 7 ms
/// on each side of a sample, 0.41 to 0.65 of the spread of queries of 0.1 to 2 s was left; shorter readings mostly
/// measure their own noise.
const SHORTEST: Duration = Duration::from_millis(9);
/// A longer reading gives no further information.
const LONGEST: Duration = Duration::from_millis(300);

/// Probes before and after samples. A reading between two samples is taken once and used for both.
pub(crate) struct ProbeWatch {
    probe: Probe,
    /// Fraction of the time that readings may take.
    share: f64,
    length: Duration,
    last: Option<(Instant, Reading)>,
    before: Option<Reading>,
}

impl ProbeWatch {
    pub(crate) fn new(cpus: ProbeCpus, share: f64) -> Result<Self, NoiseError> {
        Ok(Self { probe: Probe::new(cpus)?, share, length: SHORTEST, last: None, before: None })
    }

    /// Called before a sample, while the server idles.
    pub(crate) fn before(&mut self) -> Result<(), NoiseError> {
        self.before = Some(self.read()?);
        Ok(())
    }

    pub(crate) fn has_before(&self) -> bool {
        self.before.is_some()
    }

    /// Called after a sample, while the server idles: the figures half-way between the readings before and after.
    pub(crate) fn after(&mut self, sample: Duration) -> Result<Vec<(ProbeName, f64)>, NoiseError> {
        self.length = sample.mul_f64(self.share).clamp(SHORTEST, LONGEST);
        let after = self.read()?;
        Ok(named(self.before.take().map_or(after, |before| before.between(&after))))
    }

    /// Called after a sample while the server does not idle: returns the figures of the reading before.
    pub(crate) fn before_alone(&mut self) -> Vec<(ProbeName, f64)> {
        self.before.take().map_or_else(Vec::new, named)
    }

    /// Takes a new reading, or returns the last one if another so soon would exceed the share of the time.
    fn read(&mut self) -> Result<Reading, NoiseError> {
        if let Some((at, reading)) = self.last
            && at.elapsed().mul_f64(self.share) < self.length
        {
            return Ok(reading);
        }
        let reading = self.probe.read(self.length)?;
        self.last = Some((Instant::now(), reading));
        Ok(reading)
    }
}

fn named(found: Reading) -> Vec<(ProbeName, f64)> {
    vec![(ProbeName::Chain, found.chain_ns), (ProbeName::Spin, found.spin_ns), (ProbeName::Wakeup, found.wakeup_ns)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_samples_share_a_reading_and_long_ones_have_their_own() {
        let cpus = ProbeCpus { workers: vec![None], pair: [None, None] };
        let mut watch = ProbeWatch::new(cpus.clone(), 0.01).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        let found = watch.after(Duration::from_millis(1)).unwrap();
        assert_eq!(found[0], (ProbeName::Chain, first.chain_ns), "another one would take ten times its share");
        let mut watch = ProbeWatch::new(cpus, 1.0).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        std::thread::sleep(Duration::from_millis(25));
        let found = watch.after(Duration::from_millis(20)).unwrap();
        let second = watch.last.unwrap().1;
        assert_ne!(first, second);
        assert_eq!(found[0], (ProbeName::Chain, f64::midpoint(first.chain_ns, second.chain_ns)));
        assert_eq!(watch.length, Duration::from_millis(20), "a share of 1 is as long as the sample");
    }
}
