//! The frame pointer of a function that finds its caller by it, where no function below has saved it: the C library's
//! calls into the kernel save no register that they do not use, and many servers are built with frame pointers.
//!
//! How far it is above the stack pointer is what the function's first instructions made room for, the registers that it
//! saved above that, and arguments below. It is believed only where a return address is found by it.

use super::programs::{Place, Process, Sections};
use super::tables::look_up;
use gimli::{CfaRule, X86_64};
use std::os::unix::fs::FileExt;

/// Bytes of a function that are looked through for what it makes room for.
const BEGINNING: u64 = 256;
/// Larger rooms are made in steps of it.
const PAGE: u64 = 4_096;
/// Registers that a function saves for its caller, at most, apart from the frame pointer; arguments of what it calls
/// that do not fit into registers.
const SAVED: u64 = 5;
const ARGUMENTS: u64 = 4;
/// The longest call instruction.
const CALL: usize = 7;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramePointer {
    NotNeeded,
    /// So many bytes above the stack pointer.
    Above(u64),
}

/// Of the function at an address of the process, which is at this place of a program; none where it cannot be said.
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

/// The beginning of the function at an address, and how far from the frame pointer its caller's frame is, where it
/// finds that so; none where nothing is known of the function.
fn by_frame_pointer(sections: &Sections, address: u64) -> Option<Option<(u64, i64)>> {
    let found = look_up(sections, address, |found| match found.row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => Some(Some((found.function, *offset))),
        CfaRule::RegisterAndOffset { .. } => Some(None),
        CfaRule::Expression(_) => None,
    });
    found.flatten()
}

/// Bytes that the beginning of a function makes room for on the stack: `sub rsp, N`, or the shorter `add rsp, -128`.
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
    fn the_room_of_a_function_is_what_it_subtracts_from_the_stack_pointer() {
        let of = |code: &[u8]| room(&[code, &[0; CALL]].concat());
        // push rbp; mov rbp, rsp; push r12; sub rsp, 0x68.
        let beginning = [0x55, 0x48, 0x89, 0xe5, 0x41, 0x54];
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xec, 0x68]].concat()), 0x68);
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xc4, 0x80]].concat()), 0x80);
        // In steps of a page, each touched: or qword ptr [rsp], 0.
        let page = [0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0x83, 0x0c, 0x24, 0];
        assert_eq!(of(&[&beginning[..], &page, &page, &[0x48, 0x83, 0xec, 0x18]].concat()), 0x2018);
        // add rsp, 0x68 is an end.
        assert_eq!(of(&[&beginning[..], &[0x48, 0x83, 0xc4, 0x68]].concat()), 0);
    }
}
