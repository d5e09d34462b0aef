//! Tests that bind and observe threads on this kernel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods)]

mod binding;
mod in_call;
