//! Global counters: no server, the trial's own fresh process is what is measured.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which counters, how many, how long; the keys of a study; what its rounds are expected to take |
//! | `load` | what a trial does with them |
//! | `proof` | where its memory is; one run of them, watched |

mod load;
mod proof;
mod settings;

pub use settings::CountersSettings;
