//! Texts, last names and the non-uniform numbers of the standard (clauses 2.1.6, 4.3.2).

use tare_load::Random;

const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const SIGNS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Characters that are drawn from one random number: 62^10 is below 2^60.
const SIGNS_AT_ONCE: usize = 10;
const ORIGINAL: &str = "ORIGINAL";

/// Uniform from `least` to `most`, both included.
pub(super) fn between(random: &mut Random, least: i64, most: i64) -> i64 {
    least + random.below((most - least + 1).unsigned_abs()).cast_signed()
}

/// Letters and digits, of a length between both (a-string).
pub(super) fn letters(random: &mut Random, least: i64, most: i64) -> String {
    let length = between(random, least, most) as usize;
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let mut bits = random.bits();
        for _ in 0..SIGNS_AT_ONCE.min(length - text.len()) {
            text.push(char::from(SIGNS[(bits % SIGNS.len() as u64) as usize]));
            bits /= SIGNS.len() as u64;
        }
    }
    text
}

pub(super) fn digits(random: &mut Random, length: usize) -> String {
    (0..length).map(|_| char::from(b'0' + random.below(10) as u8)).collect()
}

/// Data of an item or its stock: one of ten contains ORIGINAL at a random position.
pub(super) fn data(random: &mut Random) -> String {
    let mut text = letters(random, 26, 50);
    if random.below(10) == 0 {
        let at = random.below((text.len() - ORIGINAL.len() + 1) as u64) as usize;
        text.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
    }
    text
}

pub(super) fn decimal(number: i64, decimals: usize) -> String {
    let sign = if number < 0 { "-" } else { "" };
    let unit = 10_u64.pow(decimals as u32);
    format!("{sign}{}.{:0decimals$}", number.unsigned_abs() / unit, number.unsigned_abs() % unit)
}

/// The last name of a number from 0 to 999: one syllable per digit.
pub(super) fn last_name(number: i64) -> String {
    [number / 100, number / 10 % 10, number % 10].map(|digit| SYLLABLES[(digit % 10) as usize]).concat()
}

const C_OF_FILLED_NAMES: i64 = 157;

/// The constants C of non-uniform numbers, each of which selects a hot spot (clause 2.1.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// For last names, 0 to 255.
    pub name: i64,
    /// For customer numbers, 0 to 1023.
    pub customer: i64,
    /// For items, 0 to 8191.
    pub item: i64,
}

impl Constants {
    pub(super) const FILLED: Self = Self { name: C_OF_FILLED_NAMES, customer: 0, item: 0 };

    /// The constants of a run, from its seed alone. The constant for last names differs from that of the filling as
    /// the standard requires: by 65 to 119, but neither 96 nor 112.
    pub fn of_run(seed: u64) -> Self {
        // A separate stream, so that the numbers drawn by clients do not depend on it.
        let mut random = Random::new(seed ^ 0x7470_6363, tare_load::Purpose::Rows, 0);
        let name = loop {
            let name = between(&mut random, 0, 255);
            let distance = (name - C_OF_FILLED_NAMES).abs();
            if (65..=119).contains(&distance) && ![96, 112].contains(&distance) {
                break name;
            }
        };
        Self { name, customer: between(&mut random, 0, 1023), item: between(&mut random, 0, 8191) }
    }

    /// Number of a last name, below `names`.
    pub(super) fn a_name(&self, random: &mut Random, names: i64) -> i64 {
        non_uniform(random, 255, self.name, 0, names - 1)
    }

    pub(super) fn a_customer(&self, random: &mut Random, customers: i64) -> i64 {
        non_uniform(random, 1023, self.customer, 1, customers)
    }

    pub(super) fn an_item(&self, random: &mut Random, items: i64) -> i64 {
        non_uniform(random, 8191, self.item, 1, items)
    }
}

fn non_uniform(random: &mut Random, a: i64, c: i64, x: i64, y: i64) -> i64 {
    ((between(random, 0, a) | between(random, x, y)) + c) % (y - x + 1) + x
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    fn random() -> Random {
        Random::new(7, Purpose::Transactions, 0)
    }

    #[test]
    fn names_and_numbers_are_those_of_the_standard() {
        // The standard's own example.
        assert_eq!(last_name(371), "PRICALLYOUGHT");
        assert_eq!((last_name(0), last_name(999)), ("BARBARBAR".into(), "EINGEINGEING".into()));
        assert_eq!([decimal(1, 2), decimal(-1000, 2), decimal(2000, 4)], ["0.01", "-10.00", "0.2000"]);
    }

    #[test]
    fn texts_have_their_lengths_and_one_data_of_ten_is_original() {
        let mut random = random();
        let lengths: Vec<usize> = (0..1000).map(|_| letters(&mut random, 14, 24).len()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&14), Some(&24)));
        let original = (0..10_000).filter(|_| data(&mut random).contains(ORIGINAL)).count();
        assert!((900..1100).contains(&original), "{original}");
    }

    /// Share of the hottest tenth of all values: the OR of two uniform numbers makes some values far likelier.
    #[test]
    fn customers_are_skewed_and_stay_in_range() {
        let (mut random, constants) = (random(), Constants::of_run(3));
        let mut counts = vec![0_u32; 3000];
        for _ in 0..100_000 {
            counts[constants.a_customer(&mut random, 3000) as usize - 1] += 1;
        }
        counts.sort_unstable();
        let hot: u32 = counts[2700..].iter().sum();
        assert!(hot > 35_000, "the hottest tenth has {hot} of 100000");
        for small in [1, 30, 1000] {
            assert!((0..2000).all(|_| (1..=small).contains(&constants.an_item(&mut random, small))));
        }
    }

    #[test]
    fn the_constant_of_names_is_far_from_the_fillings_and_repeats() {
        for seed in 0..200 {
            let constants = Constants::of_run(seed);
            let distance = (constants.name - C_OF_FILLED_NAMES).abs();
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112, "{constants:?}");
            assert_eq!(constants, Constants::of_run(seed));
        }
    }
}
