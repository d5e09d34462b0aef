//! The add and its test section for x86-64. The thread's rseq area is at `fs:[area]`: `cpu_id` at byte 4, `rseq_cs` at
//! byte 8.

use std::arch::asm;

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

/// The thread pointer: the base of fs-relative addresses, which the ABI of x86-64 stores at its own address.
pub(crate) fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads the word at fs:0, which every x86-64 thread has.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// Offset of this crate's own area from the thread pointer. The symbol is initial-exec, so the offset is the same in
/// every thread.
pub(crate) fn own_area_offset() -> isize {
    let offset: isize;
    // SAFETY: reads a constant that the linker sets, for a symbol that `area.rs` defines.
    unsafe {
        asm!("mov {}, qword ptr [rip + __tare_counters_rseq_area@GOTTPOFF]", out(reg) offset,
            options(nostack, preserves_flags, readonly, pure));
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
        asm!("mov {:e}, dword ptr fs:[{} + 4]", out(reg) cpu, in(reg) area, options(nostack, preserves_flags, pure, nomem))
    };
    cpu
}

// One macro defines the real add and the mutant, so that they differ only in the lines that arm the section.
//
// A section is armed once, not at every add: the kernel clears `rseq_cs` only when it preempts or signals the thread.
// The first step inside the section is therefore to check whether `rseq_cs` still holds the address of this section. If
// it does, any interruption from here to the end aborts the section; if it does not, the thread arms it. An undisturbed
// loop of adds then stores once per add, as a plain add does; storing the address each time makes two stores, which
// take two cycles.
//
// The address and the CPU number are checked together, as one sum and one branch (a loop with three branches is too
// much for cores that execute two per cycle). The word at `area` holds the CPU number c twice, as c * (2^32 + 1), and
// descriptors are 32-aligned. So a sum can be right with wrong parts only if the CPU number differs by 32 k and the
// descriptor, or null, is 32 k * (2^32 + 1) bytes from this one. Null cannot be: a kernel has at most 8192 CPUs, so
// this would need a program below 2^45 that starts at a multiple of 4 GiB, and none does. Another image with this crate
// in it would have to be a multiple of 128 GiB away, to the byte.
//
// The address is read before the CPU number. In the other order, a signal in between, whose handler arms this same
// section on another CPU, would not be noticed.
macro_rules! define_add {
    ($(#[$doc:meta])* $name:ident, $current:ident, $look:literal, $arm:literal, $n:literal) => {
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
                    ".pushsection __rseq_cs, \"aw\", @progbits",
                    ".balign 32",
                    "3:",
                    ".long 0, 0",                     // version, flags
                    ".quad 4f, 5f - 4f, 7f",          // start, length, abort address
                    ".popsection",
                    "lea {section}, [rip + 3b]",
                    "add {section}, {guess}",
                    "4:",
                    $look,
                    "jne 7f",
                    concat!("add qword ptr [{cell}], ", $n),
                    "5:",
                    ".pushsection __rseq_failure, \"ax\", @progbits",
                    ".byte 0x0f, 0xb9, 0x3d",         // ud1: the signature must not be reachable as code
                    ".long 0x53053053",
                    "7:",                             // aborted (the kernel cleared rseq_cs), not armed, or another CPU
                    "cmp qword ptr fs:[{area}], {guess}",
                    "jne {elsewhere}",
                    "lea {section}, [rip + 3b]",
                    $arm,
                    "add {section}, {guess}",
                    "jmp 4b",
                    ".popsection",
                    area = in(reg) op.area,
                    guess = in(reg) guess,
                    cell = in(reg) cell,
                    n = in(reg) n,
                    section = out(reg) _,
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
                    ".pushsection __rseq_cs, \"aw\", @progbits",
                    ".balign 32",
                    "3:",
                    ".long 0, 0",                     // version, flags
                    ".quad 4f, 5f - 4f, 7f",          // start, length, abort address
                    ".popsection",
                    "2:",
                    "lea {section}, [rip + 3b]",
                    $arm,
                    "4:",
                    "mov {t:e}, dword ptr fs:[{area} + 4]",
                    "cmp {t:e}, {rows:e}",
                    "jae {unregistered}",
                    "imul {t}, {stride}",
                    concat!("add qword ptr [{slot} + {t}], ", $n),
                    "5:",
                    ".pushsection __rseq_failure, \"ax\", @progbits",
                    ".byte 0x0f, 0xb9, 0x3d",         // ud1: the signature must not be reachable as code
                    ".long 0x53053053",
                    "7:",
                    "jmp 2b",                         // the kernel cleared rseq_cs: arm again
                    ".popsection",
                    area = in(reg) area,
                    rows = in(reg) rows,
                    stride = in(reg) stride,
                    slot = in(reg) slot,
                    n = in(reg) n,
                    section = out(reg) _,
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
    add, add_on_current_cpu, "mov {t}, qword ptr fs:[{area} + 8]\nadd {t}, qword ptr fs:[{area}]\ncmp {t}, {section}", "mov qword ptr fs:[{area} + 8], {section}", "{n}"
}

define_add! {
    /// Adds 1 (`n` is ignored). Intel cores from Golden Cove on forward a store to the next add at no cost when the
    /// amount is in the instruction (0.28 ns, against 2.1 ns for a plain add to the same cell).
    increment, increment_on_current_cpu,
    "mov {t}, qword ptr fs:[{area} + 8]\nadd {t}, qword ptr fs:[{area}]\ncmp {t}, {section}", "mov qword ptr fs:[{area} + 8], {section}", "1 /* {n} */"
}

#[cfg(feature = "mutant")]
define_add! {
    /// [`add`] without its section: when preempted between reading the CPU number and adding, it writes to the row of
    /// another CPU.
    add_without_section, add_on_current_cpu_without_section,
    "cmp dword ptr fs:[{area} + 4], {guess:e} /* {t} {section} */", "/* not armed */", "1 /* {n} */"
}

/// Only the self-test spins in a section.
#[cfg(test)]
pub(super) use section::spin;

#[cfg(test)]
mod section {
    use std::arch::asm;
    use std::sync::atomic::AtomicU32;

    /// Spins inside a section until `flag` is set (returns 1), `limit` iterations have passed (2) or the kernel aborted
    /// it (0). With `armed` false the section is not armed, as if the kernel did not abort.
    ///
    /// # Safety
    /// `area` must be the offset of a registered rseq area.
    pub(in super::super) unsafe fn spin(area: isize, flag: &AtomicU32, limit: u64, armed: bool) -> u32 {
        let outcome: u64;
        // SAFETY: writes rseq_cs (or the thread's own scratch word) and reads the flag only.
        unsafe {
            asm!(
                ".pushsection __rseq_cs, \"aw\", @progbits",
                ".balign 32",
                "3:",
                ".long 0, 0",
                ".quad 4f, 5f - 4f, 7f",
                ".popsection",
                "test {armed:e}, {armed:e}",
                "jz 4f",
                "lea {t}, [rip + 3b]",
                "mov qword ptr fs:[{area} + 8], {t}",
                "4:",
                "mov {t:e}, 1",
                "cmp dword ptr [{flag}], 0",
                "jne 5f",
                "mov {t:e}, 2",
                "pause",
                "dec {limit}",
                "jnz 4b",
                "5:",
                ".pushsection __rseq_failure, \"ax\", @progbits",
                ".byte 0x0f, 0xb9, 0x3d",
                ".long 0x53053053",
                "7:",
                "xor {t:e}, {t:e}",
                "jmp 5b",
                ".popsection",
                area = in(reg) area,
                flag = in(reg) flag.as_ptr(),
                armed = in(reg) u32::from(armed),
                limit = inout(reg) limit => _,
                t = out(reg) outcome,
                options(nostack),
            );
        }
        outcome as u32
    }
}
