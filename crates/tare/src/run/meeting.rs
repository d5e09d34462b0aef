//! Where two trials of a pair wait for each other: in a duet before their first samples, by turns before each turn.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tare_drive::workload::Progress;

/// The state of two trials, which decides when each may go on.
#[derive(Debug, Default)]
pub(crate) struct Meeting {
    /// Which of the two measures first in each round; empty in a duet, where both go on together.
    first: Vec<usize>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waits: [bool; 2],
    /// The trial has no further sample, and waits before it stops its server.
    measured: [bool; 2],
    ended: [bool; 2],
    turns: [usize; 2],
    measures: Option<usize>,
    /// Neither trial waits any more.
    open: bool,
}

/// How a waiting trial goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// With its next sample.
    Turn,
    /// To its end, without waiting again.
    Free,
}

impl Meeting {
    pub(crate) fn duet() -> Self {
        Self::default()
    }

    /// Samples take turns; `first` says which trial begins each round.
    pub(crate) fn by_turns(first: Vec<usize>) -> Self {
        Self { first, ..Self::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    fn pass(&self, state: &State, own: usize) -> Option<Pass> {
        let other = 1 - own;
        if state.open || state.ended != [false; 2] || state.measured == [true; 2] {
            return Some(Pass::Free);
        }
        let both = state.waits == [true; 2];
        if self.first.is_empty() {
            return both.then_some(Pass::Free);
        }
        let round = state.turns[own];
        let is_first = self.first[round % self.first.len()] == own;
        let has_it = match round.cmp(&state.turns[other]) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => both && is_first,
            std::cmp::Ordering::Greater => false,
        };
        (state.waits[own] && state.measures.is_none() && has_it).then_some(Pass::Turn)
    }
}

/// One of the two trials, with `place` 0 or 1.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub meeting: Arc<Meeting>,
    pub place: usize,
}

impl Guest {
    /// Records a step that the trial reports.
    pub(crate) fn says(&self, step: &Progress) {
        let own = self.place;
        let measured = match step {
            Progress::Sample { .. } | Progress::Turn => false,
            Progress::Stopping => true,
            _ => return,
        };
        self.meeting.change(|state| {
            state.waits[own] = true;
            state.measured[own] = measured;
            state.measures.take_if(|who| *who == own);
        });
    }

    /// Waits until the trial may go on.
    pub(crate) fn wait(&self) -> Pass {
        let (meeting, own) = (&self.meeting, self.place);
        let mut state = meeting.state();
        loop {
            if let Some(pass) = meeting.pass(&state, own) {
                if pass == Pass::Turn {
                    state.waits[own] = false;
                    state.turns[own] += 1;
                    state.measures = Some(own);
                }
                return pass;
            }
            state = meeting.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets both trials go on: this one must stop, and a waiting trial would not notice that otherwise.
    pub(crate) fn open(&self) {
        self.meeting.change(|state| state.open = true);
    }
}

/// Ends one of the two trials on drop: the other no longer waits.
pub(crate) struct Over<'g>(pub &'g Guest);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.meeting.change(|state| state.ended[self.0.place] = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Progress = Progress::Sample { sample: 0, seconds: 1.0 };

    fn guests(meeting: Meeting) -> [Guest; 2] {
        let meeting = Arc::new(meeting);
        [0, 1].map(|place| Guest { meeting: Arc::clone(&meeting), place })
    }

    fn may(guest: &Guest) -> Option<Pass> {
        let state = guest.meeting.state();
        guest.meeting.pass(&state, guest.place)
    }

    #[test]
    fn samples_alternate_in_the_drawn_order_and_no_server_stops_during_a_sample() {
        let [a, b] = guests(Meeting::by_turns(vec![0, 1]));
        a.says(&SAMPLE);
        assert_eq!((may(&a), may(&b)), (None, None), "the other is not there");
        b.says(&SAMPLE);
        assert_eq!((a.wait(), may(&b)), (Pass::Turn, None));
        a.says(&SAMPLE);
        assert_eq!((may(&a), b.wait()), (None, Pass::Turn));
        assert_eq!(may(&a), None, "the other measures");
        b.says(&SAMPLE);
        // In the second round, the other trial is first.
        assert_eq!((may(&a), b.wait()), (None, Pass::Turn));
        b.says(&Progress::Stopping);
        assert_eq!((a.wait(), may(&b)), (Pass::Turn, None), "a sample is under way");
        a.says(&Progress::Stopping);
        assert_eq!((may(&a), may(&b)), (Some(Pass::Free), Some(Pass::Free)));
    }

    #[test]
    fn a_duet_begins_together_and_then_never_waits() {
        let [a, b] = guests(Meeting::duet());
        a.says(&SAMPLE);
        assert_eq!(may(&a), None);
        b.says(&SAMPLE);
        assert_eq!((a.wait(), b.wait()), (Pass::Free, Pass::Free));
    }

    #[test]
    fn a_trial_does_not_wait_for_one_that_ended_or_must_stop() {
        for meeting in [|| Meeting::by_turns(vec![1]), Meeting::duet] {
            let [a, b] = guests(meeting());
            a.says(&SAMPLE);
            drop(Over(&b));
            assert_eq!(a.wait(), Pass::Free);
            let [a, b] = guests(meeting());
            a.says(&SAMPLE);
            b.open();
            assert_eq!(a.wait(), Pass::Free);
        }
    }
}
