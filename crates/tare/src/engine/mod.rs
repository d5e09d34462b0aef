//! The databases: start, prove ready, connect, stop.
