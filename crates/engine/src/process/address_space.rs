//! The address space of a server process: randomised, fixed, or one of a fixed set of layouts. Set before exec and
//! read back from the running process.
//!
//! One fixed layout is a single sample of all possible layouts, and may be a lucky one. A *layout* is just as
//! repeatable, and there are many: without randomisation the kernel puts all mappings (libraries, allocator arenas,
//! buffer pools, thread stacks) below `STACK_TOP - (RLIMIT_STACK + stack_guard_gap)`, where the limit counts as at
//! least 128 MiB (`mmap_base` in arch/x86/mm/mmap.c and mm/util.c). A chosen soft limit therefore moves all of them
//! by a known number of pages. The program itself and its brk heap stay where they are without randomisation.

use crate::EngineError;
use procfs::process::{MMapPath, MemoryMaps, Process};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::PathBuf;
use std::str::FromStr;
use std::thread::Builder;
use std::{fmt, fs, io};
use tare_cpuset::ThreadRefused;
use tare_cpuset::observe::parse;

/// The smallest gap that the kernel leaves for the stack, and so the smallest limit that moves mappings, bytes.
const LEAST_GAP: u64 = 128 << 20;
/// The layouts are spread over this many pages ...
const SPREAD_PAGES: u64 = 1 << 15;
/// ... in steps of this odd number of pages, so that all are different and neighbours differ in low and in high bits.
const STRIDE_PAGES: u64 = 10_007;
/// Default of the kernel's stack_guard_gap, pages.
const GUARD_PAGES: u64 = 256;
const NO_RANDOMIZE: u32 = libc::ADDR_NO_RANDOMIZE.cast_unsigned();
/// The argument of personality(2) that only queries the current personality.
const ASK: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aslr {
    /// Randomised: a new layout for each start.
    On,
    /// Not randomised: always the same layout.
    Off,
    /// Not randomised, shifted by an amount that depends on this number, from 1 to `Aslr::LAYOUTS`: repeatable.
    Layout(u16),
}

impl Aslr {
    const LAYOUTS: u16 = (SPREAD_PAGES - 1) as u16;
    const LEVELS: &str = "on, off or layout:N with N from 1 to 32767";

    /// The soft stack limit that produces this layout, bytes.
    pub(crate) fn stack_limit(self) -> Option<u64> {
        let Self::Layout(number) = self else { return None };
        Some(LEAST_GAP + u64::from(number) * STRIDE_PAGES % SPREAD_PAGES * page())
    }

    /// Whether this kernel supports it and this user may set it. Changes only a thread that ends at once.
    pub fn available(self) -> Result<(), String> {
        let kernel = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap_or_default();
        if self == Self::On && kernel.trim() == "0" {
            return Err("randomisation is off for the whole machine: sudo sysctl kernel.randomize_va_space=2".into());
        }
        // The flag belongs to a thread, so the test runs in a thread of its own.
        let tried = std::thread::scope(|scope| {
            let trial = Builder::new().spawn_scoped(scope, || self.set_randomisation());
            Ok::<_, ThreadRefused>(trial?.join())
        });
        let tried = tried.map_err(|refused| refused.to_string())?;
        if let Ok(Err(error)) = tried {
            return Err(format!("personality(2) is not permitted here ({error}), as in some containers"));
        }
        let hard = getrlimit(Resource::Stack).maximum;
        match (self.stack_limit(), hard) {
            (Some(wanted), Some(hard)) if hard < wanted => {
                Err(format!("it needs a hard stack limit of {wanted} bytes, here it is {hard} (ulimit -Hs)"))
            }
            _ => Ok(()),
        }
    }

    /// Sets it for the calling process, with its [`Aslr::stack_limit`]; it takes effect at the next exec. Only makes
    /// system calls.
    pub(crate) fn set(self, stack_limit: Option<u64>) -> io::Result<()> {
        self.set_randomisation()?;
        if let Some(limit) = stack_limit {
            let maximum = getrlimit(Resource::Stack).maximum;
            setrlimit(Resource::Stack, Rlimit { current: Some(limit), maximum })?;
        }
        Ok(())
    }

    fn set_randomisation(self) -> io::Result<()> {
        let now = personality(ASK)?;
        personality(match self {
            Self::On => now & !NO_RANDOMIZE,
            Self::Off | Self::Layout(_) => now | NO_RANDOMIZE,
        })?;
        Ok(())
    }

    /// Reads it back from the running server: exec of a program with file capabilities clears the flag, and a wrapper
    /// script may change the flag and the limit. Returns the evidence in words.
    pub fn verify(self, pid: u32) -> Result<String, EngineError> {
        let path = PathBuf::from(format!("/proc/{pid}/personality"));
        let text = fs::read_to_string(&path).map_err(|source| EngineError::io("read", &path, source))?;
        let flags = u32::from_str_radix(text.trim(), 16).unwrap_or(0);
        let fixed = flags & NO_RANDOMIZE != 0;
        let different =
            |found: String| EngineError::NotInEffect { setting: "aslr", requested: self.to_string(), found };
        let kernel = fs::read_to_string("/proc/sys/kernel/randomize_va_space").unwrap_or_default();
        if self == Self::On && kernel.trim() == "0" {
            return Err(different("off for the whole machine (kernel.randomize_va_space = 0)".into()));
        }
        if fixed != (self != Self::On) {
            return Err(different(if fixed { "off" } else { "on" }.into()));
        }
        let personality = format!("personality {} of the server process", text.trim());
        let Some(limit) = self.stack_limit() else { return Ok(personality) };
        let found = Positions::of(pid).ok_or_else(|| different("no readable memory map".into()))?;
        let expected = found.stack_top - limit.next_multiple_of(page()) - guard_pages() * page();
        if found.mmap_top != expected {
            return Err(different(format!("mappings below {:#x}, expected below {expected:#x}", found.mmap_top)));
        }
        Ok(format!("{personality}, mappings below {expected:#x}"))
    }
}

impl fmt::Display for Aslr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("on"),
            Self::Off => f.write_str("off"),
            Self::Layout(number) => write!(f, "layout:{number}"),
        }
    }
}

impl FromStr for Aslr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let layout = || text.strip_prefix("layout:")?.parse().ok().filter(|n| (1..=Self::LAYOUTS).contains(n));
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => layout().map(Self::Layout).ok_or_else(|| Self::LEVELS.to_owned()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    pub exe: u64,
    /// Start of the brk heap; 0 if there is none.
    pub heap: u64,
    /// End of the highest mapping below the stack: libraries, arenas and buffer pools are below it.
    pub mmap_top: u64,
    /// Where the stack began; 0 if the kernel does not report it to this user.
    pub stack_start: u64,
    pub stack_top: u64,
}

impl Positions {
    /// Reads them; none if the process has ended or belongs to someone else.
    pub fn of(pid: u32) -> Option<Self> {
        let process = Process::new(pid.cast_signed()).ok()?;
        let maps: MemoryMaps = parse(&format!("/proc/{pid}/maps")).ok()?;
        let program = process.exe().ok()?.to_string_lossy().into_owned();
        let stack = maps.iter().find(|map| map.pathname == MMapPath::Stack)?.address;
        let is_program = |path: &MMapPath| matches!(path, MMapPath::Path(path) if path.as_os_str() == &*program);
        Some(Self {
            exe: maps.iter().find(|map| is_program(&map.pathname))?.address.0,
            heap: maps.iter().find(|map| map.pathname == MMapPath::Heap).map_or(0, |map| map.address.0),
            mmap_top: maps.iter().map(|map| map.address.1).filter(|end| *end <= stack.0).max()?,
            stack_start: process.stat().ok()?.startstack,
            stack_top: stack.1,
        })
    }

    /// The positions as covariates. Cache sets, page colours and huge pages depend on the low bits of an address
    /// only, so a page is given by its number within 2 MiB, and the offset in bytes within a page.
    pub fn covariates(&self) -> [(&'static str, f64); 5] {
        let within = |address: u64| (address / page() % ((2 << 20) / page()).max(1)) as f64;
        [
            ("layout_exe_page", within(self.exe)),
            ("layout_heap_page", within(self.heap)),
            ("layout_mmap_page", within(self.mmap_top)),
            ("layout_stack_page", within(self.stack_start)),
            ("layout_stack_offset", (self.stack_start % page()) as f64),
        ]
    }
}

/// Sets the personality of the calling thread and of what it execs. Returns the previous one. One system call.
fn personality(persona: u32) -> io::Result<u32> {
    // SAFETY: the call takes a number and reads or writes no memory of this process; a personality affects what is
    // mapped from the next exec on, not what is mapped already.
    match unsafe { libc::personality(persona.into()) } {
        -1 => Err(io::Error::last_os_error()),
        before => Ok(before.cast_unsigned()),
    }
}

fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// `stack_guard_gap=` from the kernel's command line (admin-guide/kernel-parameters), otherwise its default, pages.
fn guard_pages() -> u64 {
    let line = fs::read_to_string("/proc/cmdline").unwrap_or_default();
    let given = line.split_whitespace().find_map(|word| word.strip_prefix("stack_guard_gap=")?.parse().ok());
    given.unwrap_or(GUARD_PAGES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn words_and_levels_belong_together() {
        for level in [Aslr::On, Aslr::Off, Aslr::Layout(1), Aslr::Layout(Aslr::LAYOUTS)] {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        for text in ["", "ON", "layout", "layout:0", "layout:32768", "layout:-1"] {
            assert_eq!(text.parse::<Aslr>(), Err(Aslr::LEVELS.to_owned()), "{text}");
        }
    }

    #[test]
    fn no_two_layouts_are_the_same() {
        let limits: BTreeSet<Option<u64>> = (1..=Aslr::LAYOUTS).map(|n| Aslr::Layout(n).stack_limit()).collect();
        assert_eq!(limits.len(), usize::from(Aslr::LAYOUTS));
        assert!(
            limits
                .iter()
                .flatten()
                .all(|limit| *limit >= LEAST_GAP && *limit < 2 * LEAST_GAP.max(SPREAD_PAGES * page()))
        );
    }
}
