//! The input of a transaction (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1).

use super::random::{between, last_name};
use super::settings::DISTRICTS;
use super::{Constants, Sizes};
use std::time::Duration;
use strum::{Display, IntoStaticStr, VariantArray};
use tare_load::Random;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    Id(i64),
    LastName(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Customer {
    pub warehouse: i64,
    pub district: i64,
    pub who: Who,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderLine {
    pub item: i64,
    pub supply: i64,
    pub quantity: i64,
}

/// The input of a transaction; the warehouse is the terminal's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    NewOrder { district: i64, customer: i64, lines: Vec<OrderLine> },
    Payment { district: i64, customer: Customer, cents: i64 },
    OrderStatus { customer: Customer },
    Delivery { carrier: i64 },
    StockLevel { threshold: i64 },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    pub warehouse: i64,
    pub district: i64,
    pub sizes: Sizes,
    pub constants: Constants,
}

impl Terminal {
    /// The terminal of a client thread: threads take the warehouses in turn, and in each round the next district.
    pub(crate) fn of_thread(index: usize, sizes: Sizes, constants: Constants) -> Self {
        let index = index as i64;
        let (warehouse, round) = (index % sizes.warehouses, index / sizes.warehouses);
        Self { warehouse: warehouse + 1, district: round % DISTRICTS + 1, sizes, constants }
    }

    pub(crate) fn asks(&self, kind: Kind, random: &mut Random) -> Input {
        let district = |random: &mut Random| between(random, 1, DISTRICTS);
        match kind {
            Kind::NewOrder => self.new_order(random),
            Kind::Payment => {
                let district = district(random);
                // 15 of 100 customers pay at another warehouse than their own.
                let (warehouse, of) = if self.sizes.warehouses > 1 && random.below(100) < 15 {
                    (self.other_warehouse(random), between(random, 1, DISTRICTS))
                } else {
                    (self.warehouse, district)
                };
                let customer = Customer { warehouse, district: of, who: self.customer(random) };
                Input::Payment { district, customer, cents: between(random, 100, 500_000) }
            }
            Kind::OrderStatus => {
                let district = district(random);
                let customer = Customer { warehouse: self.warehouse, district, who: self.customer(random) };
                Input::OrderStatus { customer }
            }
            Kind::Delivery => Input::Delivery { carrier: between(random, 1, 10) },
            Kind::StockLevel => Input::StockLevel { threshold: between(random, 10, 20) },
        }
    }

    fn new_order(&self, random: &mut Random) -> Input {
        let (district, count) = (between(random, 1, DISTRICTS), between(random, 5, 15));
        let customer = self.constants.a_customer(random, self.sizes.customers);
        let line = |random: &mut Random| OrderLine {
            item: self.constants.an_item(random, self.sizes.items),
            supply: match self.sizes.warehouses > 1 && random.below(100) == 0 {
                true => self.other_warehouse(random),
                false => self.warehouse,
            },
            quantity: between(random, 1, 10),
        };
        let mut lines: Vec<OrderLine> = (0..count).map(|_| line(random)).collect();
        // One of a hundred orders ends with an unknown item, and is rolled back.
        if random.below(100) == 0
            && let Some(last) = lines.last_mut()
        {
            last.item = self.sizes.items + 1;
        }
        Input::NewOrder { district, customer, lines }
    }

    fn other_warehouse(&self, random: &mut Random) -> i64 {
        let other = between(random, 1, self.sizes.warehouses - 1);
        if other < self.warehouse { other } else { other + 1 }
    }

    /// 60 of 100 customers are selected by last name.
    fn customer(&self, random: &mut Random) -> Who {
        if random.below(100) < 60 {
            Who::LastName(last_name(self.constants.a_name(random, self.sizes.names())))
        } else {
            Who::Id(self.constants.a_customer(random, self.sizes.customers))
        }
    }
}

/// One of the five transactions; their order is that of the tallies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// Orders 5 to 15 items; one of a hundred orders is rolled back.
    NewOrder,
    Payment,
    /// Reads a customer's last order; reads only.
    OrderStatus,
    /// Delivers the oldest order of each district.
    Delivery,
    /// Counts the items of the last orders that run short; reads only.
    StockLevel,
}

impl Kind {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub(crate) fn writes(self) -> bool {
        !matches!(self, Self::OrderStatus | Self::StockLevel)
    }

    /// Cards in a deck of a hundred: the standard's minimum shares, and the rest for new orders.
    fn cards(self) -> usize {
        match self {
            Self::NewOrder => 45,
            Self::Payment => 43,
            Self::OrderStatus | Self::Delivery | Self::StockLevel => 4,
        }
    }

    /// Seconds of keying before it, and mean seconds of thinking after it.
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

    /// Thinking time after it: exponential, at most ten times the mean.
    pub(super) fn thinking(self, random: &mut Random) -> Duration {
        let (_, mean) = self.keying_and_thinking_s();
        // 1 - u is never 0.
        Duration::from_secs_f64((-(1.0 - random.unit()).ln() * mean).min(10.0 * mean))
    }
}

/// A deck of a hundred cards, renewed when all are drawn: the mix is exact over every hundred of a thread's
/// transactions.
#[derive(Debug, Clone, Default)]
pub(super) struct Deck {
    left: Vec<Kind>,
}

impl Deck {
    pub(crate) fn draw(&mut self, random: &mut Random) -> Kind {
        if self.left.is_empty() {
            self.left = Kind::VARIANTS.iter().flat_map(|kind| vec![*kind; kind.cards()]).collect();
        }
        // Drawing at random from the rest is equivalent to shuffling first.
        let at = random.below(self.left.len() as u64) as usize;
        self.left.swap_remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_load::Purpose;

    fn all(kind: Kind, warehouses: u64) -> Vec<Input> {
        let sizes = Sizes::new(warehouses, 1.0);
        let terminal = Terminal::of_thread(3, sizes, Constants::of_run(1));
        let mut random = Random::new(1, Purpose::Transactions, 0);
        (0..20_000).map(|_| terminal.asks(kind, &mut random)).collect()
    }

    #[test]
    fn terminals_go_round_the_warehouses() {
        let place = |index| {
            let terminal = Terminal::of_thread(index, Sizes::new(3, 1.0), Constants::FILLED);
            (terminal.warehouse, terminal.district)
        };
        assert_eq!([0, 1, 2, 3, 32].map(place), [(1, 1), (2, 1), (3, 1), (1, 2), (3, 1)]);
    }

    #[test]
    fn shares_are_those_of_the_standard() {
        let share = |count: usize| count as f64 / 20_000.0;
        let (mut lines, mut remote, mut invalid) = (0, 0, 0);
        for input in all(Kind::NewOrder, 5) {
            let Input::NewOrder { lines: ordered, .. } = input else { panic!("another input") };
            assert!((5..=15).contains(&ordered.len()));
            lines += ordered.len();
            remote += ordered.iter().filter(|line| line.supply != 4).count();
            invalid += usize::from(ordered.iter().any(|line| line.item > 100_000));
        }
        assert!((9.9..10.1).contains(&share(lines)) && (0.08..0.12).contains(&share(remote)), "{lines} {remote}");
        assert!((0.007..0.013).contains(&share(invalid)), "{invalid}");
        let (mut elsewhere, mut named) = (0, 0);
        for input in all(Kind::Payment, 5) {
            let Input::Payment { customer, cents, .. } = input else { panic!("another input") };
            assert!((100..=500_000).contains(&cents) && (1..=5).contains(&customer.warehouse));
            elsewhere += usize::from(customer.warehouse != 4);
            named += usize::from(matches!(customer.who, Who::LastName(_)));
        }
        assert!((0.14..0.16).contains(&share(elsewhere)) && (0.59..0.61).contains(&share(named)));
        // With one warehouse there is no other.
        let home = |input: Input| match input {
            Input::Payment { customer, .. } => customer.warehouse == 1,
            Input::NewOrder { lines, .. } => lines.iter().all(|line| line.supply == 1),
            _ => true,
        };
        assert!(all(Kind::Payment, 1).into_iter().chain(all(Kind::NewOrder, 1)).all(home));
    }

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
