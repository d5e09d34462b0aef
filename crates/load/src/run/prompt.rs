//! Computes when transactions would have ended if the client had begun each without delay. The difference to the
//! measured latency is the client's own delay.

use std::time::Instant;

/// The queue of one connection with a client that is never late: Lindley's recursion (1952) over the measured service
/// times (from start to end) of the transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prompt {
    /// When the connection would have been free.
    free: Instant,
}

impl Prompt {
    /// A connection that is free from `now`.
    pub(super) fn new(now: Instant) -> Self {
        Self { free: now }
    }

    /// Adds a transaction that has ended, and returns the latency that it would have had, nanoseconds.
    #[inline]
    pub(super) fn ended(&mut self, due: Instant, begun: Instant, end: Instant) -> u64 {
        self.free = due.max(self.free) + end.saturating_duration_since(begun);
        nanoseconds(due, self.free)
    }

    /// How long a transaction that is due would have waited for the connection until `now`, nanoseconds.
    pub(super) fn waiting(&self, due: Instant, now: Instant) -> u64 {
        nanoseconds(due, self.free.min(now))
    }
}

/// Nanoseconds from one time to another; 0 if the other is earlier.
#[inline]
pub(super) fn nanoseconds(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_prompt_latency_excludes_delays_of_the_client_and_includes_the_server() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let mut prompt = Prompt::new(zero);
        let mut ended = |due, begun, end| prompt.ended(at(due), at(begun), at(end)) / 1_000_000;
        assert_eq!(ended(10, 10, 14), 4);
        assert_eq!(ended(12, 14, 18), 6, "waited for the previous transaction");
        // The client slept from 20 to 520; the transactions that became due meanwhile are sent one after the other.
        assert_eq!(ended(100, 520, 524), 4);
        assert_eq!(ended(200, 524, 528), 4);
        assert_eq!(ended(201, 528, 532), 7);
        // The server stalled.
        assert_eq!(ended(600, 600, 1100), 500);
        assert_eq!(ended(700, 1100, 1104), 404);
        let prompt = Prompt { free: at(1104) };
        assert_eq!(prompt.waiting(at(1100), at(1102)), 2_000_000);
        assert_eq!(prompt.waiting(at(1100), at(1900)), 4_000_000, "the rest is the client's own delay");
        assert_eq!(prompt.waiting(at(1200), at(1900)), 0);
    }
}
