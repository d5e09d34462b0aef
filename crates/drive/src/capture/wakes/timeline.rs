//! What every thread did, span by span, from the events of the scheduler.

use super::script::{Event, What};
use std::collections::HashMap;

/// What a thread did for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ran,
    Ready,
    /// Until another thread woke it; none where no one did while events were recorded.
    Asleep {
        woken_by: Option<u32>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub from_ns: u64,
    pub to_ns: u64,
    pub state: State,
}

/// The spans of all threads, in the order of time; no two of one thread overlap.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub spans: HashMap<u32, Vec<Span>>,
    pub names: HashMap<u32, String>,
    now: HashMap<u32, (u64, State)>,
    first_ns: Option<u64>,
    last_ns: u64,
    pub events: u64,
}

impl Timeline {
    pub fn add(&mut self, event: &Event<'_>) {
        let at_ns = event.at_ns.max(self.last_ns);
        self.first_ns.get_or_insert(at_ns);
        self.last_ns = at_ns;
        self.events += 1;
        match event.what {
            What::Switch { previous, sleeps, next } => {
                for thread in [previous, next] {
                    self.names.entry(thread.tid).or_insert_with(|| thread.name.to_owned());
                }
                let state = if sleeps { State::Asleep { woken_by: None } } else { State::Ready };
                self.becomes(previous.tid, at_ns, state, State::Ran);
                self.becomes(next.tid, at_ns, State::Ran, State::Ready);
            }
            What::Waking { by, woken } => {
                let asleep = self.now.get(&woken).is_none_or(|(_, state)| matches!(state, State::Asleep { .. }));
                if asleep {
                    let slept = State::Asleep { woken_by: Some(by) };
                    self.now.entry(woken).and_modify(|(_, state)| *state = slept);
                    self.becomes(woken, at_ns, State::Ready, slept);
                }
            }
        }
    }

    /// Ends what a thread did; what it did before its first event is what that event says.
    fn becomes(&mut self, tid: u32, at_ns: u64, next: State, before: State) {
        let began = self.first_ns.unwrap_or(at_ns);
        let (from_ns, state) = self.now.insert(tid, (at_ns, next)).unwrap_or((began, before));
        if at_ns > from_ns {
            self.spans.entry(tid).or_default().push(Span { from_ns, to_ns: at_ns, state });
        }
    }

    pub fn end(&mut self) {
        for (tid, (from_ns, state)) in std::mem::take(&mut self.now) {
            if self.last_ns > from_ns {
                self.spans.entry(tid).or_default().push(Span { from_ns, to_ns: self.last_ns, state });
            }
        }
    }

    pub fn elapsed_ns(&self) -> u64 {
        self.last_ns - self.first_ns.unwrap_or(self.last_ns)
    }

    /// What a thread did between two moments, cut to them.
    pub fn between(&self, tid: u32, from_ns: u64, to_ns: u64) -> impl Iterator<Item = Span> {
        let spans = self.spans.get(&tid).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.to_ns <= from_ns);
        spans[first..].iter().take_while(move |span| span.from_ns < to_ns).map(move |span| Span {
            from_ns: span.from_ns.max(from_ns),
            to_ns: span.to_ns.min(to_ns),
            state: span.state,
        })
    }
}
