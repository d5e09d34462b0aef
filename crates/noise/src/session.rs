//! A session applies settings with the journal, and restores them at its end.

use crate::error::{NoiseError, Result};
use crate::journal::{Entry, Journal, RestoreReport, Undo, VERSION, boot_id, recover, undo_all};
use crate::lock::HostLock;
use crate::setting::{Availability, DMA_LATENCY, Level, SHIELD, Setting, Step, idle_latency_us, steps};
use crate::system::System;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Name in the journal of a controller that groups of servers need, for example for `cpuset.mems`.
const MEMORY_NODES: &str = "memory_nodes";

/// What [`Session::apply`] changed on the machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Applied {
    /// Files written, in order; empty if the machine already had the level.
    pub written: Vec<String>,
    /// Files that refused the value, with the reason: interrupts that this kernel cannot move.
    pub refused: Vec<(String, String)>,
}

/// Applies machine-wide settings. The original values are restored when it is dropped or closed or, after a kill, when
/// the next session begins.
///
/// The caller handles signals: on SIGINT and SIGTERM it must call [`Session::close`]; then nothing more can be set.
#[derive(Debug)]
pub struct Session {
    system: System,
    journal: Journal,
    entries: Vec<Entry>,
    /// /dev/cpu_dma_latency, open with a requested limit, which the kernel drops when the file is closed.
    latency: Option<File>,
    closed: bool,
    _lock: HostLock,
}

impl Session {
    /// Begins a session. It first restores what an earlier one left, if anything; the report lists it. If there is
    /// nothing to restore, it needs no privileges and writes nothing.
    ///
    /// # Errors
    /// The errors of [`recover`].
    pub fn begin(system: System, state_dir: &Path, lock: HostLock) -> Result<(Self, RestoreReport)> {
        let report = recover(&system, state_dir, &lock)?;
        let journal = Journal::new(state_dir);
        let (entries, _) = journal.load()?;
        Ok((Self { system, journal, entries, latency: None, closed: false, _lock: lock }, report))
    }

    /// Sets `level` and verifies it. The original values are on disk before anything changes. A level that the machine
    /// already has is neither recorded in the journal nor written.
    ///
    /// # Errors
    /// [`NoiseError::NotAvailable`] before anything is changed; [`NoiseError::ChangedMeanwhile`] when another program
    /// changed the value since this session wrote it; [`NoiseError::NotVerified`] when the machine does not have the
    /// level afterwards; [`NoiseError::Closed`]; the errors of writing. What was changed stays in the journal.
    pub fn apply(&mut self, level: &Level) -> Result<Applied> {
        if self.closed {
            return Err(NoiseError::Closed);
        }
        if let Availability::NotAvailable { reason } = level.availability(&self.system) {
            let (setting, level) = (level.setting().name(), level.text().to_owned());
            return Err(NoiseError::NotAvailable { setting, level, reason });
        }
        match (level.setting(), level.text()) {
            (Setting::CStates, text) => self.hold_c_states(text)?,
            (Setting::PageCache, "drop") => return self.drop_page_cache(),
            // The original values are restored first, for "off" and for a new list of CPUs.
            (Setting::IrqAffinity | Setting::CpuShield, _) => {
                if level.setting() == Setting::CpuShield && level.verify(&self.system).is_ok() {
                    return Ok(Applied::default());
                }
                self.restore_one(level.setting())?;
            }
            _ => {}
        }
        let applied = self.perform(level)?;
        level.verify(&self.system)?;
        Ok(applied)
    }

    /// Moves a process with all its threads into the shield that `cpu_shield` created, where it stays until it ends.
    ///
    /// # Errors
    /// [`NoiseError::Write`] when there is no shield or the process has ended.
    pub fn enter_shield(&self, pid: u32) -> Result<()> {
        self.system.write(&format!("{SHIELD}/cgroup.procs"), &pid.to_string())
    }

    /// Enables a controller for the groups below a cgroup v2 group, unless it is enabled already. `path` is the group's
    /// `cgroup.subtree_control`.
    ///
    /// # Errors
    /// The errors of the journal, of reading and of writing.
    pub fn hand_down(&mut self, controller: &str, path: &str) -> Result<()> {
        let on = self.system.read(path)?.split_whitespace().any(|word| word == controller);
        if on {
            return Ok(());
        }
        let undo = Undo::Controller { path: path.to_owned(), name: controller.to_owned() };
        let entry = Entry { v: VERSION, boot: boot_id(&self.system), setting: MEMORY_NODES.to_owned(), undo };
        self.journal.append(std::slice::from_ref(&entry))?;
        self.entries.push(entry);
        self.system.write(path, &format!("+{controller}"))
    }

    /// Restores everything; the session can still apply settings.
    ///
    /// # Errors
    /// When the journal cannot be rewritten; see also [`RestoreReport::failed`].
    pub fn restore(&mut self) -> Result<RestoreReport> {
        self.latency = None;
        self.undo(|_| true)
    }

    /// Restores everything and refuses to set anything more, for signals and for the end of a run.
    ///
    /// # Errors
    /// As [`Session::restore`].
    pub fn close(&mut self) -> Result<RestoreReport> {
        self.closed = true;
        self.restore()
    }

    /// The machine this session works on.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Restores one setting. It is an error if this fails, because the next level must start from the original values.
    fn restore_one(&mut self, setting: Setting) -> Result<()> {
        if !self.entries.iter().any(|e| e.setting == setting.name()) {
            return Ok(());
        }
        let report = self.undo(|name| name == setting.name())?;
        let trouble = report.failed().chain(report.changed_by_other()).next();
        match trouble {
            None => Ok(()),
            Some(file) => Err(NoiseError::NotVerified {
                setting: setting.name(),
                expected: "restored".to_owned(),
                found: format!("{} {}", file.path, file.outcome),
            }),
        }
    }

    fn undo(&mut self, wanted: impl Fn(&str) -> bool) -> Result<RestoreReport> {
        if self.entries.is_empty() {
            return Ok(RestoreReport::default());
        }
        let (report, left) = undo_all(&self.system, &self.journal, &self.entries, wanted)?;
        self.entries = left;
        Ok(report)
    }

    fn perform(&mut self, level: &Level) -> Result<Applied> {
        let mut todo = Vec::new();
        let mut entries = Vec::new();
        for step in steps(level, &self.system) {
            let (needed, entry) = self.prepare(level.setting(), &step)?;
            if needed {
                todo.push(step);
            }
            entries.extend(entry);
        }
        if todo.is_empty() {
            return Ok(Applied::default());
        }
        self.journal.append(&entries)?;
        self.entries.append(&mut entries);
        // The controller must be enabled before its files exist in the group; the journal has the reverse order.
        todo.sort_by_key(|step| !matches!(step, Step::Controller { .. }));
        if level.setting() == Setting::Frequency {
            todo.reverse();
        }
        let mut applied = Applied::default();
        for step in todo {
            match self.perform_step(&step) {
                Ok(()) => applied.written.push(step.path().to_owned()),
                Err(e) if matches!(step, Step::Write { may_refuse: true, .. }) => {
                    applied.refused.push((step.path().to_owned(), e.to_string()));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(applied)
    }

    /// Whether a step has anything to do, and the entry that the journal needs for it, unless it has it already.
    fn prepare(&self, setting: Setting, step: &Step) -> Result<(bool, Option<Entry>)> {
        let path = step.path();
        let known: Vec<&Undo> = self.entries.iter().map(|e| &e.undo).filter(|u| u.path() == path).collect();
        let entry = |undo: Option<Undo>| {
            undo.map(|undo| Entry { v: VERSION, boot: boot_id(&self.system), setting: setting.name().to_owned(), undo })
        };
        match step {
            Step::Write { format, value, .. } => {
                let now = self.system.read(path)?;
                let found = format.value(&now);
                // The first recorded original is kept, even if the file is written several times.
                let (mut original, mut ours) = (now, BTreeSet::new());
                for undo in &known {
                    if let Undo::File { original: first, wrote, .. } = undo {
                        original.clone_from(first);
                        ours.insert(format.value(first));
                        ours.extend(wrote.as_ref().map(|w| format.value(w)));
                    }
                }
                let wanted = format.value(value);
                if found == wanted {
                    return Ok((false, None));
                }
                if !ours.is_empty() && !ours.contains(&found) {
                    let ours = ours.into_iter().collect::<Vec<_>>().join(" or ");
                    return Err(NoiseError::ChangedMeanwhile { path: path.to_owned(), ours, found });
                }
                Ok((true, if ours.contains(&wanted) { None } else { entry(step.undo(original)) }))
            }
            // It does nothing itself, and is recorded once.
            Step::Follow { .. } if known.is_empty() => Ok((false, entry(step.undo(self.system.read(path)?)))),
            Step::Follow { .. } => Ok((false, None)),
            Step::Controller { name, .. } => {
                let on = self.system.read(path)?.split_whitespace().any(|w| w == *name);
                Ok((!on, if on { None } else { entry(step.undo(String::new())) }))
            }
            // An existing group that is not in our journal must not be removed by us.
            Step::MakeGroup { path } if self.system.exists(path) => Err(NoiseError::Write {
                action: "create",
                path: self.system.path(path),
                source: std::io::ErrorKind::AlreadyExists.into(),
            }),
            Step::MakeGroup { .. } => Ok((true, entry(step.undo(String::new())))),
            Step::InGroup { .. } => Ok((true, None)),
        }
    }

    fn perform_step(&self, step: &Step) -> Result<()> {
        let system = &self.system;
        match step {
            Step::Write { path, format, value, .. } => {
                system.write(path, value)?;
                let found = format.value(&system.read(path)?);
                if found == format.value(value) {
                    return Ok(());
                }
                Err(NoiseError::Format {
                    path: system.path(path),
                    expected: "the value just written",
                    found: found.chars().take(80).collect(),
                })
            }
            Step::Controller { path, name } => system.write(path, &format!("+{name}")),
            Step::MakeGroup { path } => system.make_group(path),
            Step::InGroup { path, value } => system.write(path, value),
            Step::Follow { .. } => Ok(()),
        }
    }

    fn hold_c_states(&mut self, level: &str) -> Result<()> {
        self.latency = None;
        let limit_us = match level {
            "on" => None,
            "off" => Some(0),
            state => idle_latency_us(&self.system, state),
        };
        if let Some(us) = limit_us {
            let path = self.system.path(DMA_LATENCY);
            let open = OpenOptions::new().write(true).open(&path).and_then(|mut file| {
                file.write_all(&us.to_ne_bytes())?;
                Ok(file)
            });
            self.latency = Some(open.map_err(|source| NoiseError::Write { action: "write", path, source })?);
        }
        Ok(())
    }

    fn drop_page_cache(&self) -> Result<Applied> {
        // Dirty pages cannot be dropped (admin-guide/sysctl/vm, drop_caches).
        rustix::fs::sync();
        let path = "/proc/sys/vm/drop_caches";
        self.system.write(path, "3")?;
        Ok(Applied { written: vec![path.to_owned()], refused: Vec::new() })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What cannot be restored stays in the journal, and the next start reports it.
        let _ = self.close();
    }
}
