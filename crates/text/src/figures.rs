//! Formats figures for people.

/// A fraction as a percentage with two significant digits: `0.21%`, `5.7%`, `42%`.
pub fn percent(fraction: f64) -> String {
    let value = (fraction * 100.0).abs();
    // Too many digits to read: written with a power of ten.
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

/// A number with its noun: `1 trial`, `2 trials`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A duration in seconds as text: `45 s`, `12 min`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    in_minutes(seconds, 30)
}

/// As [`duration`], for an upper bound: minutes are rounded up below two hours.
pub fn duration_at_most(seconds: f64) -> String {
    in_minutes(seconds, 59)
}

fn in_minutes(seconds: f64, up: u64) -> String {
    match seconds.round().max(0.0) as u64 {
        s @ 0..=119 => format!("{s} s"),
        s @ 120..=7199 => format!("{} min", (s + up) / 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// One word of a command line, quoted for a shell where necessary.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_percentage_too_long_to_read_is_a_power_of_ten() {
        assert_eq!([percent(1e298), percent(-1e20), percent(5.0)], ["1.00e300%", "-1.00e22%", "500%"]);
    }
}
