//! The number of warehouses, how the clients work, and the keys of a study for both.

use crate::workload::keys;
use crate::workload::sessions::Pace;
use strum::{Display, EnumString, VariantNames};
use tare_text::{Key, Keyed, UnknownWord, Value, key};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TpccSettings {
    /// Number of warehouses in the tables; each client thread has one of them as its own.
    pub warehouses: u64,
    /// Share of the standard's items and customers, above 0 and at most 1: for short tests.
    pub scale: f64,
    /// Whether clients wait for keying and thinking times.
    pub keying: bool,
    /// Pace of the clients; closed: as fast as they can, or as keying lets them.
    pub pace: Pace,
    /// The consistency conditions that are checked after the last sample.
    pub checked: Checked,
}

/// The consistency conditions that are checked after the last sample of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Checked {
    #[default]
    All,
    /// The first four; of the largest table they only count rows.
    Four,
    Off,
}

impl Default for TpccSettings {
    fn default() -> Self {
        Self { warehouses: 1, scale: 1.0, keying: false, pace: Pace::default(), checked: Checked::default() }
    }
}

impl TpccSettings {
    pub fn sizes(&self) -> Sizes {
        Sizes::new(self.warehouses, self.scale)
    }
}

impl Keyed for TpccSettings {
    const KEYS: &'static [Key<Self>] = &[
        key!(whole "warehouses" in warehouses, (1, MOST_WAREHOUSES),
            "tpcc: warehouses, each about 500,000 rows; thread n has warehouse n as its home, and threads beyond the \
             last warehouse start again at the first"),
        Key::words(
            "tpcc_scale",
            "tpcc: share of the standard's items, and of its customers and orders per district, 0.01 to 1; below 1 \
             only for tests, because it is then another benchmark",
            |s| Some(s.scale.into()),
            |s, v| scale(v).map(|v| s.scale = v),
        ),
        key!(switch "keying" in keying,
            "tpcc: on: clients wait before and after each transaction as the standard's terminals do (18 s and 12 s \
             for a new order); the standard has ten threads per warehouse"),
        keys::rate_of_pace(),
        keys::objective(),
        key!(words "conditions" in checked,
            "tpcc: which of the standard's consistency conditions are checked after the last sample, while the server \
             still runs: all, four (the first four) or off"),
    ];
}

fn scale(value: &Value) -> Result<f64, String> {
    let number: Option<f64> = value.to_string().parse().ok();
    number
        .filter(|scale| (LEAST_SCALE..=1.0).contains(scale))
        .ok_or_else(|| format!("a share from {LEAST_SCALE} to 1 of the standard's items and customers"))
}

/// Order and warehouse numbers are 32-bit; this is more than any test loads.
pub(crate) const MOST_WAREHOUSES: u64 = 100_000;
/// The smallest share: 30 customers per district, of which 21 have had their order delivered.
pub(crate) const LEAST_SCALE: f64 = 0.01;
pub(super) const DISTRICTS: i64 = 10;
pub(super) const NAMES: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    pub warehouses: i64,
    /// Items that can be ordered, numbered from 1.
    pub items: i64,
    /// Customers of a district, numbered from 1; initially as many orders.
    pub customers: i64,
}

impl Sizes {
    /// Sizes for this number of warehouses, at a share of the standard's items and customers.
    pub fn new(warehouses: u64, scale: f64) -> Self {
        let share = |whole: f64| (whole * scale).round() as i64;
        Self { warehouses: warehouses as i64, items: share(100_000.0), customers: share(3000.0) }
    }

    /// The last of a district's orders that were initially delivered: seven of ten.
    pub(crate) fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// Number of distinct last names of a district's customers, numbered from 0.
    pub(crate) fn names(&self) -> i64 {
        self.customers.min(NAMES)
    }

    /// Rows of all tables together, on average: an order has 10 lines of 5 to 15, and 3 in 10 orders are new.
    pub(super) fn expected_rows(&self) -> u64 {
        let orders = self.warehouses * DISTRICTS * self.customers;
        // Of a customer: itself, its history, its order, the lines.
        (orders * 133 / 10 + self.warehouses * (1 + DISTRICTS + self.items) + self.items).unsigned_abs()
    }

    /// Rows of all tables together, at most: a customer has an order of up to 15 lines, and three rows more.
    pub(super) fn all_rows(&self) -> u64 {
        (self.warehouses * (DISTRICTS * self.customers * 19 + self.items)).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_scale_has_the_sizes_of_the_standard() {
        let sizes = Sizes::new(7, 1.0);
        assert_eq!(sizes, Sizes { warehouses: 7, items: 100_000, customers: 3000 });
        assert_eq!((sizes.delivered(), sizes.names()), (2100, 1000));
        assert_eq!(Sizes::new(1, LEAST_SCALE).delivered(), 21);
    }
}
