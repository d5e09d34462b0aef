//! Unprotected slots selected by the time-stamp counter: the fuzzy counter of the original program, after MySQL's
//! `ib_counter_t`.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::sync::atomic::{AtomicU64, Ordering};

/// Whether this architecture has a time-stamp counter.
pub(super) const HAS_CLOCK: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

pub(crate) struct Fuzzy<const N: usize, const W: usize>;

/// One empty slot and `N` slots of `W` values; with 8 values (N + 1) x 64 bytes, as in the original program.
#[repr(C)]
pub(crate) struct Slots<const N: usize, const W: usize> {
    empty: [AtomicU64; W],
    lines: [[AtomicU64; W]; N],
}

impl<const N: usize, const W: usize> Counting for Fuzzy<N, W> {
    type Cell = Slots<N, W>;
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn cell(&self) -> Self::Cell {
        Slots { empty: [const { AtomicU64::new(0) }; W], lines: [const { [const { AtomicU64::new(0) }; W] }; N] }
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), cell: &Self::Cell, _: usize) {
        let slot = &cell.lines[cycles() as usize % N][0];
        // A load and a store, which compile to the plain add of the original program: the add of another thread may
        // fall in between.
        slot.store(slot.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        let mut sum = cell.empty[0].load(Ordering::Relaxed);
        for line in &cell.lines {
            sum += line[0].load(Ordering::Relaxed);
        }
        sum
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn cycles() -> u64 {
    // SAFETY: every x86-64 has it, and Linux allows it in user space.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn cycles() -> u64 {
    let count: u64;
    // SAFETY: reads a counter that Linux allows user space to read.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack, preserves_flags)) };
    count
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cycles() -> u64 {
    0
}
