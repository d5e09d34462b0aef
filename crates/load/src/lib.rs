//! Load generator: pinned client threads, closed and open loop, key distributions, latency recording.
