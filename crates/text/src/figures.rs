//! Formats figures for people.

/// From this value on, figures are written as powers of ten, because so many digits are hard to read.
pub const TOO_LONG: f64 = 1e12;

/// A fraction as a percentage with two significant digits: `0.21%`, `5.7%`, `42%`.
pub fn percent(fraction: f64) -> String {
    let value = (fraction * 100.0).abs();
    if value >= TOO_LONG && fraction.is_finite() {
        // A hundred times the figure may be infinite.
        let text = format!("{fraction:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{digits}e{}%", power.parse::<i32>().unwrap_or(0) + 2);
    }
    let decimals = if value >= 9.95 {
        0
    } else if value >= 0.995 {
        1
    } else {
        2
    };
    unsigned_zero(format!("{:.*}%", decimals, fraction * 100.0))
}

/// As [`percent`], but below 0.1% with two significant digits too: a limit that was set, or an effect that is shown, is
/// never `0.00%`.
pub fn small_percent(fraction: f64) -> String {
    let value = (fraction * 100.0).abs();
    if value == 0.0 {
        return "0%".to_owned();
    }
    if value >= 0.1 || !value.is_finite() {
        return percent(fraction);
    }
    let decimals = 1 - value.log10().floor() as i32;
    // Such a number of zeros is hard to read.
    if decimals > 7 {
        return format!("{:.0e}%", fraction * 100.0);
    }
    let text = format!("{:.*}", decimals.unsigned_abs() as usize, fraction * 100.0);
    format!("{}%", text.trim_end_matches('0'))
}

/// A value without a unit, with this many decimals: `0.0267`; as a power of ten if it is too large to read.
pub fn decimal(value: f64, decimals: usize) -> String {
    if value.abs() >= TOO_LONG { format!("{value:.2e}") } else { unsigned_zero(format!("{value:.decimals$}")) }
}

/// The text of a number or percentage, without its sign if it is rounded to zero.
pub fn unsigned_zero(text: String) -> String {
    let digits = text.strip_prefix(['-', '+']).filter(|digits| is_zero(digits));
    digits.map_or(text.clone(), str::to_owned)
}

/// Whether the text of a number or percentage without a sign is zero.
pub fn is_zero(digits: &str) -> bool {
    digits.chars().all(|c| matches!(c, '0' | '.' | '%'))
}

/// A number with its noun: `1 trial`, `2 trials`.
pub fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Words joined as in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The verb for a number of things: `1 trial was`, `2 of 5 trials were`.
pub fn was(number: usize) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

/// A duration in seconds as text: `45 s`, `12 min`, `3 h 20 min`.
pub fn duration(seconds: f64) -> String {
    in_minutes(seconds.round(), 30)
}

/// As [`duration`], rounded up, for an upper bound.
pub fn duration_at_most(seconds: f64) -> String {
    in_minutes(seconds.ceil(), 59)
}

fn in_minutes(seconds: f64, up: u64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds.saturating_add(up) / 60 {
        _ if seconds < 120 => format!("{seconds} s"),
        minutes @ 0..120 => format!("{minutes} min"),
        minutes => format!("{} h {} min", minutes / 60, minutes % 60),
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

/// A share on a command line as a fraction: `5%` or `5`. A number without the sign is a percentage, and not a fraction
/// as in files, because the options say so in their help.
///
/// # Errors
/// What was expected.
pub fn percentage(text: &str) -> Result<f64, String> {
    match parsed(text) {
        Some((number, _)) => Ok(number / 100.0),
        None => Err("expected a percentage such as 5%".to_owned()),
    }
}

/// A share in a file as a fraction: `0.05` or `5%`. A number without the sign is a fraction.
pub fn fraction(text: &str) -> Option<f64> {
    parsed(text).map(|(number, is_percentage)| if is_percentage { number / 100.0 } else { number })
}

/// The number, and whether the sign of a percentage follows.
fn parsed(text: &str) -> Option<(f64, bool)> {
    let text = text.trim();
    let (number, is_percentage) = text.strip_suffix('%').map_or((text, false), |number| (number.trim_end(), true));
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    Some((number, is_percentage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_one_and_before_its_last_word() {
        let lists = [&["a"][..], &["a", "b"], &["a", "b", "c"], &[]].map(list);
        assert_eq!(lists, ["a", "a and b", "a, b and c", ""]);
    }

    #[test]
    fn an_upper_bound_is_not_below_the_duration() {
        let at_most = [0.0, 47.2, 119.5, 7199.0, 7201.0, 7260.0].map(duration_at_most);
        assert_eq!(at_most, ["0 s", "48 s", "2 min", "2 h 0 min", "2 h 1 min", "2 h 1 min"]);
        assert_eq!(
            [47.2, 119.6, 149.0, 7229.0, 7231.0].map(duration),
            ["47 s", "2 min", "2 min", "2 h 0 min", "2 h 1 min"]
        );
        assert!(duration(f64::INFINITY).contains(" h ") && duration(f64::NAN) == "0 s");
    }

    #[test]
    fn a_percentage_too_long_to_read_is_a_power_of_ten_and_zero_has_no_sign() {
        assert_eq!([percent(1e308), percent(-1e20), percent(5.0)], ["1.00e310%", "-1.00e22%", "500%"]);
        assert_eq!([percent(-4e-5), percent(-6e-5)], ["0.00%", "-0.01%"]);
        assert_eq!([decimal(1e300, 1), decimal(-0.02671, 4), decimal(-1e-6, 4)], ["1.00e300", "-0.0267", "0.0000"]);
    }

    #[test]
    fn a_limit_that_was_set_does_not_read_as_none() {
        let fractions = [0.02, 1e-3, 5e-4, 1.49e-4, -4e-5, 1e-6, 1e-9, 0.0];
        let texts = ["2.0%", "0.10%", "0.05%", "0.015%", "-0.004%", "0.0001%", "1e-7%", "0%"];
        assert_eq!(fractions.map(small_percent), texts);
    }

    #[test]
    fn a_number_without_a_sign_is_a_percentage_of_an_option_and_a_fraction_in_a_file() {
        for (text, of_option, of_file) in [
            ("5%", Some(0.05), Some(0.05)),
            ("0.5 %", Some(0.005), Some(0.005)),
            ("5", Some(0.05), Some(5.0)),
            ("0.5", Some(0.005), Some(0.5)),
            ("0", Some(0.0), Some(0.0)),
            ("5%%%", None, None),
            ("%", None, None),
            ("-1", None, None),
            ("NaN", None, None),
            ("inf%", None, None),
        ] {
            assert_eq!((percentage(text).ok(), fraction(text)), (of_option, of_file), "{text}");
        }
    }
}
