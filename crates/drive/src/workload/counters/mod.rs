//! Global counters: without a server; the trial's own fresh process is measured.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the counters, their number, the rounds; the keys of a study; the expected duration |
//! | `load` | a trial with counters |
//! | `proof` | the location of the memory; observation of one run |

mod load;
mod proof;
mod settings;

pub(crate) use settings::CountersSettings;
