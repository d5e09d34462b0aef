//! Which transaction comes next, and how long someone types and thinks (clauses 5.2.3 to 5.2.5).

use std::time::Duration;
use strum::{Display, IntoStaticStr, VariantArray};
use tare_load::Random;

/// One of the five transactions; their order is that of the tallies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// Someone orders 5 to 15 items; one of a hundred is rolled back.
    NewOrder,
    Payment,
    /// A customer asks for the last order; reads only.
    OrderStatus,
    /// The oldest order of each district is delivered.
    Delivery,
    /// How many items of the last orders run short; reads only.
    StockLevel,
}

impl Kind {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn writes(self) -> bool {
        !matches!(self, Self::OrderStatus | Self::StockLevel)
    }

    /// Cards in a deck of a hundred: the standard's least shares, and all that is left for new orders.
    fn cards(self) -> usize {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }

    /// Seconds of typing before it, and mean seconds of thinking after it.
    fn keying_and_thinking_s(self) -> (f64, f64) {
        match self {
            Self::NewOrder => (18.0, 12.0),
            Self::Payment => (3.0, 12.0),
            Self::OrderStatus => (2.0, 10.0),
            Self::Delivery | Self::StockLevel => (2.0, 5.0),
        }
    }

    pub(super) fn keying(self) -> Duration {
        Duration::from_secs_f64(self.keying_and_thinking_s().0)
    }

    /// How long someone thinks after it: exponential, at most ten times the mean.
    pub(super) fn thinking(self, random: &mut Random) -> Duration {
        let (_, mean) = self.keying_and_thinking_s();
        // 1 - u is never 0.
        Duration::from_secs_f64((-(1.0 - random.unit()).ln() * mean).min(10.0 * mean))
    }
}

/// A hundred cards, shuffled anew when all were drawn: the mix is exact over every hundred transactions of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    pub fn draw(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            self.left = Kind::VARIANTS.iter().flat_map(|kind| vec![*kind; kind.cards()]).collect();
        }
        // Taken at random from what is left: the same as shuffling first.
        let at = random.below(self.left.len() as u64) as usize;
        self.left.swap_remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    #[test]
    fn every_hundred_transactions_have_the_standards_mix_in_another_order() {
        let (mut deck, mut random) = (Deck::default(), Random::new(1, Purpose::Transactions, 0));
        let mut hundred = || (0..100).map(|_| deck.draw(&mut random)).collect::<Vec<_>>();
        let (first, second) = (hundred(), hundred());
        assert_ne!(first, second);
        for drawn in [first, second] {
            let counts = Kind::VARIANTS.iter().map(|kind| drawn.iter().filter(|drawn| *drawn == kind).count());
            assert_eq!(counts.collect::<Vec<_>>(), [45, 43, 4, 4, 4]);
        }
    }

    #[test]
    fn thinking_has_its_mean_and_its_limit() {
        let mut random = Random::new(1, Purpose::Transactions, 0);
        let all: Vec<f64> = (0..20_000).map(|_| Kind::Payment.thinking(&mut random).as_secs_f64()).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((11.6..12.4).contains(&mean), "{mean}");
        assert!(all.iter().all(|s| *s <= 120.0));
    }
}
