//! Checks whether this machine and this user can set a level, without changing anything, and makes the steps to set it,
//! which a session records in the journal and performs.

use super::level::DMA_LATENCY;
use super::{Level, Setting, cpus, files};
use crate::journal::{Format, Undo};
use crate::system::System;
use std::fmt;
use std::io::ErrorKind;

/// Why a level cannot be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// The machine or its kernel does not support it.
    NotHere(String),
    /// This user lacks a permission: the rest of the sentence "needs root".
    Right(String),
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHere(reason) => f.write_str(reason),
            Self::Right(how) => write!(f, "needs root{how}"),
        }
    }
}

fn not_here(reason: impl Into<String>) -> Option<Lacking> {
    Some(Lacking::NotHere(reason.into()))
}

/// Whether a level can be set here; the result of [`Level::availability`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can be set, or is already set.
    Available,
    /// It cannot be set. A condition that needs it is not realizable.
    NotAvailable {
        /// What this machine does not support, or the command that needs root.
        reason: String,
    },
}

impl Level {
    /// Whether this level can be set. A level that is already set needs neither permission nor a write.
    pub fn availability(&self, system: &System) -> Availability {
        match self.lacking(system) {
            None => Availability::Available,
            Some(reason) => Availability::NotAvailable { reason: reason.to_string() },
        }
    }

    /// Whether this machine supports it, at least for root.
    pub(crate) fn is_here(&self, system: &System) -> bool {
        matches!(self.lacking(system), None | Some(Lacking::Right(_)))
    }

    /// Why it cannot be set, if so.
    pub(crate) fn lacking(&self, system: &System) -> Option<Lacking> {
        match (self.setting(), self.cpus()) {
            (Setting::IrqAffinity | Setting::CpuShield, None) => None,
            (Setting::IrqAffinity, Some(_)) => self.lacking_irq(system),
            (Setting::CpuShield, Some(_)) => self.lacking_shield(system),
            (Setting::PageCache, _) if self.text() == "keep" => None,
            (Setting::PageCache, _) => writable(system, "/proc/sys/vm/drop_caches", self.setting(), "3"),
            (Setting::CStates, _) => self.lacking_c_states(system),
            _ => self.lacking_files(system),
        }
    }

    /// The command with which an administrator can set this level until the next reboot. `None` if this machine has no
    /// such file, or one command is not enough.
    pub(crate) fn command(&self, system: &System) -> Option<String> {
        if self.setting() == Setting::Frequency {
            return None;
        }
        let paths = files::paths(self.setting(), system);
        let first = paths.first()?;
        let value = files::encode(self.setting(), first, self.text());
        let many = match (paths.len(), first.rsplit_once("/policy")) {
            (2.., Some((folder, rest))) => Some(format!("{folder}/policy*/{}", rest.rsplit('/').next()?)),
            _ => None,
        };
        Some(command(many.as_ref().unwrap_or(first), &value))
    }

    fn lacking_files(&self, system: &System) -> Option<Lacking> {
        let setting = self.setting();
        let paths = files::paths(setting, system);
        if paths.is_empty() {
            return not_here(files::missing(setting));
        }
        if setting == Setting::Frequency {
            if cpus::is_frequency_held(system, self.text()) {
                return None;
            }
            if let Some(reason) = cpus::lacking_frequency(system, self.text()) {
                return not_here(reason);
            }
        }
        if setting.read(system).is_ok_and(|level| level == self.text()) {
            return None;
        }
        if setting == Setting::Smt {
            match system.read_optional(&paths[0]).unwrap_or_default().trim() {
                "notsupported" => return not_here("this machine has no SMT"),
                "notimplemented" => return not_here(files::missing(setting)),
                "forceoff" => return not_here("SMT was switched off for good at boot (nosmt=force)"),
                _ => {}
            }
        }
        paths.iter().find_map(|path| {
            self.lacking_choice(system, path)
                .or_else(|| writable(system, path, setting, &files::encode(setting, path, self.text())))
        })
    }

    /// Whether this kernel does not offer the governor or choice.
    fn lacking_choice(&self, system: &System, path: &str) -> Option<Lacking> {
        let offered = match self.setting() {
            Setting::Governor => {
                system.read_optional(&path.replace("scaling_governor", "scaling_available_governors"))?
            }
            Setting::Thp | Setting::ThpDefrag => system.read_optional(path)?.replace(['[', ']'], ""),
            _ => return None,
        };
        let known = offered.split_whitespace().any(|word| word == self.text());
        let all = || offered.split_whitespace().collect::<Vec<_>>().join(", ");
        (!known).then(|| Lacking::NotHere(format!("this kernel offers only: {}", all())))
    }

    fn lacking_c_states(&self, system: &System) -> Option<Lacking> {
        if !system.exists(DMA_LATENCY) {
            return not_here(files::missing(Setting::CStates));
        }
        let driver = system.read_optional(&format!("{}/cpuidle/current_driver", files::CPUS)).unwrap_or_default();
        if ["", "none"].contains(&driver.trim()) {
            return not_here("this kernel chooses no idle states (no cpuidle driver, as on most virtual machines)");
        }
        match cpus::idle_latency_us(system, self.text()) {
            _ if ["on", "off"].contains(&self.text()) => {}
            Some(0) => return not_here(format!("{} is the state that c_states = off keeps", self.text())),
            Some(_) => {}
            None => {
                let known: Vec<String> = cpus::idle_states(system).into_keys().collect();
                return not_here(format!(
                    "this machine has no idle state {}: it has {}",
                    self.text(),
                    known.join(", ")
                ));
            }
        }
        if system.may_write(DMA_LATENCY).is_ok() {
            return None;
        }
        // Verifying reads the file, which also needs root.
        Some(Lacking::Right(format!(" to open {DMA_LATENCY}: run with sudo")))
    }

    fn lacking_irq(&self, system: &System) -> Option<Lacking> {
        let cpus = self.cpus()?;
        let moves = cpus::interrupt_moves(system, cpus);
        if cpus::interrupts(system).is_empty() {
            return not_here(files::missing(Setting::IrqAffinity));
        }
        if cpus::online_cpus(system).is_subset(cpus) {
            return not_here("no online CPU would be left for interrupts");
        }
        let (path, list) = moves.first()?;
        writable(system, path, Setting::IrqAffinity, &list.to_string())
    }

    fn lacking_shield(&self, system: &System) -> Option<Lacking> {
        let cpus = self.cpus()?;
        if let Some(reason) = cpus::lacking_for_shield(system) {
            return not_here(reason);
        }
        let online = cpus::online_cpus(system);
        if !cpus.is_subset(&online) {
            return not_here(format!("CPUs {} are not online", cpus.difference(&online)));
        }
        if online.is_subset(cpus) {
            return not_here("no online CPU would be left for the rest of the machine");
        }
        let control = format!("{}/cgroup.subtree_control", cpus::CGROUP);
        system
            .may_write(&control)
            .err()
            .map(|_| Lacking::Right(format!(" to create a control group in {}: run with sudo", cpus::CGROUP)))
    }
}

/// Why this process may not write `value` to `path`, with the command for an administrator.
fn writable(system: &System, path: &str, setting: Setting, value: &str) -> Option<Lacking> {
    let error = system.may_write(path).err()?;
    Some(match error.kind() {
        ErrorKind::NotFound => Lacking::NotHere(files::missing(setting).to_owned()),
        ErrorKind::ReadOnlyFilesystem => {
            Lacking::NotHere(format!("{path} is mounted read-only here, as in most containers"))
        }
        ErrorKind::PermissionDenied => Lacking::Right(format!(": {}", command(path, value))),
        _ => Lacking::NotHere(format!("{path} cannot be written: {error}")),
    })
}

/// The command with which an administrator sets `value`.
fn command(path: &str, value: &str) -> String {
    match path.strip_prefix("/proc/sys/") {
        Some(name) => format!("sudo sysctl {}={value}", name.replace('/', ".")),
        None => format!("echo {value} | sudo tee {path}"),
    }
}

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
        (Setting::IrqAffinity, Some(cpus)) => cpus::interrupt_moves(system, cpus)
            .into_iter()
            .map(|(path, list)| Step::Write {
                path,
                format: Format::CpuList,
                value: list.to_string(),
                may_refuse: true,
            })
            .collect(),
        (Setting::Frequency, _) => cpus::frequency_writes(system, level.text())
            .into_iter()
            .map(|(path, value)| Step::Write { path, format: Format::Plain, value, may_refuse: false })
            .collect(),
        (Setting::CpuShield, Some(cpus)) => {
            let file = |name: &str, value: &str| Step::InGroup {
                path: format!("{}/{name}", cpus::SHIELD),
                value: value.to_owned(),
            };
            vec![
                // The order of undoing: first the group is removed, then the controller is disabled.
                Step::MakeGroup { path: cpus::SHIELD },
                Step::Controller { path: format!("{}/cgroup.subtree_control", cpus::CGROUP), name: "cpuset" },
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
