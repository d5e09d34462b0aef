//! Fuzzing that stays: every reader of what comes from outside gets thousands of inputs made by mutating good ones.
//! None may make it panic, hang or take more than its memory. Short here; `make fuzz` runs 100,000 and more
//! (`TARE_FUZZ_INPUTS`).
//!
//! | file | holds |
//! | --- | --- |
//! | `mutation` | good inputs made bad, the same ones every time |
//! | `harness` | gives them to a reader, and judges it |
//! | `texts` | study files, locations, settings, CSV files |
//! | `results_files` | every file of a results directory; the commands that read them, and their exit codes |
//! | `topology` | descriptions of machines |
//! | `protocols` | servers that say what real ones said, mutated: MariaDB, MySQL, PostgreSQL, the embedded engine |

mod harness;
mod mutation;
mod protocols;
mod results_files;
mod texts;
mod topology;
