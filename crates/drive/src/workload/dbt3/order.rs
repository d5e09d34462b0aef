//! In which order a trial runs its queries.

use super::QuerySet;
use strum::{Display, EnumString, VariantNames};
use tare_load::{Purpose, Random};
use tare_text::UnknownWord;

/// In which order a trial runs its queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Order {
    /// By their numbers, as DBT-3 runs them.
    #[default]
    Numeric,
    /// Drawn from the trial's seed: what one query leaves behind for the next is another one in every trial.
    Random,
    /// Each on a fresh server of its own: nothing is left behind.
    Alone,
}

impl Order {
    pub fn arrange(self, queries: QuerySet, seed: u64) -> Vec<u8> {
        let mut numbers: Vec<u8> = queries.iter().collect();
        if self == Self::Random {
            let mut random = Random::new(seed, Purpose::Transactions, 0);
            for last in (1..numbers.len()).rev() {
                // Below `last + 1`, which fits.
                numbers.swap(last, random.below(last as u64 + 1) as usize);
            }
        }
        numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_order_has_every_query_once_and_is_the_seeds() {
        let of = |order: Order, seed| order.arrange(QuerySet::ALL, seed);
        let numeric: Vec<u8> = (1..=22).collect();
        assert_eq!((of(Order::Numeric, 7), of(Order::Alone, 7)), (numeric.clone(), numeric.clone()));
        let drawn = of(Order::Random, 7);
        assert_eq!(drawn, of(Order::Random, 7));
        assert!(drawn != numeric && drawn != of(Order::Random, 8));
        let mut sorted = drawn;
        sorted.sort_unstable();
        assert_eq!(sorted, numeric);
    }
}
