//! Global counters: no server, the trial's own fresh process is what is measured.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | which counters, how many, how long; the keys of a study |
//! | `load` | what a trial does with them |
//! | `eyes` | one run of them, watched |
//! | `pace` | what its rounds are expected to take |
//! | `proof` | where its memory is |

mod eyes;
mod load;
mod pace;
mod proof;
mod settings;

pub use settings::CountersSettings;
