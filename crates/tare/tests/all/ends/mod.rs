//! How runs end early: kills, Ctrl-C, full disks, hostile users; and what is left then.

mod disk;
mod extremes;
mod failures;
mod helpers;
mod kills;
mod moments;
mod settings;
mod trust;
