//! Runs that end early: kills, Ctrl-C, full disks, hostile users; and what they leave.

mod crash_points;
mod denied;
mod disk;
mod exchanged;
mod extremes;
mod failures;
mod helpers;
pub mod killed;
mod kills;
mod moments;
mod neighbours;
mod settings;
mod trust;
