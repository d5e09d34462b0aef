//! Figures as people read them.

/// A fraction as a percentage with two significant digits: `0.21%`, `5.7%`, `42%`.
pub fn percent(fraction: f64) -> String {
    let value = (fraction * 100.0).abs();
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
