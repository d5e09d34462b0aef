//! Levels out of the name of a condition, where nothing else tells them.

use super::schema::Levels;

/// Reads `aslr=on ahi=off` as levels; empty when any word is not of that form.
pub fn levels_of(condition: &str) -> Levels {
    let mut levels = Levels::new();
    for word in condition.split_whitespace() {
        match word.split_once('=') {
            Some((factor, level)) if !factor.is_empty() && !level.is_empty() => {
                levels.insert(factor.to_owned(), level.to_owned());
            }
            _ => return Levels::new(),
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_words_with_equal_signs_is_its_levels() {
        let levels = levels_of("aslr=on  ahi=off");
        assert_eq!(levels.get("aslr").map(String::as_str), Some("on"));
        assert_eq!(levels.get("ahi").map(String::as_str), Some("off"));
        assert!(levels_of("plain name").is_empty());
        assert!(levels_of("a=1 plain").is_empty());
        assert_eq!(levels_of("options=x=1").get("options").map(String::as_str), Some("x=1"));
    }
}
