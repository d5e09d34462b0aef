//! Properties of the server process: requested before exec, read back from the running process.

use tare_cpuset::observe;
use tare_engine::{EngineError, StartRequest};
use tare_results::schema::AppliedSetting;
use tare_study::language::settings::{PADDING, PADDING_OVERHEAD, ProcessSettings};

/// Adds the properties to the start request of a server.
///
/// `drawn` is padding for its environment, used if the study sets no length itself.
pub(crate) fn request(
    settings: &ProcessSettings,
    drawn: Option<String>,
    request: &mut StartRequest,
) -> Result<(), String> {
    request.aslr = settings.aslr;
    if let Some(allocator) = &settings.allocator {
        // An inherited preload could load an allocator other than the requested one.
        request.environment.insert("LD_PRELOAD".into(), String::new());
        request.allocator_preload = allocator.library()?;
    }
    request.environment.extend(longer_by(settings, drawn).map(|value| (PADDING.to_owned(), value)));
    Ok(())
}

fn longer_by(settings: &ProcessSettings, drawn: Option<String>) -> Option<String> {
    let requested = settings.environment_bytes.checked_sub(PADDING_OVERHEAD).map(|bytes| "x".repeat(bytes));
    requested.or(drawn)
}

/// Reads all properties back from process `pid`.
pub(crate) fn verify(settings: &ProcessSettings, pid: u32) -> Result<Vec<AppliedSetting>, EngineError> {
    let mut applied = Vec::new();
    if let Some(aslr) = settings.aslr {
        applied.push(AppliedSetting::new("aslr", aslr, aslr.verify(pid)?));
    }
    if let Some(allocator) = &settings.allocator {
        applied.push(AppliedSetting::new("allocator", allocator, allocator.verify(pid)?));
    }
    if let Some(requested) = settings.memory_limit_bytes {
        applied.push(AppliedSetting::new("memory_limit_bytes", requested, memory_limit(pid, requested)?));
    }
    if let requested @ 1.. = settings.environment_bytes {
        applied.push(AppliedSetting::new("environment_bytes", requested, padding(pid, requested)?));
    }
    Ok(applied)
}

/// The kernel rounds the limit down to whole pages.
fn memory_limit(pid: u32, requested: u64) -> Result<String, EngineError> {
    let found = tare_noise::memory_limit_bytes(pid);
    match found.filter(|found| (requested.saturating_sub(LARGEST_PAGE)..=requested).contains(found)) {
        Some(found) => Ok(format!("the limit of the server's control group reads back {found} bytes")),
        None => Err(EngineError::NotInEffect {
            setting: "memory_limit_bytes",
            requested: requested.to_string(),
            found: found.map_or("no limit".to_owned(), |found| format!("{found} bytes")),
        }),
    }
}

/// The largest page size of any processor that this program supports, bytes.
const LARGEST_PAGE: u64 = 64 << 10;

fn padding(pid: u32, requested: usize) -> Result<String, EngineError> {
    let text = observe::environment(pid.cast_signed()).unwrap_or_default();
    let total = text.len();
    let found = text.split(|byte| *byte == 0).find(|entry| entry.starts_with(PADDING.as_bytes()));
    match found.map(|entry| entry.len() + 1) {
        Some(bytes) if bytes == requested => {
            Ok(format!("{bytes} bytes of {total} in the environment of the server process"))
        }
        found => Err(EngineError::NotInEffect {
            setting: "environment_bytes",
            requested: requested.to_string(),
            found: format!("{} bytes of {PADDING}", found.unwrap_or(0)),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_gets_the_environment_size_of_the_study_or_else_the_drawn_one() {
        let padding = |environment_bytes: usize, drawn: Option<&str>| {
            let settings = ProcessSettings { environment_bytes, ..ProcessSettings::default() };
            longer_by(&settings, drawn.map(str::to_owned))
        };
        assert_eq!(padding(0, None), None);
        assert_eq!(padding(0, Some("xxxx")).as_deref(), Some("xxxx"));
        assert_eq!(padding(PADDING_OVERHEAD + 2, Some("xxxx")).as_deref(), Some("xx"));
    }
}
