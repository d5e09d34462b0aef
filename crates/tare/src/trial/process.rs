//! Properties of the server process as factors: address space, allocator, size of the environment. Set before exec,
//! read back from inside the running process.

use crate::study::settings::{AS_FOUND, Kind, Settings};
use crate::trial::allocator::Allocator;
use std::fs;
use tare_engine::{Aslr, EngineError, StartRequest};
use tare_results::schema::AppliedSetting;

/// The variable that makes the environment larger.
const PADDING: &str = "TARE_PADDING";
/// Bytes of the padding's name, its `=` and the zero at its end.
const PADDING_OVERHEAD: usize = PADDING.len() + 2;
/// The longest single string that exec takes: MAX_ARG_STRLEN, 32 pages of 4 KiB (execve(2)).
const LONGEST: usize = 131_072;

/// `[process]`: properties of the server's process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessSettings {
    /// Address space of the server; none: as found.
    pub aslr: Option<Aslr>,
    /// Its memory allocator; none: as found.
    pub allocator: Option<Allocator>,
    /// Bytes that a padding variable adds to its environment; 0: none.
    pub environment_bytes: usize,
}

impl ProcessSettings {
    /// Sets the address space.
    ///
    /// # Errors
    /// What was expected.
    pub fn set_aslr(&mut self, level: &str) -> Result<(), String> {
        self.aslr = match level {
            AS_FOUND => None,
            level => Some(level.parse().map_err(|levels| format!("{levels}, or {AS_FOUND}"))?),
        };
        Ok(())
    }

    /// Sets the allocator by its name or by the path of its library.
    ///
    /// # Errors
    /// What was expected.
    pub fn set_allocator(&mut self, level: &str) -> Result<(), String> {
        self.allocator = match level {
            AS_FOUND => None,
            level => Some(level.parse().map_err(|levels| format!("{levels}, or {AS_FOUND}"))?),
        };
        Ok(())
    }

    /// Sets the bytes that the environment is padded to.
    ///
    /// # Errors
    /// What was expected.
    pub fn set_environment_bytes(&mut self, level: &str) -> Result<(), String> {
        match level.parse() {
            Ok(bytes) if bytes == 0 || (PADDING_OVERHEAD..=LONGEST).contains(&bytes) => self.environment_bytes = bytes,
            _ => return Err(format!("0, or a number of bytes from {PADDING_OVERHEAD} to {LONGEST}")),
        }
        Ok(())
    }
}

/// Whether this machine has, and this user may set, all that the condition asks of the server process.
///
/// # Errors
/// The reason, when not.
pub fn available(settings: &Settings) -> Result<(), String> {
    let process = &settings.process;
    if settings.workload.kind == Kind::Counters && *process != ProcessSettings::default() {
        return Err("the workload counters has no server process, so [process] means nothing to it".into());
    }
    if let Some(aslr) = process.aslr {
        aslr.available().map_err(|reason| format!("aslr={aslr}: {reason}"))?;
    }
    match &process.allocator {
        Some(allocator) => allocator.library().map(drop).map_err(|reason| format!("allocator={allocator}: {reason}")),
        None => Ok(()),
    }
}

/// Asks for it at the start of a server.
///
/// # Errors
/// When the allocator is not installed any more.
pub fn request(settings: &ProcessSettings, request: &mut StartRequest) -> Result<(), String> {
    request.aslr = settings.aslr;
    if let Some(allocator) = &settings.allocator {
        // An inherited preload would be another allocator than the one asked for.
        request.environment.insert("LD_PRELOAD".into(), String::new());
        request.allocator_preload = allocator.library()?;
    }
    if settings.environment_bytes > 0 {
        let value = "x".repeat(settings.environment_bytes - PADDING_OVERHEAD);
        request.environment.insert(PADDING.into(), value);
    }
    Ok(())
}

/// Reads everything back from process `pid`.
///
/// # Errors
/// [`EngineError::NotInEffect`] when something is not as asked.
pub fn verify(settings: &ProcessSettings, pid: u32) -> Result<Vec<AppliedSetting>, EngineError> {
    let mut applied = Vec::new();
    let mut add = |factor: &str, level: String, verified: String| {
        applied.push(AppliedSetting { factor: factor.into(), level, found: None, verified });
    };
    if let Some(aslr) = settings.aslr {
        add("aslr", aslr.to_string(), aslr.verify(pid)?);
    }
    if let Some(allocator) = &settings.allocator {
        add("allocator", allocator.to_string(), allocator.verify(pid)?);
    }
    if settings.environment_bytes > 0 {
        add("environment_bytes", settings.environment_bytes.to_string(), padding(pid, settings.environment_bytes)?);
    }
    Ok(applied)
}

fn padding(pid: u32, asked: usize) -> Result<String, EngineError> {
    let text = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let total = text.len();
    let found = text.split(|byte| *byte == 0).find(|entry| entry.starts_with(PADDING.as_bytes()));
    match found.map(|entry| entry.len() + 1) {
        Some(bytes) if bytes == asked => {
            Ok(format!("{bytes} bytes of {total} in the environment of the server process"))
        }
        found => Err(EngineError::NotInEffect {
            setting: "environment_bytes",
            asked: asked.to_string(),
            found: format!("{} bytes of {PADDING}", found.unwrap_or(0)),
        }),
    }
}
