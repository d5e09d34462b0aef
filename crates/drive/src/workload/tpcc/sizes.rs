//! Rows of each table (clause 1.2.1), and the tests' own smaller ones.

/// Order numbers and warehouses are 32-bit; no one loads more.
pub const MOST_WAREHOUSES: u64 = 100_000;
/// The smallest share: 30 customers a district, of which 21 have had their order delivered.
pub const LEAST_SCALE: f64 = 0.01;
pub(super) const DISTRICTS: i64 = 10;
pub(super) const NAMES: i64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Warehouses, which are numbered from 1.
    pub warehouses: i64,
    /// Items that can be ordered, from 1.
    pub items: i64,
    /// Customers of a district, from 1; at first as many orders.
    pub customers: i64,
}

impl Sizes {
    /// Of so many warehouses, at a share of the standard's items and customers.
    pub fn new(warehouses: u64, scale: f64) -> Self {
        let share = |whole: f64| (whole * scale).round() as i64;
        Self { warehouses: warehouses as i64, items: share(100_000.0), customers: share(3000.0) }
    }

    /// The last of a district's orders that were delivered at first: seven of ten.
    pub fn delivered(&self) -> i64 {
        self.customers * 7 / 10
    }

    /// Last names that a district's customers have, from 0.
    pub fn names(&self) -> i64 {
        self.customers.min(NAMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_scale_is_the_standards() {
        let sizes = Sizes::new(7, 1.0);
        assert_eq!(sizes, Sizes { warehouses: 7, items: 100_000, customers: 3000 });
        assert_eq!((sizes.delivered(), sizes.names()), (2100, 1000));
        assert_eq!(Sizes::new(1, LEAST_SCALE).delivered(), 21);
    }
}
