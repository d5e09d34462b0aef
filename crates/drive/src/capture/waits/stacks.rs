//! Call chains of sleeping threads: their stacks are read from outside, and unwound with the exception handling tables
//! of the programs. No thread is stopped.
//!
//! For a thread that sleeps in a system call the kernel reports the instruction pointer and the stack pointer, and no
//! other registers. The frame pointer is read from the stack where an inner function saved it, or reconstructed from
//! the stack space that its function reserves (`frame_pointer`). If neither is possible, the chain ends there and
//! counts as incomplete.

use super::super::frames::Weights;
#[cfg(target_arch = "x86_64")]
use super::frame_pointer::{self, FramePointer};
use super::functions::Names;
use super::programs::{Place, Process, Programs, is_bounded};
use super::tally::{Followed, Tally};
use framehop::{CacheNative, FrameAddress, MayAllocateDuringUnwind, UnwindRegsNative, Unwinder};
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use tare_cpuset::observe::{Call, InCall};
use tare_results::waits::StackSamples;

/// Placeholder for an unknown register: no stack is at this address, so nothing is read through it.
const UNKNOWN: u64 = 0x1000;
/// The highest address of user space on 64-bit Arm Linux, unless a program requests more.
#[cfg(target_arch = "aarch64")]
const ADDRESSES: u64 = (1 << 48) - 1;
/// Bytes of a stack read per step, and in total.
const PIECE: usize = 8 << 10;
const LARGEST: usize = 64 << 10;
/// Limits: functions per chain, and number of distinct chains.
const DEEPEST: usize = 200;
const CHAINS: usize = 20_000;
/// Limit of the entries of each cache, which are places in programs.
const PLACES: usize = 100_000;

#[derive(Default)]
struct Known {
    rules: CacheNative<MayAllocateDuringUnwind>,
    /// By process and address.
    #[cfg(target_arch = "x86_64")]
    frame_pointers: HashMap<(i32, u64), FramePointer>,
    bounded: HashMap<Place, bool>,
}

impl Known {
    /// Whether the unwind tables of the function at a place can be evaluated in bounded time.
    fn is_bounded(&mut self, programs: &Programs, place: Place) -> bool {
        forget_beyond(&mut self.bounded);
        *self.bounded.entry(place).or_insert_with(|| is_bounded(&programs.all[place.program].sections, place.address))
    }
}

/// A server sleeps in some ten thousand places. The limit bounds the memory for a server that keeps creating new ones.
fn forget_beyond<K, V>(known: &mut HashMap<K, V>) {
    if known.len() >= PLACES {
        known.clear();
    }
}

pub(super) struct Stacks {
    programs: Programs,
    processes: HashMap<i32, Process>,
    known: Known,
    piece: Vec<u8>,
    /// Chain, innermost function first -> its number.
    chains: HashMap<Vec<Place>, usize>,
    read: u64,
    whole: u64,
}

impl Stacks {
    pub(crate) fn of(pids: impl Iterator<Item = i32>) -> Self {
        let (mut programs, mut processes) = (Programs::default(), HashMap::new());
        for pid in pids {
            if !processes.contains_key(&pid)
                && let Some(process) = Process::of(pid, &mut programs)
            {
                processes.insert(pid, process);
            }
        }
        let (known, piece) = (Known::default(), vec![0; LARGEST]);
        Self { programs, processes, known, piece, chains: HashMap::new(), read: 0, whole: 0 }
    }

    /// Counts the chain of a thread that sleeps in a system call; returns the chain's number.
    pub(crate) fn read(&mut self, thread: &Followed, call: &Call) -> Option<usize> {
        let process = self.processes.get(&thread.thread.pid)?;
        let stack = Stack { memory: &process.memory, from: call.stack, bytes: &mut self.piece, filled: 0 };
        let (chain, whole) = unwound(process, &self.programs, call, stack, &mut self.known);
        // If the thread has run in the meantime, its stack changed while it was read.
        if chain.is_empty() || !matches!(thread.file.read(), Ok(InCall::Call(now)) if now == *call) {
            return None;
        }
        self.read += 1;
        self.whole += u64::from(whole);
        let next = self.chains.len();
        if next >= CHAINS && !self.chains.contains_key(&chain) {
            return None;
        }
        Some(*self.chains.entry(chain).or_insert(next))
    }

    /// Resolves the functions of all chains from the symbols of their programs.
    pub(crate) fn names(&self) -> Names {
        Names::of(self.chains.keys().flatten().copied(), &self.programs.all)
    }

    /// The calling function, indexed by the number of the chain: the innermost named function outside the library that
    /// makes the system call.
    pub(crate) fn callers(&self, names: &Names) -> Vec<Option<String>> {
        let mut callers = vec![None; self.chains.len()];
        for (chain, number) in &self.chains {
            let outside = chain.iter().filter(|place| place.program != chain[0].program);
            callers[*number] = nearest(outside.filter_map(|place| names.get(place))).cloned();
        }
        callers
    }

    /// Chains as shares of the threads' time, of which they slept the share `slept`, as `tally` counted; None if no
    /// stack could be read.
    pub(crate) fn samples(&self, names: &Names, tally: &Tally, slept: f64) -> Option<StackSamples> {
        let mut weights = Weights::default();
        let of_chains = tally.of_chains();
        for (chain, number) in &self.chains {
            let frames: Vec<&String> = chain.iter().rev().filter_map(|place| names.get(place)).collect();
            weights.add(&frames, of_chains.get(number).copied().unwrap_or(0.0));
        }
        let callers = weights.shares(slept, (tally.samples - tally.running).max(1) as f64);
        (self.read > 0).then_some(StackSamples { read: self.read, whole: self.whole, callers })
    }
}

/// Prefixes of functions of standard libraries and of locks that are linked into a program: whoever calls them waits.
const LIBRARIES: [&str; 8] =
    ["std::", "<std::", "core::", "<core::", "parking_lot", "lock_api::", "pthreadMutex", "sqlite3_mutex_"];

/// The first function with a name that belongs to no such library; otherwise the first one with a name, or the first.
fn nearest<'n>(functions: impl Iterator<Item = &'n String> + Clone) -> Option<&'n String> {
    let named = || functions.clone().filter(|name| !name.starts_with('['));
    let own = named().find(|name| !LIBRARIES.iter().any(|library| name.starts_with(library)));
    own.or_else(|| named().next()).or_else(|| functions.clone().next())
}

/// The chain of a thread, and whether it reaches the function in which the thread began.
fn unwound(
    process: &Process,
    programs: &Programs,
    call: &Call,
    mut stack: Stack<'_>,
    known: &mut Known,
) -> (Vec<Place>, bool) {
    let mut chain = Vec::new();
    let mut registers = registers(call);
    let mut word = |address| stack.word(address).ok_or(());
    let mut frame = Some(FrameAddress::from_instruction_pointer(call.program)).filter(|_| call.stack > UNKNOWN);
    while let Some(now) = frame.filter(|_| chain.len() < DEEPEST) {
        let Some(place) = process.place(now.address_for_lookup()) else { break };
        chain.push(place);
        let at = (now.address_for_lookup(), place);
        if !known.is_bounded(programs, place) {
            break;
        }
        if !completed(&mut registers, process, programs, at, &mut word, known) {
            break;
        }
        frame = match process.unwinder.unwind_frame(now, &mut registers, &mut known.rules, &mut word) {
            Ok(None) => return (chain, true),
            Ok(Some(address)) => FrameAddress::from_return_address(address),
            Err(_) => None,
        };
    }
    (chain, false)
}

#[cfg(target_arch = "x86_64")]
fn registers(call: &Call) -> UnwindRegsNative {
    UnwindRegsNative::new(call.program, call.stack, UNKNOWN)
}

/// Finds the frame pointer if it is unknown and the function at this address needs it; returns whether unwinding can
/// continue.
#[cfg(target_arch = "x86_64")]
fn completed(
    registers: &mut UnwindRegsNative,
    process: &Process,
    programs: &Programs,
    at: (u64, Place),
    word: &mut impl FnMut(u64) -> Result<u64, ()>,
    known: &mut Known,
) -> bool {
    if registers.bp() != UNKNOWN {
        return true;
    }
    let (key, sections) = ((process.pid, at.0), &programs.all[at.1.program].sections);
    let before = known.frame_pointers.get(&key).copied();
    let found = before.or_else(|| frame_pointer::find(process, sections, at, registers.sp(), word));
    forget_beyond(&mut known.frame_pointers);
    // A failure is not cached: the thread may have run while its stack was read.
    known.frame_pointers.extend(found.filter(|_| before.is_none()).map(|found| (key, found)));
    if let Some(FramePointer::Above(bytes)) = found {
        registers.set_bp(registers.sp().saturating_add(bytes));
    }
    found.is_some()
}

/// Return addresses on a stack may be signed (pointer authentication), in the bits above those of user space.
#[cfg(target_arch = "aarch64")]
fn registers(call: &Call) -> UnwindRegsNative {
    let mask = framehop::aarch64::PtrAuthMask::from_max_known_address(ADDRESSES);
    UnwindRegsNative::new_with_ptr_auth_mask(mask, UNKNOWN, call.stack, UNKNOWN)
}

#[cfg(target_arch = "aarch64")]
fn completed(
    _: &mut UnwindRegsNative,
    _: &Process,
    _: &Programs,
    _: (u64, Place),
    _: &mut impl FnMut(u64) -> Result<u64, ()>,
    _: &mut Known,
) -> bool {
    true
}

/// A thread's stack, read on demand.
struct Stack<'p> {
    memory: &'p File,
    from: u64,
    bytes: &'p mut [u8],
    filled: usize,
}

impl Stack<'_> {
    fn word(&mut self, address: u64) -> Option<u64> {
        let start = usize::try_from(address.checked_sub(self.from)?).ok()?;
        let end = start.checked_add(8).filter(|end| *end <= self.bytes.len())?;
        if end > self.filled {
            let wanted = end.next_multiple_of(PIECE).min(self.bytes.len());
            let missing = &mut self.bytes[self.filled..wanted];
            // The stack may end inside the piece.
            self.filled += self.memory.read_at(missing, self.from + self.filled as u64).unwrap_or(0);
        }
        let word = self.bytes[..self.filled].get(start..end)?;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::waits::tally::Sleep;
    use proptest::prelude::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;
    use tare_cpuset::ThreadRef;
    use tare_results::waits::TimeUse;

    #[inline(never)]
    fn planted_sleep(from: &mut UnixStream) -> bool {
        from.read(&mut [0]).is_ok()
    }

    /// Calls `look` with a thread of this process that sleeps in [`planted_sleep`].
    fn of_a_sleeping_thread(look: impl FnOnce(&Followed, Call)) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            sender.send(ThreadRef::of_this_thread()).unwrap();
            planted_sleep(&mut theirs)
        });
        let followed = Followed::new(receiver.recv().unwrap(), true).unwrap();
        let call = loop {
            match followed.file.read().unwrap() {
                InCall::Call(call) if call.number != libc::SYS_futex => break call,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        look(&followed, call);
        drop(ours);
        assert!(thread.join().unwrap());
    }

    fn own() -> Stacks {
        Stacks::of(std::iter::once(std::process::id().cast_signed()))
    }

    #[test]
    fn a_sleep_is_identified_by_its_whole_call_chain() {
        of_a_sleeping_thread(|followed, call| {
            let mut stacks = own();
            let caller = stacks.read(followed, &call).unwrap();
            let names = stacks.names();
            let mut tally = Tally::default();
            tally.sleeps(1, 1, Sleep::In(TimeUse::Client, None), Some(caller));
            let found = stacks.samples(&names, &tally, 0.5).unwrap();
            assert_eq!((found.read, found.whole, found.callers.len()), (1, 1, 1), "{found:?}");
            assert_eq!(found.callers[0].fraction, 0.5);
            let functions: Vec<&str> = found.callers[0].chain.split(';').collect();
            let planted = functions.iter().position(|name| name.ends_with("::planted_sleep")).unwrap();
            let test = functions.iter().position(|name| name.contains("of_a_sleeping_thread")).unwrap();
            assert!(0 < test && test < planted && planted + 1 < functions.len(), "{functions:?}");
            // Functions of the C library are not reported as callers.
            let caller = stacks.callers(&names)[caller].clone().unwrap();
            assert!(functions[planted..].contains(&caller.as_str()) && !caller.contains("libc"), "{functions:?}");
        });
    }

    #[test]
    fn an_unnamed_function_is_replaced_by_the_nearest_named_caller() {
        let of = |functions: &[&str]| {
            let functions: Vec<String> = functions.iter().map(|&name| name.to_owned()).collect();
            nearest(functions.iter()).cloned()
        };
        assert_eq!(of(&["[mariadbd]", "ha_commit_one_phase", "main"]).as_deref(), Some("ha_commit_one_phase"));
        assert_eq!(of(&["[mariadbd]", "[plugin.so]"]).as_deref(), Some("[mariadbd]"));
        let locking = ["std::sys::sync::mutex::futex::Mutex::lock_contended", "std::sync::Mutex<T>::lock"];
        assert_eq!(of(&[locking[0], locking[1], "row_lock", "main"]).as_deref(), Some("row_lock"));
        assert_eq!(of(&["[tare]", locking[0]]).as_deref(), Some(locking[0]));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_thread_that_has_moved_on_or_runs_unmapped_code_has_no_chain() {
        of_a_sleeping_thread(|followed, call| {
            let mut stacks = own();
            assert_eq!(stacks.read(followed, &Call { arguments: [7; 6], ..call }), None);
            assert_eq!(stacks.read(followed, &Call { program: 8, ..call }), None);
            assert_eq!(stacks.read(followed, &Call { stack: 8, ..call }), None);
            assert_eq!(stacks.samples(&Names::default(), &Tally::default(), 1.0), None);
        });
    }

    /// Length of a thread's chain in a program whose return address is computed by this expression.
    #[cfg(target_arch = "x86_64")]
    fn length_of_chain(expression: &[u8]) -> usize {
        let (say, reply) = std::sync::mpsc::channel();
        // DW_CFA_val_expression.
        let rule = [&[0x16, 16, expression.len() as u8][..], expression].concat();
        std::thread::spawn(move || {
            let (process, programs) =
                Process::made(0x1000..0x1100, &crate::capture::waits::programs::made::program(&rule));
            let call = Call { number: 0, arguments: [0; 6], stack: 0x7000_0000, program: 0x1010 };
            let mut piece = vec![0; LARGEST];
            let stack = Stack { memory: &process.memory, from: call.stack, bytes: &mut piece, filled: 0 };
            say.send(unwound(&process, &programs, &call, stack, &mut Known::default()).0.len())
        });
        reply.recv_timeout(Duration::from_secs(20)).expect("a chain that ends")
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn an_unwind_table_with_an_endless_loop_ends_the_chain() {
        // DW_OP_const8u of the function itself; DW_OP_skip to itself.
        assert_eq!(length_of_chain(&[0x0e, 0x20, 0x10, 0, 0, 0, 0, 0, 0]), DEEPEST);
        assert_eq!(length_of_chain(&[0x2f, 0xfd, 0xff]), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Stacks that were overwritten, or used in ways that no compiler generates.
        #[test]
        fn no_stack_makes_the_unwinder_panic_or_loop_forever(
            words in prop::collection::vec(prop_oneof![any::<u64>(), Just(0), 0_u64..0x20_0000], 600),
            starts in prop::collection::vec((0_usize..64, any::<u32>()), 20),
            near in 0_u64..0x2000,
        ) {
            let stacks = own();
            let process = &stacks.processes[&std::process::id().cast_signed()];
            let bounds: Vec<(u64, u64)> = process.bounds().collect();
            let inside = |(which, at): (usize, u32)| {
                let (from, to) = bounds[which % bounds.len()];
                from + u64::from(at) % (to - from)
            };
            // Return addresses into every program, among values that are not addresses.
            let mut words = words;
            for (place, start) in starts.iter().enumerate() {
                words[place * 30 + 1] = inside(*start);
            }
            let from = words.as_ptr().addr() as u64;
            for start in starts {
                for stack in [from, near, u64::MAX - near] {
                    let call = Call { number: 0, arguments: [0; 6], stack, program: inside(start) };
                    let mut piece = vec![0; LARGEST];
                    let copy = Stack { memory: &process.memory, from: stack, bytes: &mut piece, filled: 0 };
                    let (chain, _) = unwound(process, &stacks.programs, &call, copy, &mut Known::default());
                    prop_assert!(chain.len() <= DEEPEST);
                }
            }
        }
    }
}
