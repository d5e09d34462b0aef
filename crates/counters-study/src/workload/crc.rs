//! CRC-32 over memory that other threads are writing. Implemented here, because no library accepts memory with data
//! races, and because the zlib of the original program used tables, four bytes at a time: the carry-less multiplication
//! of a modern library is about ten times as fast and would change the composition of a round.

/// The reflected polynomial of CRC-32 (ISO 3309, zlib).
const POLYNOMIAL: u32 = 0xedb8_8320;

/// `TABLES[k][b]`: the CRC of byte b followed by k zero bytes.
static TABLES: [[u32; 256]; 4] = tables();

const fn tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut entry = 0;
    while entry < 3 * 256 {
        let (slice, byte) = (1 + entry / 256, entry % 256);
        let before = tables[slice - 1][byte];
        tables[slice][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
        entry += 1;
    }
    tables
}

/// The CRC-32 of `words` words of 4 bytes, starting at `data` (slicing by 4: Kounavis and Berry, 2005).
///
/// # Safety
/// The words must be readable and aligned. Other threads may write them: the result is then that of some mixture.
pub(super) unsafe fn crc32(data: *const u32, words: usize) -> u32 {
    let mut crc = !0;
    for word in 0..words {
        // SAFETY: the caller's guarantee. Volatile: each word is read exactly once.
        crc ^= u32::from_le(unsafe { data.add(word).read_volatile() });
        let [a, b, c, d] = crc.to_le_bytes().map(usize::from);
        crc = TABLES[3][a] ^ TABLES[2][b] ^ TABLES[1][c] ^ TABLES[0][d];
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> u32 {
        let words: Vec<u32> = bytes.chunks_exact(4).map(|four| u32::from_ne_bytes(four.try_into().unwrap())).collect();
        // SAFETY: the words of a vector.
        unsafe { crc32(words.as_ptr(), words.len()) }
    }

    /// Bit by bit, following the definition.
    fn slowly(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, &byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (POLYNOMIAL & (crc & 1).wrapping_neg()))
        })
    }

    #[test]
    fn the_crc_of_the_published_example_is_correct() {
        // "123456789" gives cbf43926 (ISO 3309's check); the table-driven code takes whole words only.
        assert_eq!(slowly(b"123456789"), 0xcbf4_3926);
        assert_eq!(of(b"12345678"), slowly(b"12345678"));
    }

    proptest::proptest! {
        #[test]
        fn crc_tables_match_the_definition(words in proptest::collection::vec(proptest::prelude::any::<[u8; 4]>(), 0..64)) {
            let bytes = words.concat();
            proptest::prop_assert_eq!(of(&bytes), slowly(&bytes));
        }
    }
}
