//! From trial records to what they say: one summary that the terminal, the HTML report and --json share.

pub mod collect;
pub mod figures;
pub mod machine_view;
pub mod summary;
