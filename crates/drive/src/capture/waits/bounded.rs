//! Checks that a function's unwind tables can be evaluated in bounded time. The tables are instructions, with
//! expressions that may jump backwards; neither framehop nor gimli limits the evaluation for untrusted programs.

use super::programs::Sections;
use gimli::{BaseAddresses, CallFrameInstruction, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Operation};
use gimli::{CallFrameInstructionIter, Encoding, UnwindSection};

/// Limit of instructions per function, including those shared with other functions and the operations of expressions.
/// The largest functions of servers have some hundreds.
const MOST: usize = 20_000;

type Frames<'t> = EhFrame<EndianSlice<'t, LittleEndian>>;

pub(super) fn bases(sections: &Sections) -> BaseAddresses {
    let start = |range: &Option<std::ops::Range<u64>>| range.as_ref().map_or(0, |range| range.start);
    BaseAddresses::default()
        .set_eh_frame_hdr(start(&sections.eh_frame_hdr_svma))
        .set_eh_frame(start(&sections.eh_frame_svma))
        .set_text(start(&sections.text_svma))
        .set_got(start(&sections.got_svma))
}

/// Checks the function at an address, found in the way that framehop finds it. Returns true for a function that cannot
/// be found or read: framehop does not evaluate its tables either.
pub(super) fn is_bounded(sections: &Sections, address: u64) -> bool {
    let (Some(header), Some(frames)) = (&sections.eh_frame_hdr, &sections.eh_frame) else { return true };
    let (bases, frames) = (bases(sections), EhFrame::new(frames, LittleEndian));
    let found = || {
        let index = EhFrameHdr::new(header, LittleEndian).parse(&bases, 8).ok()?;
        let table = index.table()?;
        let offset = table.pointer_to_offset(table.lookup(address, &bases).ok()?).ok()?;
        frames.fde_from_offset(&bases, offset, EhFrame::cie_from_offset).ok()
    };
    let Some(function) = found() else { return true };
    let (mut left, encoding) = (MOST, function.cie().encoding());
    let shared = function.cie().instructions(&frames, &bases);
    ends(shared, &frames, encoding, &mut left)
        && ends(function.instructions(&frames, &bases), &frames, encoding, &mut left)
}

fn ends<'t>(
    mut instructions: CallFrameInstructionIter<'_, EndianSlice<'t, LittleEndian>>,
    frames: &Frames<'t>,
    encoding: Encoding,
    left: &mut usize,
) -> bool {
    while let Ok(Some(instruction)) = instructions.next() {
        let expression = match instruction {
            CallFrameInstruction::DefCfaExpression { expression }
            | CallFrameInstruction::Expression { expression, .. }
            | CallFrameInstruction::ValExpression { expression, .. } => Some(expression),
            _ => None,
        };
        if !takes_one(left) {
            return false;
        }
        let Some(expression) = expression.and_then(|expression| expression.get(frames).ok()) else { continue };
        let mut operations = expression.operations(encoding);
        while let Ok(Some(operation)) = operations.next() {
            if matches!(operation, Operation::Bra { .. } | Operation::Skip { .. }) || !takes_one(left) {
                return false;
            }
        }
    }
    true
}

fn takes_one(left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
}

#[cfg(test)]
pub(super) mod made {
    use super::super::programs::Sections;

    /// A program with a single function: 256 bytes from 0x1000 on, with these unwind instructions.
    pub(crate) fn program(instructions: &[u8]) -> Sections {
        const FRAMES: u64 = 0x2000;
        const INDEX: u64 = 0x3000;
        let entry = |id: u32, body: &[u8]| {
            let body = [&id.to_le_bytes()[..], body].concat();
            // Padded with DW_CFA_nop to a multiple of eight.
            let length = (body.len() + 4).next_multiple_of(8) - 4;
            let rest = vec![0; length - body.len()];
            [&(length as u32).to_le_bytes()[..], &body, &rest].concat()
        };
        let relative = |to: u64, from: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
        // Version 1, "zR": addresses relative to their position, 4 bytes; CFA = rsp + 8, the return address below it.
        let common = entry(0, &[1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1]);
        let own = FRAMES + common.len() as u64;
        let function = [&relative(0x1000, own + 8)[..], &256_u32.to_le_bytes(), &[0], instructions].concat();
        let frames = [&common[..], &entry(common.len() as u32 + 4, &function), &[0; 4]].concat();
        let index = [
            &[1, 0x1b, 0x03, 0x3b][..],
            &relative(FRAMES, INDEX + 4),
            &1_u32.to_le_bytes(),
            &relative(0x1000, INDEX),
            &relative(own, INDEX),
        ]
        .concat();
        Sections {
            base_svma: 0x1000,
            text_svma: Some(0x1000..0x1100),
            eh_frame_svma: Some(FRAMES..FRAMES + frames.len() as u64),
            eh_frame: Some(frames.into()),
            eh_frame_hdr_svma: Some(INDEX..INDEX + index.len() as u64),
            eh_frame_hdr: Some(index.into()),
            ..Sections::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwind_tables_that_jump_back_or_are_too_long_are_not_evaluated() {
        let of = |instructions: &[u8]| is_bounded(&made::program(instructions), 0x1010);
        // DW_CFA_def_cfa_offset 16; DW_CFA_def_cfa_expression: DW_OP_breg7 8, as in procedure linkage tables.
        assert!(of(&[0x0e, 16]) && of(&[0x0f, 2, 0x77, 8]));
        // The same with DW_OP_skip -3, also as DW_CFA_expression and DW_CFA_val_expression of register 6.
        let back = [0x2f, 0xfd, 0xff];
        assert!(!of(&[&[0x0f, 3][..], &back].concat()));
        assert!(!of(&[&[0x10, 6, 3][..], &back].concat()));
        assert!(!of(&[&[0x16, 6, 3][..], &back].concat()));
        // DW_CFA_nop.
        assert!(of(&[0; 1000]) && !of(&[0; 2 * MOST]));
        assert!(is_bounded(&Sections::default(), 0x1010));
    }
}
