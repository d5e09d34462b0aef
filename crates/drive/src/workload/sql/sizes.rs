//! Sizes in a file of statements that a study may change, and expressions with them.

use serde::Deserialize;

/// Number of tables, and of rows in each: `[sizes]`, which the keys `tables` and `rows` change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Sizes {
    pub tables: u64,
    pub rows: u64,
}

impl Default for Sizes {
    /// One table of 10,000 rows, as in sysbench.
    fn default() -> Self {
        Self { tables: 1, rows: 10_000 }
    }
}

/// A whole number, or an expression with sizes: `rows / 2 + 1`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Text(String),
}

impl Number {
    /// Its value. `*` and `/` (rounded down) bind tighter than `+` and `-`; each is evaluated from left to right.
    pub(crate) fn value(&self, sizes: Sizes) -> Result<i64, String> {
        let text = match self {
            Self::Whole(number) => return Ok(*number),
            Self::Text(text) => text,
        };
        let expected = || format!("{text:?}: whole numbers, rows, tables, and + - * / between them");
        let spaced =
            ["+", "-", "*", "/"].iter().fold(text.clone(), |text, sign| text.replace(sign, &format!(" {sign} ")));
        let mut words = spaced.split_whitespace();
        let (mut sum, mut sign, mut product) = (0_i64, 1_i64, None::<i64>);
        let mut operator = "+";
        loop {
            let word = words.next().ok_or_else(expected)?;
            let factor = match word {
                "rows" => i64::try_from(sizes.rows).map_err(|_| expected())?,
                "tables" => i64::try_from(sizes.tables).map_err(|_| expected())?,
                number => number.parse().map_err(|_| expected())?,
            };
            product = match (operator, product) {
                ("*", Some(before)) => before.checked_mul(factor),
                ("/", Some(before)) => before.checked_div_euclid(factor),
                _ => Some(factor),
            };
            let so_far = product.ok_or_else(expected)?;
            let next = words.next();
            if !matches!(next, Some("*" | "/")) {
                sum = sign.checked_mul(so_far).and_then(|term| sum.checked_add(term)).ok_or_else(expected)?;
            }
            match next {
                None => return Ok(sum),
                Some("-") => (operator, sign) = ("-", -1),
                Some("+") => (operator, sign) = ("+", 1),
                Some(other @ ("*" | "/")) => operator = other,
                Some(_) => return Err(expected()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_of_sizes_are_numbers() {
        let sizes = Sizes { tables: 4, rows: 1001 };
        let of = |text: &str| Number::Text(text.into()).value(sizes);
        assert_eq!(of("rows"), Ok(1001));
        assert_eq!(of("rows / 2 + 1"), Ok(501));
        assert_eq!(of("2*rows-tables*3/2 - 1"), Ok(2002 - 6 - 1));
        assert_eq!(of("10 - 3 - 2"), Ok(5));
        for wrong in [
            "",
            "rows rows",
            "rows +",
            "+ 1",
            "ros",
            "1 / 0",
            "9223372036854775807 + 1",
            "rows * rows * rows * rows * rows * rows * rows",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
