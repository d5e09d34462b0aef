//! `[process]`: properties of the server process as factors: address space, allocator, size of the environment.

use std::fmt::Display;
use std::str::FromStr;
use tare_engine::{Allocator, Aslr};
use tare_noise::CacheLimits;
use tare_text::Value;

/// The level of a machine or process setting that means: leave it unchanged, but record it.
pub(crate) const AS_FOUND: &str = "as-found";
/// The environment variable that enlarges the environment.
pub const PADDING: &str = "TARE_PADDING";
/// Bytes of the padding's name, its `=` and the terminating zero.
pub const PADDING_OVERHEAD: usize = PADDING.len() + 2;
/// Limit on a single string of exec: MAX_ARG_STRLEN, 32 pages of 4 KiB (execve(2)).
const LONGEST: usize = 131_072;

/// No server starts with less memory.
const LEAST_MEMORY: u64 = 16 << 20;
pub(crate) const NO_LIMIT: &str = "none";
/// The kernel's masks for the ways of a cache have 32 bits.
const MOST_WAYS: u32 = 32;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessSettings {
    /// Address space layout of the server; none: as found.
    pub aslr: Option<Aslr>,
    /// Its memory allocator; none: as found.
    pub allocator: Option<Allocator>,
    /// Bytes that a padding variable adds to its environment; 0: no padding.
    pub environment_bytes: usize,
    /// Limit on its memory including its page cache, bytes; none: no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Limits on the L3 cache and the memory bandwidth that its threads use.
    pub cache: CacheLimits,
}

impl ProcessSettings {
    pub(crate) fn set_aslr(&mut self, level: &Value) -> Result<(), String> {
        self.aslr = or_as_found(level)?;
        Ok(())
    }

    /// Sets the allocator by its name or by the path of its library.
    pub(crate) fn set_allocator(&mut self, level: &Value) -> Result<(), String> {
        self.allocator = or_as_found(level)?;
        Ok(())
    }

    /// Sets the limit of its memory: bytes, with or without a unit, or none.
    pub(crate) fn set_memory_limit(&mut self, level: &Value) -> Result<(), String> {
        let level = level.to_string();
        self.memory_limit_bytes = match tare_engine::bytes(&level) {
            Some(bytes) if bytes >= LEAST_MEMORY => Some(bytes),
            None if level == NO_LIMIT => None,
            _ => return Err(format!("a size of {} MiB or more, such as 512M, or {NO_LIMIT}", LEAST_MEMORY >> 20)),
        };
        Ok(())
    }

    /// Sets the number of L3 cache ways that its threads may fill, or none.
    pub(crate) fn set_l3_ways(&mut self, level: &Value) -> Result<(), String> {
        self.cache.l3_ways = limit(level, MOST_WAYS, "a number of ways")?;
        Ok(())
    }

    /// Sets the share of the memory bandwidth of its cores, percent, or none.
    pub(crate) fn set_memory_bandwidth(&mut self, level: &Value) -> Result<(), String> {
        self.cache.memory_bandwidth_percent = limit(level, 100, "percent")?;
        Ok(())
    }

    pub(crate) fn set_environment_bytes(&mut self, level: &Value) -> Result<(), String> {
        match level.to_string().parse() {
            Ok(bytes) if bytes == 0 || (PADDING_OVERHEAD..=LONGEST).contains(&bytes) => self.environment_bytes = bytes,
            _ => return Err(format!("0, or a number of bytes from {PADDING_OVERHEAD} to {LONGEST}")),
        }
        Ok(())
    }
}

fn or_as_found<T: FromStr<Err: Display>>(level: &Value) -> Result<Option<T>, String> {
    match level.to_string().as_str() {
        AS_FOUND => Ok(None),
        level => level.parse().map(Some).map_err(|levels| format!("{levels}, or {AS_FOUND}")),
    }
}

/// A limit of at least 1, or none.
fn limit(level: &Value, most: u32, what: &str) -> Result<Option<u32>, String> {
    let level = level.to_string();
    if level == NO_LIMIT {
        return Ok(None);
    }
    let limit = level.parse().ok().filter(|limit| (1..=most).contains(limit));
    limit.map(Some).ok_or_else(|| format!("{what} from 1 to {most}, or {NO_LIMIT}"))
}
