//! Stands in for `rseq` where there is none: another system or architecture, Miri, loom.

const REASON: &str = "restartable sequences need Linux on x86-64 or aarch64, outside Miri and loom";

/// The operands of an add; never used here.
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

/// Never adds.
///
/// # Safety
/// None needed; the signature is that of the real one.
pub(crate) unsafe fn add(_: Add, _: *mut u64, _: u64) -> bool {
    false
}

/// Never adds.
///
/// # Safety
/// None needed; the signature is that of the real one.
#[cfg(feature = "mutant")]
pub(crate) unsafe fn add_without_section(_: Add, _: *mut u64, _: u64) -> bool {
    false
}
