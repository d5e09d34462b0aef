//! The texts of sysbench's columns: groups of eleven digits joined by dashes.

use super::{OltpError, Tables};
use tare_engine::Dialect;
use tare_load::{Distribution, Draw, Random};

const GROUP_DIGITS: usize = 11;
/// Groups in column `c`: 119 characters.
pub(super) const C_GROUPS: usize = 10;
/// Groups in column `pad`: 59 characters.
pub(super) const PAD_GROUPS: usize = 5;

const TEN_TO_GROUP_DIGITS: u64 = 100_000_000_000;

/// Appends `groups` groups of uniformly random digits, joined by dashes.
pub(super) fn push_groups(text: &mut String, random: &mut Random, groups: usize) {
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut digits = [b'0'; GROUP_DIGITS];
        let mut rest = random.below(TEN_TO_GROUP_DIGITS);
        for digit in digits.iter_mut().rev() {
            *digit += (rest % 10) as u8;
            rest /= 10;
        }
        text.extend(digits.map(char::from));
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Fill {
    pub tables: Tables,
    /// Distribution of `k`. sysbench uses the distribution of the run; the default, special, clusters it.
    pub distribution: Distribution,
    /// The only input of the random rows: they depend neither on `sessions` nor on the engine.
    pub seed: u64,
    /// Sessions that fill tables at the same time, one table each; SQLite uses one.
    pub sessions: usize,
    pub dialect: &'static dyn Dialect,
}

/// Receives the number of added rows, and can stop the work.
pub(super) type Progress<'a> = &'a dyn Fn(u64) -> Result<(), OltpError>;

/// One row, whose memory is reused for the next.
#[derive(Default, Clone)]
pub(super) struct SbtestRow {
    pub id: i64,
    pub k: i64,
    pub c: String,
    pub pad: String,
}

impl SbtestRow {
    pub(super) fn draw(&mut self, id: u64, k: &Draw, random: &mut Random) {
        self.id = id as i64;
        self.k = k.draw(random) as i64;
        self.c.clear();
        push_groups(&mut self.c, random, C_GROUPS);
        self.pad.clear();
        push_groups(&mut self.pad, random, PAD_GROUPS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    #[test]
    fn texts_have_the_lengths_and_the_form_of_sysbench() {
        let mut random = Random::new(3, Purpose::Rows, 0);
        for (groups, length) in [(C_GROUPS, 119), (PAD_GROUPS, 59)] {
            let mut text = String::new();
            push_groups(&mut text, &mut random, groups);
            assert_eq!(text.len(), length);
            let parts: Vec<&str> = text.split('-').collect();
            assert_eq!(parts.len(), groups);
            assert!(parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit())));
        }
    }

    #[test]
    fn every_position_of_a_group_has_every_digit_equally_often() {
        let mut random = Random::new(3, Purpose::Rows, 0);
        let mut text = String::new();
        push_groups(&mut text, &mut random, 20_000);
        let mut counts = [[0u32; 10]; GROUP_DIGITS];
        for group in text.split('-') {
            for (place, digit) in group.bytes().enumerate() {
                counts[place][usize::from(digit - b'0')] += 1;
            }
        }
        // 2000 expected, standard deviation 42; the limits are five of them away.
        assert!(counts.iter().flatten().all(|count| (1788..=2212).contains(count)), "{counts:?}");
    }
}
