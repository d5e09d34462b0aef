//! What a program's own tables say of how the caller of a function is found: those that it carries for exceptions.

use super::programs::Sections;
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, Encoding, EndianSlice, LittleEndian, Operation, RegisterRule,
    UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow,
};
use std::ops::Range;

type Bytes<'s> = EndianSlice<'s, LittleEndian>;

/// A function, and the row of its table for one of its addresses.
pub(super) struct Row<'r, 's> {
    pub function: u64,
    pub row: &'r UnwindTableRow<usize>,
    encoding: Encoding,
    frames: EhFrame<Bytes<'s>>,
}

/// What `of` makes of the row for an address; none where the tables have none.
pub(super) fn look_up<T>(sections: &Sections, address: u64, of: impl FnOnce(&Row<'_, '_>) -> T) -> Option<T> {
    let start = |range: &Option<Range<u64>>| range.as_ref().map_or(0, |range| range.start);
    let bases = BaseAddresses::default()
        .set_eh_frame_hdr(start(&sections.eh_frame_hdr_svma))
        .set_eh_frame(start(&sections.eh_frame_svma))
        .set_text(start(&sections.text_svma))
        .set_got(start(&sections.got_svma));
    let index = EhFrameHdr::new(sections.eh_frame_hdr.as_ref()?, LittleEndian).parse(&bases, 8).ok()?;
    let frames = EhFrame::new(sections.eh_frame.as_ref()?, LittleEndian);
    let function = index.table()?.fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::new();
    let row = function.unwind_info_for_address(&frames, &bases, &mut context, address).ok()?;
    let (function, encoding) = (function.initial_address(), function.cie().encoding());
    Some(of(&Row { function, row, encoding, frames }))
}

impl Row<'_, '_> {
    /// Whether the caller is found in a bounded time. Who unwinds runs the expressions of a row as they are, and one
    /// that branches may run for ever. No compiler writes such a one.
    pub fn is_bounded(&self) -> bool {
        let of_cfa = match self.row.cfa() {
            CfaRule::Expression(expression) => Some(expression),
            CfaRule::RegisterAndOffset { .. } => None,
        };
        let of_registers = self.row.registers().filter_map(|(_, rule)| match rule {
            RegisterRule::Expression(expression) | RegisterRule::ValExpression(expression) => Some(expression),
            _ => None,
        });
        of_cfa.into_iter().chain(of_registers).all(|expression| self.is_straight(expression))
    }

    fn is_straight(&self, expression: &UnwindExpression<usize>) -> bool {
        let Ok(expression) = expression.get(&self.frames) else { return false };
        let mut operations = expression.operations(self.encoding);
        loop {
            match operations.next() {
                Ok(None) => return true,
                Ok(Some(Operation::Skip { .. } | Operation::Bra { .. })) | Err(_) => return false,
                Ok(Some(_)) => {}
            }
        }
    }
}

#[cfg(test)]
pub(super) mod made {
    use super::super::programs::Sections;

    /// The only function of a program: 256 bytes from 0x1000 on, whose caller is where this expression says.
    pub fn program(expression: &[u8]) -> Sections {
        const FRAMES: u64 = 0x2000;
        const INDEX: u64 = 0x3000;
        let entry = |id: u32, body: &[u8]| {
            let body = [&id.to_le_bytes()[..], body].concat();
            // DW_CFA_nop up to a multiple of eight.
            let length = (body.len() + 4).next_multiple_of(8) - 4;
            let rest = vec![0; length - body.len()];
            [&(length as u32).to_le_bytes()[..], &body, &rest].concat()
        };
        let relative = |to: u64, from: u64| (to.wrapping_sub(from) as u32).to_le_bytes();
        // Version 1, "zR": addresses from where they stand, 4 bytes; CFA = rsp + 8, the return address below it.
        let common = entry(0, &[1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1]);
        let own = FRAMES + common.len() as u64;
        // DW_CFA_val_expression of the return address.
        let rule = [&[0, 0x16, 16, expression.len() as u8][..], expression].concat();
        let function = [&relative(0x1000, own + 8)[..], &256_u32.to_le_bytes(), &rule].concat();
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
    fn an_expression_that_branches_is_not_bounded() {
        // DW_OP_breg7 0, plus; DW_OP_skip to itself; DW_OP_lit1, DW_OP_bra to the lit1; an end in the middle.
        for (expression, bounded) in [
            (&[0x77, 0, 0x22][..], true),
            (&[0x2f, 0xfd, 0xff], false),
            (&[0x31, 0x28, 0xfc, 0xff], false),
            (&[0x77, 0, 0x2f, 0], false),
        ] {
            let program = made::program(expression);
            assert_eq!(look_up(&program, 0x1010, |row| row.is_bounded()), Some(bounded), "{expression:x?}");
            assert_eq!(look_up(&program, 0x1010, |row| row.function), Some(0x1000));
            assert_eq!(look_up(&program, 0x1100, |row| row.is_bounded()), None);
        }
    }
}
