//! What a caller does while a run goes on.

/// Sets the memory policy of the thread that calls it.
type SetPolicy<'a> = dyn Fn() -> Result<(), String> + Sync + 'a;

/// What a caller does while a run goes on: places threads and memory, watches.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Called in each thread, with its number from 0, before it does anything else: binds it where the study wants it.
    pub bind: &'a (dyn Fn(usize) + Sync),
    /// Called in a thread of the run's own, before counters and data are allocated there: gives it another memory
    /// policy than the article's, which interleaves over all nodes. An error ends the run.
    pub memory: Option<&'a SetPolicy<'a>>,
    /// Called when memory is allocated and all threads wait for the start. An error ends the run.
    pub ready: &'a (dyn Fn() -> Result<(), String> + Sync),
    /// Called when all threads have done their rounds, and are still there.
    pub done: &'a (dyn Fn() + Sync),
}

impl Hooks<'static> {
    /// Nothing: threads are left to the system, memory is interleaved as in the article.
    pub const NONE: Self = Self { bind: &|_| {}, memory: None, ready: &|| Ok(()), done: &|| {} };
}
