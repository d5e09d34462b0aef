//! Clients whose transaction does not end after a sample, and what the server's threads do meanwhile.

use std::fmt;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{ThreadState, state_of};
use tare_text::count;

/// Maximum clients that the error describes.
const DESCRIBED: usize = 3;

/// A client without an answer, and the thread of the server behind its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stuck {
    client: usize,
    /// `None`: the thread is not known, or it has ended.
    serving: Option<(ThreadRef, ThreadState)>,
}

impl Stuck {
    pub(super) fn of(client: usize, serving: Option<ThreadRef>) -> Self {
        Self { client, serving: serving.and_then(|thread| Some((thread, state_of(thread).ok()?))) }
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.serving {
            Some((thread, state)) => write!(f, "client {}: thread {} of the server {state}", self.client, thread.tid),
            None => write!(f, "client {}: its thread of the server is not known", self.client),
        }
    }
}

/// Transactions that were running at the end of a sample got no answer in time.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) struct Unanswered {
    pub(super) patience_s: f64,
    pub(super) stuck: Vec<Stuck>,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { patience_s, stuck } = self;
        let clients = count(stuck.len(), "client thread");
        write!(f, "no answer on {clients} {patience_s} s after the end of the sample: the server does not answer")?;
        stuck.iter().take(DESCRIBED).try_for_each(|one| write!(f, "; {one}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn the_error_says_what_the_threads_of_the_server_do() {
        let (send, thread) = channel();
        let (end, ended) = channel::<()>();
        let sleeper = std::thread::spawn(move || {
            send.send(ThreadRef::of_this_thread()).unwrap();
            let _ = ended.recv();
        });
        let asleep = thread.recv().unwrap();
        // It sleeps some time after its message.
        let stuck = (0..1000).map(|_| Stuck::of(7, Some(asleep))).find(|one| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            one.to_string().contains("sleeps")
        });
        let stuck = vec![stuck.unwrap(), Stuck::of(8, Some(ThreadRef::of_this_thread())), Stuck::of(9, None)];
        let text = Unanswered { patience_s: 30.0, stuck }.to_string();
        let expected = format!(
            "no answer on 3 client threads 30 s after the end of the sample: the server does not answer; client 7: \
             thread {} of the server sleeps",
            asleep.tid
        );
        assert!(text.starts_with(&expected), "{text}");
        assert!(text.contains("runs or waits for a CPU; client 9: its thread of the server is not known"), "{text}");
        drop(end);
        sleeper.join().unwrap();
    }
}
