//! Figures as people read them.

/// A fraction as a percentage with two significant digits: `0.21%`, `5.7%`, `42%`.
pub fn percent(fraction: f64) -> String {
    let value = (fraction * 100.0).abs();
    // From here on digits are no longer read but counted: a power of ten is written.
    if value >= 1e12 {
        return format!("{:.2e}%", fraction * 100.0);
    }
    let decimals = if value >= 9.95 {
        0
    } else if value >= 0.995 {
        1
    } else {
        2
    };
    format!("{:.*}%", decimals, fraction * 100.0)
}

/// `1 trial`, `2 trials`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_to_read_is_a_power_of_ten() {
        assert_eq!([percent(1e298), percent(-1e20), percent(5.0)], ["1.00e300%", "-1.00e22%", "500%"]);
    }
}
