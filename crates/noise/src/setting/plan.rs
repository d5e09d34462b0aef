//! The steps to set a level, which a session records in the journal and performs.

use super::{Level, Setting, files, frequency, irq, shield};
use crate::journal::{Format, Undo};
use crate::system::System;

/// One step towards a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Write {
        path: String,
        format: Format,
        value: String,
        /// If the kernel refuses the value, this is recorded and is not an error: some interrupts cannot be moved.
        may_refuse: bool,
    },
    /// Only record the file: the kernel will change it.
    Follow { path: String },
    /// Enable a controller for the groups below.
    Controller { path: String, name: &'static str },
    /// Create a control group.
    MakeGroup { path: &'static str },
    /// Write to a file of the group that was just created; the file disappears with the group.
    InGroup { path: String, value: String },
}

impl Step {
    /// What the journal must contain before this step is performed. `original` is the file's present text.
    pub(crate) fn undo(&self, original: String) -> Option<Undo> {
        Some(match self {
            Self::Write { path, format, value, .. } => {
                Undo::File { path: path.clone(), format: *format, original, wrote: Some(value.clone()) }
            }
            Self::Follow { path } => Undo::File { path: path.clone(), format: Format::Plain, original, wrote: None },
            Self::Controller { path, name } => Undo::Controller { path: path.clone(), name: (*name).to_owned() },
            Self::MakeGroup { path } => Undo::Cgroup { path: (*path).to_owned() },
            Self::InGroup { .. } => return None,
        })
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Follow { path }
            | Self::Controller { path, .. }
            | Self::InGroup { path, .. } => path,
            Self::MakeGroup { path } => path,
        }
    }
}

/// The steps for `level`. They are recorded in this order, and undone in this order within the setting. Those of a
/// frequency are performed in the reverse order.
pub(crate) fn steps(level: &Level, system: &System) -> Vec<Step> {
    let setting = level.setting();
    match (setting, level.cpus()) {
        (Setting::IrqAffinity, Some(cpus)) => irq::moves(system, cpus)
            .into_iter()
            .map(|(path, list)| Step::Write {
                path,
                format: Format::CpuList,
                value: list.to_string(),
                may_refuse: true,
            })
            .collect(),
        (Setting::Frequency, _) => frequency::writes(system, level.text())
            .into_iter()
            .map(|(path, value)| Step::Write { path, format: Format::Plain, value, may_refuse: false })
            .collect(),
        (Setting::CpuShield, Some(cpus)) => {
            let file = |name: &str, value: &str| Step::InGroup {
                path: format!("{}/{name}", shield::SHIELD),
                value: value.to_owned(),
            };
            vec![
                // The order of undoing: first the group is removed, then the controller is disabled.
                Step::MakeGroup { path: shield::SHIELD },
                Step::Controller { path: format!("{}/cgroup.subtree_control", shield::CGROUP), name: "cpuset" },
                file("cpuset.cpus", &cpus.to_string()),
                file("cpuset.cpus.partition", "root"),
            ]
        }
        _ => {
            let writes = files::paths(setting, system).into_iter().map(|path| {
                let value = files::encode(setting, &path, level.text());
                Step::Write { path, format: files::format(setting), value, may_refuse: false }
            });
            let followers = files::followers(setting, system).into_iter().map(|path| Step::Follow { path });
            writes.chain(followers).collect()
        }
    }
}
