//! Any program: as the client of a server, or alone.
//!
//! | file | holds |
//! | --- | --- |
//! | `settings` | the commands and the metrics read from their output; the keys of a study |
//! | `load` | a trial with the program; the result of one run |

mod load;
mod settings;

pub use settings::CommandSettings;
