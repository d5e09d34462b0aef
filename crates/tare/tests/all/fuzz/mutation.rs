//! Mutates valid inputs.

/// A small, fast random generator without a varying seed: a failing input can be found again by its number.
pub struct Chance(u64);

impl Chance {
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// Pieces that are difficult for parsers.
const WORDS: [&[u8]; 30] = [
    b"\0",
    b"\n",
    b"\r\n",
    b"\"",
    b"'''",
    b"[[",
    b"]]",
    b"{}",
    b",,",
    b"=",
    b"-1",
    b"1e999",
    b"1.7976931348623157e308",
    b"5e-324",
    b"NaN",
    b"18446744073709551615",
    b"99999999999999999999",
    b"\xff\xfe",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\xfc\xff\xff",
    b"\xef\xbb\xbf",
    b"\\u0000",
    b"../",
    b"null",
    b"true",
    b"0x",
    b"-",
    b":",
    b"\x1b[2J",
];

/// One to eight changes of a valid input: bits, bytes, words, numbers, truncation, repeats, pieces of another input.
pub fn mutated(corpus: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut input = corpus[chance.below(corpus.len())].clone();
    for _ in 0..=chance.below(8) {
        let at = chance.below(input.len() + 1);
        let end = (at + chance.below(64)).min(input.len());
        match chance.below(8) {
            0 if at < input.len() => input[at] ^= 1 << chance.below(8),
            1 if at < input.len() => input[at] = chance.next() as u8,
            2 => drop(input.splice(at..at, WORDS[chance.below(WORDS.len())].iter().copied())),
            3 => input.truncate(at),
            4 => drop(input.drain(at..end)),
            5 => {
                let piece = input[at..end].repeat(1 + chance.below(50));
                input.splice(at..at, piece);
            }
            // Replaces a number by another one, so that the rest can still be parsed.
            6 => {
                let digits = input[at..].iter().position(u8::is_ascii_digit).map(|from| at + from);
                if let Some(from) = digits {
                    let length = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                    input.splice(from..from + length, WORDS[10 + chance.below(7)].iter().copied());
                }
            }
            _ => {
                let other = &corpus[chance.below(corpus.len())];
                let from = chance.below(other.len() + 1);
                let end = (from + chance.below(200)).min(other.len());
                input.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    input
}
