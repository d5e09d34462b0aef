//! Any program: as the client of a server, or alone.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | what is run and what is read from it; the keys of a study |
//! | `load` | what a trial does with it; what one run gives |

mod load;
mod settings;

pub use settings::CommandSettings;
