//! Reads numbers and strings from a packet; `None` if it is too short.

use std::str;

#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.number(1).map(|number| number as u8)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }

    /// A length-encoded integer: one byte, or 0xFC, 0xFD, 0xFE and 2, 3, 8 bytes.
    pub(super) fn length_encoded(&mut self) -> Option<u64> {
        match self.u8()? {
            byte @ 0..=0xfa => Some(u64::from(byte)),
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            _ => None,
        }
    }

    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.length_encoded()?).ok()?;
        self.take(length)
    }

    /// A string up to a NUL byte, which is consumed.
    pub(super) fn until_nul(&mut self) -> Option<&'a str> {
        let length = self.0.iter().position(|byte| *byte == 0)?;
        let text = str::from_utf8(self.take(length)?).ok()?;
        self.take(1)?;
        Some(text)
    }
}

pub(super) fn put_length(out: &mut Vec<u8>, number: u64) {
    match number {
        0..=0xfa => out.push(number as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(number as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&number.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_length_reads_back(number in prop_oneof![0u64..0x300, any::<u32>().prop_map(u64::from), any::<u64>()]) {
            let mut out = Vec::new();
            put_length(&mut out, number);
            let mut bytes = Bytes(&out);
            prop_assert_eq!(bytes.length_encoded(), Some(number));
            prop_assert!(bytes.0.is_empty());
        }
    }
}
