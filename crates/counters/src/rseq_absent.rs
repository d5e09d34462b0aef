//! Replaces `rseq` where there is none: other systems and architectures, Miri, loom.

const REASON: &str = "restartable sequences need Linux on x86-64 or aarch64, outside Miri and loom";

/// The operands of an add; never used here.
#[expect(dead_code, reason = "the real add reads them")]
#[derive(Clone, Copy)]
pub(crate) struct Add {
    pub(crate) area: isize,
    pub(crate) rows: u32,
    pub(crate) stride: usize,
}

pub(crate) fn glibc() -> Result<isize, String> {
    Err(REASON.to_owned())
}

pub(crate) fn own() -> Result<isize, String> {
    Err(REASON.to_owned())
}

pub(crate) fn register_thread() -> bool {
    false
}

pub(crate) fn guess_cpu(_: isize) -> u32 {
    0
}

/// Never adds, because there is no restartable sequence.
///
/// # Safety
/// No requirement; the signature is that of the real `add`.
pub(crate) unsafe fn add(_: Add, _: u32, _: *mut u64, _: u64) -> bool {
    false
}

#[cfg(feature = "mutant")]
pub(crate) use add as add_without_section;
pub(crate) use add as increment;
