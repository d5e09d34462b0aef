//! Shares as people write them: percentages and fractions.

use crate::percent;

/// A share on a command line as a fraction: `5%` or `5`. A number below 1 needs the sign, because it is a fraction in
/// files.
///
/// # Errors
/// What was expected.
pub fn percentage(text: &str) -> Result<f64, String> {
    match parsed(text) {
        Some((number, false)) if number > 0.0 && number < 1.0 => {
            Err(format!("expected a percentage with its sign: {}%, or {}", text.trim(), percent(number)))
        }
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
    fn what_options_and_files_both_accept_means_the_same_in_both() {
        for (text, of_option, of_file) in [
            ("5%", Some(0.05), Some(0.05)),
            ("0.5 %", Some(0.005), Some(0.005)),
            ("5", Some(0.05), Some(5.0)),
            ("0.5", None, Some(0.5)),
            ("0", Some(0.0), Some(0.0)),
            ("5%%%", None, None),
            ("%", None, None),
            ("-1", None, None),
            ("NaN", None, None),
            ("inf%", None, None),
        ] {
            assert_eq!((percentage(text).ok(), fraction(text)), (of_option, of_file), "{text}");
        }
        assert_eq!(percentage("0.5"), Err("expected a percentage with its sign: 0.5%, or 50%".to_owned()));
    }
}
