//! What has to be done for a level, as steps that the session journals and performs.

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
        /// Some interrupts refuse to move: recorded, and no error.
        may_refuse: bool,
    },
    /// Record only: the kernel will change it.
    Follow { path: String },
    /// Switch a controller on for the groups below.
    Controller { path: String, name: &'static str },
    /// Create a control group.
    MakeGroup { path: &'static str },
    /// Write to a file of the group just made, which goes away with it.
    InGroup { path: String, value: String },
}

impl Step {
    /// What the journal must hold before this step is done. `original` is the file's text now.
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

/// The steps for `level`. They are journalled in this order, and undone in this order within the setting; those of a
/// frequency are done in the reverse one.
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
                // Undone in this order: first the group goes, then the controller.
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
