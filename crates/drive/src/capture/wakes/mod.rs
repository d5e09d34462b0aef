//! Which threads wake which: scheduler tracepoints during the capture sample. Waiting time is attributed along the
//! chain of wakers as in wPerf (Zhou, Gan, Ma & Wang, OSDI 2018). Call chains of some sleeps show which functions led
//! to them.

mod callers;
mod charge;
mod recording;
mod script;

pub(super) use recording::Wakes;
