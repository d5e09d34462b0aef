//! The reference weight alongside each sample: how fast the machine is, on the sample's own PUs, while the server
//! idles.

use std::time::{Duration, Instant};
use tare_noise::NoiseError;
use tare_noise::probe::{Probe, Reading, Seats};
use tare_results::probe::Probe as Weighs;

/// A reading's shortest length: 5 ms of loads, 2 of spinning, 2 of waking each other. Some 7 ms a side left 0.41 to
/// 0.65 of the spread of queries of 0.1 to 2 s; shorter ones weigh their own noise.
const SHORTEST: Duration = Duration::from_millis(9);
/// Beyond this a longer one says nothing more.
const LONGEST: Duration = Duration::from_millis(300);

/// Probes before and after samples. What stands between two samples is read once and belongs to both.
pub struct ProbeWatch {
    probe: Probe,
    /// Part of the time that readings may take.
    share: f64,
    length: Duration,
    last: Option<(Instant, Reading)>,
    before: Option<Reading>,
}

impl ProbeWatch {
    pub fn new(seats: Seats, share: f64) -> Result<Self, NoiseError> {
        Ok(Self { probe: Probe::new(seats)?, share, length: SHORTEST, last: None, before: None })
    }

    /// A sample is about to begin, and the server idles.
    pub fn before(&mut self) -> Result<(), NoiseError> {
        self.before = Some(self.read()?);
        Ok(())
    }

    /// Whether the reading before the next sample is there.
    pub fn has_before(&self) -> bool {
        self.before.is_some()
    }

    /// The sample is over, and the server idles: the figures half-way between before and after.
    pub fn after(&mut self, sample: Duration) -> Result<Vec<(Weighs, f64)>, NoiseError> {
        self.length = sample.mul_f64(self.share).clamp(SHORTEST, LONGEST);
        let after = self.read()?;
        Ok(named(self.before.take().map_or(after, |before| before.between(&after))))
    }

    /// The sample is over, and the server does not idle: the figures of the reading before.
    pub fn before_alone(&mut self) -> Vec<(Weighs, f64)> {
        self.before.take().map_or_else(Vec::new, named)
    }

    /// A new reading, or the last one where another so soon would take more than its share of the time.
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

fn named(found: Reading) -> Vec<(Weighs, f64)> {
    vec![(Weighs::Chain, found.chain_ns), (Weighs::Spin, found.spin_ns), (Weighs::Wakeup, found.wakeup_ns)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_samples_share_a_reading_and_long_ones_have_their_own() {
        let seats = Seats { workers: vec![None], pair: [None, None] };
        let mut watch = ProbeWatch::new(seats.clone(), 0.01).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        let found = watch.after(Duration::from_millis(1)).unwrap();
        assert_eq!(found[0], (Weighs::Chain, first.chain_ns), "another one would take ten times its share");
        let mut watch = ProbeWatch::new(seats, 1.0).unwrap();
        watch.before().unwrap();
        let first = watch.last.unwrap().1;
        std::thread::sleep(Duration::from_millis(25));
        let found = watch.after(Duration::from_millis(20)).unwrap();
        let second = watch.last.unwrap().1;
        assert_ne!(first, second);
        assert_eq!(found[0], (Weighs::Chain, f64::midpoint(first.chain_ns, second.chain_ns)));
        assert_eq!(watch.length, Duration::from_millis(20), "a share of 1 is as long as the sample");
    }
}
