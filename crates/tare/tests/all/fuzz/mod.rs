//! Fuzz tests of the test suite: every parser of external input gets thousands of mutated inputs. None may cause a
//! panic, a hang or too much memory use. They are short here; `make fuzz` runs 100,000 and more (`TARE_FUZZ_INPUTS`).
//!
//! | file | content |
//! | --- | --- |
//! | `mutation` | mutates valid inputs, in the same way every time |
//! | `harness` | gives inputs to a parser and checks its behaviour |
//! | `texts` | study files, locations, settings, CSV files |
//! | `results_files` | every file of a results directory; the commands that read them, and their exit codes |
//! | `topology` | descriptions of machines |
//! | `protocols` | servers that send mutated recordings of real ones: MariaDB, MySQL, PostgreSQL, the embedded engine |

mod harness;
mod mutation;
mod protocols;
mod results_files;
mod texts;
mod topology;
