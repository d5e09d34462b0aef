//! Shares as people write them: percentages and fractions.

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
