//! Scalable statistical counters.
