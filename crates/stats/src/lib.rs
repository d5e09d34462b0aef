//! Pure statistics for benchmarks: no I/O, no clock, no global random numbers.
