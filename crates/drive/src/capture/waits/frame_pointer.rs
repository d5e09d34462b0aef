//! Reconstructs the frame pointer of a function that locates its caller's frame by it, when no inner function has
//! saved it on the stack: the C library's system call wrappers save only registers that they use, and many servers are
//! built with frame pointers.
//!
//! The distance from the stack pointer to the frame pointer is the space that the function's first instructions
//! reserve, plus the registers saved above it and the arguments pushed below it. A candidate is accepted only if it
//! leads to a return address.

use super::programs::{Place, Process, Sections, bases};
use gimli::{CfaRule, EhFrame, EhFrameHdr, LittleEndian, UnwindContext, UnwindSection, X86_64};
use std::os::unix::fs::FileExt;

/// Bytes at the start of a function that are searched for stack allocations.
const BEGINNING: u64 = 256;
/// Larger stack frames are allocated in steps of a page.
const PAGE: u64 = 4_096;
/// Maximum number of registers that a function saves for its caller, apart from the frame pointer; maximum number of
/// arguments of its callees that are passed on the stack.
const SAVED: u64 = 5;
const ARGUMENTS: u64 = 4;
/// Length of the longest call instruction, bytes.
const CALL: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramePointer {
    NotNeeded,
    /// This many bytes above the stack pointer.
    Above(u64),
}

/// For the function at an address of the process, which is this place of a program; None if it cannot be determined.
pub(super) fn find(
    process: &Process,
    sections: &Sections,
    (address, place): (u64, Place),
    stack_pointer: u64,
    word: &mut impl FnMut(u64) -> Result<u64, ()>,
) -> Option<FramePointer> {
    let Some((start, caller)) = by_frame_pointer(sections, place.address)? else {
        return Some(FramePointer::NotNeeded);
    };
    let before = place.address.checked_sub(start)?;
    let mut code = vec![0; before.min(BEGINNING) as usize + CALL];
    let code_bytes = code.len() - CALL;
    process.memory.read_exact_at(&mut code[..code_bytes], address.checked_sub(before)?).ok()?;
    let (room, return_address) = (room(&code), caller.checked_sub(8)?);
    let above = (0..=SAVED + ARGUMENTS).map(|words| room + 8 * words).find(|above| {
        let at = stack_pointer.checked_add(*above).and_then(|pointer| pointer.checked_add_signed(return_address));
        at.and_then(|at| word(at).ok()).is_some_and(|address| follows_a_call(process, address))
    });
    above.map(FramePointer::Above)
}

/// The start of the function at an address, and the distance from the frame pointer to its caller's frame. The inner
/// value is None if the function does not use the frame pointer, the outer one if nothing is known of the function.
fn by_frame_pointer(sections: &Sections, address: u64) -> Option<Option<(u64, i64)>> {
    let bases = bases(sections);
    let index = EhFrameHdr::new(sections.eh_frame_hdr.as_ref()?, LittleEndian).parse(&bases, 8).ok()?;
    let frames = EhFrame::new(sections.eh_frame.as_ref()?, LittleEndian);
    let function = index.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = function.unwind_info_for_address(&frames, &bases, &mut context, address).ok()?;
    match row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => {
            Some(Some((function.initial_address(), *offset)))
        }
        CfaRule::RegisterAndOffset { .. } => Some(None),
        CfaRule::Expression(_) => None,
    }
}

/// Bytes that the first instructions of a function reserve on the stack: `sub rsp, N`, or the shorter `add rsp, -128`.
fn room(code: &[u8]) -> u64 {
    let mut room = 0;
    for instruction in code.windows(CALL) {
        let more = match *instruction {
            [0x48, 0x83, 0xec, bytes @ ..0x80, ..] => u64::from(bytes),
            [0x48, 0x83, 0xc4, 0x80, ..] => 0x80,
            [0x48, 0x81, 0xec, a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
            _ => continue,
        };
        room += more;
        if more != PAGE {
            break;
        }
    }
    room
}

/// Whether the instruction before an address is a call, to an address or through a register or memory.
fn follows_a_call(process: &Process, address: u64) -> bool {
    let mut code = [0; CALL];
    let from = address.checked_sub(CALL as u64).filter(|from| process.place(*from).is_some());
    if from.and_then(|from| process.memory.read_exact_at(&mut code, from).ok()).is_none() {
        return false;
    }
    let through = |length: usize| code[CALL - length] == 0xff && (code[CALL + 1 - length] >> 3) & 7 == 2;
    code[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(through)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_size_is_what_the_function_subtracts_from_the_stack_pointer() {
        let of = |code: &[u8]| room(&[code, &[0; CALL]].concat());
        // push rbp; mov rbp, rsp; push r12; sub rsp, 0x68.
        let beginning = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x54];
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xec, 0x68]].concat()), 0x68);
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xc4, 0x80]].concat()), 0x80);
        // In steps of a page, each touched: or qword ptr [rsp], 0.
        let page = [0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x83, 0x0c, 0x24, 0];
        assert_eq!(of(&[&beginning[..], &page, &page, &[0x48, 0x83, 0xec, 0x18]].concat()), 0x2018);
        // add rsp, 0x68 frees the stack frame.
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xc4, 0x68]].concat()), 0);
    }
}
