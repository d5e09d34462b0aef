//! Who wakes whom: scheduler tracepoints around the capture sample, and waiting time passed on along the chain of
//! wakers as wPerf does (Zhou, Gan, Ma & Wang, OSDI 2018). Who called what they sleep in, by the call chains of some
//! sleeps.

mod callers;
mod charge;
mod recording;
mod script;

pub(super) use recording::Wakes;
