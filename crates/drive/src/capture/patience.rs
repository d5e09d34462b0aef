//! How long the perfs of one capture sample are waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tare_engine::interrupted;

/// For all perfs of a capture sample: to attach to all threads, and to write their data.
const IN_ALL: Duration = Duration::from_secs(60);

/// The rest of this time, nanoseconds. One wait may take half of it: a perf that hangs leaves time to the others.
#[derive(Debug, Clone)]
pub(super) struct Patience(Arc<AtomicU64>);

impl Default for Patience {
    fn default() -> Self {
        Self::of(IN_ALL)
    }
}

impl Patience {
    fn of(time: Duration) -> Self {
        Self(Arc::new(AtomicU64::new(time.as_nanos() as u64)))
    }

    fn left(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }

    /// Repeats `look` until it has a result; `None` if it has none in time, or after a signal.
    pub(crate) fn wait<T>(&self, every: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let (longest, began) = (self.left() / 2, Instant::now());
        let found = loop {
            let found = look();
            if found.is_some() || began.elapsed() >= longest || interrupted() {
                break found;
            }
            std::thread::sleep(every);
        };
        self.0.fetch_sub(began.elapsed().min(longest).as_nanos() as u64, Relaxed);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfs_that_hang_share_one_time_and_leave_half_of_it_to_the_next() {
        let patience = Patience::of(Duration::from_millis(16));
        for left_ms in [8, 4, 2, 1] {
            assert_eq!(patience.clone().wait(Duration::from_millis(1), || None::<()>), None);
            assert_eq!(patience.left(), Duration::from_millis(left_ms));
        }
        let mut looks = 0;
        let third = || {
            looks += 1;
            (looks == 3).then_some(looks)
        };
        assert_eq!(Patience::default().wait(Duration::ZERO, third), Some(3));
        assert_eq!(Patience::of(Duration::ZERO).wait(Duration::ZERO, || Some(1)), Some(1), "one that is ready");
    }
}
