//! The add and its test section for aarch64. The thread's rseq area is at `tpidr_el0 + area`: `cpu_id` at byte 4,
//! `rseq_cs` at byte 8.

use std::arch::asm;
use std::sync::atomic::AtomicU32;

/// The operands that all adds of a set share.
#[derive(Clone, Copy)]
pub(crate) struct Add {
    /// Offset of the rseq area from the thread pointer.
    pub(crate) area: isize,
    /// Number of rows that an add may choose from: the possible CPUs.
    pub(crate) rows: u32,
    /// Bytes from one row to the next.
    pub(crate) stride: usize,
}

/// The thread pointer, read from its system register.
pub(crate) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register that user space may read.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nostack, nomem, preserves_flags)) };
    pointer
}

/// Offset of this crate's own area from the thread pointer. The symbol is initial-exec, so the offset is the same in
/// every thread.
pub(crate) fn own_area_offset() -> isize {
    let offset: isize;
    // SAFETY: reads a constant that the linker sets, for a symbol that `area.rs` defines.
    unsafe {
        asm!(
            "adrp {o}, :gottprel:__tare_counters_rseq_area",
            "ldr {o}, [{o}, #:gottprel_lo12:__tare_counters_rseq_area]",
            o = out(reg) offset,
            options(nostack, preserves_flags, readonly, pure)
        );
    };
    offset
}

/// A guess of the current CPU: declared pure, so that a loop reads it once. Every add checks it within its section.
/// `area` may be 0: then this reads some word of the thread's control block.
#[inline(always)]
pub(crate) fn guess_cpu(area: isize) -> u32 {
    let cpu: u32;
    // SAFETY: reads a word of the calling thread's area. Not memory in Rust's sense: only the kernel writes it.
    unsafe {
        asm!("mrs {t}, tpidr_el0", "add {t}, {t}, {area}", "ldr {cpu:w}, [{t}, #4]", t = out(reg) _, area = in(reg) area,
            cpu = lateout(reg) cpu, options(nostack, preserves_flags, pure, nomem));
    };
    cpu
}

// One macro defines the real add and the mutant, so that they differ only in the lines that arm the section.
//
// A section is armed once, not at every add, and the address and the CPU number are checked in one comparison, as on
// x86-64; the reasons are in `x86_64.rs` and hold here too. The kernel clears `rseq_cs` whenever it preempts or signals
// the thread outside a section, and aborts the thread inside one. A value read within the section is therefore as good
// as one just stored. Both words are written only by this thread and by the kernel before it returns to this thread, so
// the order of stores by other CPUs does not matter: an exception is taken between two instructions, and later loads
// are done anew. Unlike on x86-64, the add is three instructions, whose safety the start-up test of preemption
// (`selftest`) verifies. arm64 kernels support at most 4096 CPUs.
//
// The rarely run code is in a subsection after the function: a conditional branch reaches 1 MiB, and another section
// may be farther away.
macro_rules! define_add {
    ($(#[$doc:meta])* $name:ident, $current:ident, $look:literal, $arm:literal) => {
        $(#[$doc])*
        ///
        /// `guess` (from [`guess_cpu`]; any number is valid) chooses the cell outside the section, and is checked
        /// inside. A loop then keeps the cell's address in a register, and the CPU forwards the store of one add to the
        /// next at once, as for a plain add (computing the address each time costs five cycles).
        ///
        /// Returns false, with nothing added, when the thread's CPU number is not below `rows`: no area is registered
        /// for this thread, or not yet (the kernel and glibc write -1 and -2, which are large as unsigned numbers).
        ///
        /// # Safety
        /// `op.area` must be the offset of an rseq area in every thread; `slot` must point to the counter in row 0 of
        /// `op.rows` rows `op.stride` bytes apart, all mapped; nothing but such adds may write to them.
        #[inline(always)]
        pub(crate) unsafe fn $name(op: Add, guess: u32, slot: *mut u64, n: u64) -> bool {
            // When the guess is beyond the rows: a CPU number that never exists, so that the check fails.
            let (guess, row) = if guess < op.rows { (guess, guess as usize) } else { (1 << 31, 0) };
            let cell = slot.wrapping_byte_add(row * op.stride);
            // As the kernel writes them: `cpu_id_start` and `cpu_id`, the same number twice.
            let guess = (u64::from(guess) << 32) | u64::from(guess);
            // SAFETY: the caller guarantees that the memory operands are valid; the stack is not used, and all other
            // effects are declared.
            unsafe {
                asm!(
                    ".pushsection __rseq_cs, \"aw\", %progbits",
                    ".balign 32",
                    "3:",
                    ".long 0, 0",                     // version, flags
                    ".quad 4f, 5f - 4f, 7f",          // start, length, abort address
                    ".popsection",
                    "adrp {section}, 3b",
                    "add {section}, {section}, #:lo12:3b",
                    "mrs {tp}, tpidr_el0",
                    "add {tp}, {tp}, {area}",
                    "4:",
                    $look,
                    "b.ne 7f",
                    "ldr {t}, [{cell}]",
                    "add {t}, {t}, {n}",
                    "str {t}, [{cell}]",
                    "5:",
                    ".subsection 1",
                    ".long 0xd428bc00",               // brk #0x45e0: the signature
                    "7:",                             // aborted (the kernel cleared rseq_cs), not armed, or another CPU
                    "ldr {t}, [{tp}]",
                    "cmp {t}, {guess}",
                    "b.ne {elsewhere}",
                    $arm,
                    "b 4b",
                    ".previous",
                    area = in(reg) op.area,
                    guess = in(reg) guess,
                    cell = in(reg) cell,
                    n = in(reg) n,
                    section = out(reg) _,
                    tp = out(reg) _,
                    word = out(reg) _,
                    t = out(reg) _,
                    // SAFETY: the caller's guarantees hold for this call.
                    elsewhere = label { return unsafe { $current(op.area, op.rows, op.stride, slot, n) } },
                    options(nostack),
                );
            }
            true
        }

        /// The slow path for a wrong guess: reads the CPU number inside the section. (It does not take an [`Add`],
        /// which would be passed in memory, and the compiler would store it before every guess.)
        ///
        /// # Safety
        /// As for the add above.
        #[cold]
        #[inline(never)]
        unsafe fn $current(area: isize, rows: u32, stride: usize, slot: *mut u64, n: u64) -> bool {
            // SAFETY: as above.
            unsafe {
                asm!(
                    ".pushsection __rseq_cs, \"aw\", %progbits",
                    ".balign 32",
                    "3:",
                    ".long 0, 0",                     // version, flags
                    ".quad 4f, 5f - 4f, 7f",          // start, length, abort address
                    ".popsection",
                    "2:",
                    "mrs {tp}, tpidr_el0",
                    "add {tp}, {tp}, {area}",
                    "adrp {section}, 3b",
                    "add {section}, {section}, #:lo12:3b",
                    $arm,
                    "4:",
                    "ldr {t:w}, [{tp}, #4]",
                    "cmp {t:w}, {rows:w}",
                    "b.hs {unregistered}",
                    "madd {t}, {t}, {stride}, {slot}",
                    "ldr {tp}, [{t}]",
                    "add {tp}, {tp}, {n}",
                    "str {tp}, [{t}]",
                    "5:",
                    ".pushsection __rseq_failure, \"ax\", %progbits",
                    ".long 0xd428bc00",               // brk #0x45e0: the signature
                    "7:",
                    "b 2b",                           // the kernel cleared rseq_cs: arm again
                    ".popsection",
                    area = in(reg) area,
                    rows = in(reg) rows,
                    stride = in(reg) stride,
                    slot = in(reg) slot,
                    n = in(reg) n,
                    section = out(reg) _,
                    tp = out(reg) _,
                    t = out(reg) _,
                    unregistered = label { return false },
                    options(nostack),
                );
            }
            true
        }
    };
}

define_add! {
    /// Adds `n` to `slot` in the row of the CPU this runs on.
    add, add_on_current_cpu,
    "ldr {t}, [{tp}, #8]\nsub {t}, {section}, {t}\nldr {word}, [{tp}]\nadd {t}, {t}, {word}\ncmp {t}, {guess}",
    "str {section}, [{tp}, #8]"
}

/// Adds 1 (`n` is ignored). Only x86-64 has a separate form for this.
///
/// # Safety
/// As for [`add`].
#[inline(always)]
pub(crate) unsafe fn increment(op: Add, guess: u32, slot: *mut u64, _n: u64) -> bool {
    // SAFETY: the caller's guarantees hold for this call.
    unsafe { add(op, guess, slot, 1) }
}

#[cfg(feature = "mutant")]
define_add! {
    /// [`add`] without its section: when preempted between reading the CPU number and adding, it writes to the row of
    /// another CPU.
    add_without_section, add_on_current_cpu_without_section,
    "ldr {t:w}, [{tp}, #4]\ncmp {t:w}, {guess:w} /* {word} */", "/* not armed */"
}

/// Spins inside a section until `flag` is set (returns 1), `limit` iterations have passed (2) or the kernel aborted it
/// (0). With `armed` false the section is not armed, as if the kernel did not abort.
///
/// # Safety
/// `area` must be the offset of a registered rseq area.
pub(super) unsafe fn spin(area: isize, flag: &AtomicU32, limit: u64, armed: bool) -> u32 {
    let outcome: u64;
    // SAFETY: writes rseq_cs and reads the flag only.
    unsafe {
        asm!(
            ".pushsection __rseq_cs, \"aw\", %progbits",
            ".balign 32",
            "3:",
            ".long 0, 0",
            ".quad 4f, 5f - 4f, 7f",
            ".popsection",
            "cbz {armed:w}, 4f",
            "mrs {tp}, tpidr_el0",
            "add {tp}, {tp}, {area}",
            "adrp {t}, 3b",
            "add {t}, {t}, #:lo12:3b",
            "str {t}, [{tp}, #8]",
            "4:",
            "ldr {tp:w}, [{flag}]",
            "mov {t:w}, #1",
            "cbnz {tp:w}, 5f",
            "mov {t:w}, #2",
            "subs {limit}, {limit}, #1",
            "b.ne 4b",
            "5:",
            ".pushsection __rseq_failure, \"ax\", %progbits",
            ".long 0xd428bc00",
            "7:",
            "mov {t:w}, #0",
            "b 5b",
            ".popsection",
            area = in(reg) area,
            flag = in(reg) flag.as_ptr(),
            armed = in(reg) u32::from(armed),
            limit = inout(reg) limit => _,
            tp = out(reg) _,
            t = out(reg) outcome,
            options(nostack),
        );
    }
    outcome as u32
}
