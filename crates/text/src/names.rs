//! Shortens names for display.

/// Each name without the leading and trailing parts that all names share. Parts are the components of paths and the
/// words of command lines: `./old --run` and `./new --run` become `old` and `new`. All names are returned whole if
/// nothing would remain of one of them.
pub fn apart(names: &[impl AsRef<str>]) -> Vec<String> {
    let parts = |name: &str| -> Vec<String> {
        name.split(['/', ' ']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = names.iter().map(|name| parts(name.as_ref())).collect();
    let Some((one, others)) = all.split_first() else { return Vec::new() };
    let alike = |at: &dyn Fn(&[String]) -> Option<&String>| others.iter().all(|other| at(other) == at(one));
    let most = all.iter().map(Vec::len).min().unwrap_or(0);
    let first = (0..most).take_while(|i| alike(&|parts| parts.get(*i))).count();
    let last = (0..most - first).take_while(|i| alike(&|parts| parts.get(parts.len().checked_sub(i + 1)?))).count();
    let named: Vec<String> = all.iter().map(|parts| parts[first..parts.len() - last].join(" ")).collect();
    if named.iter().any(String::is_empty) {
        return names.iter().map(|name| name.as_ref().to_owned()).collect();
    }
    named
}

/// A name in at most `letters` characters: a longer one becomes `…` and its end.
pub fn ending(name: &str, letters: usize) -> String {
    let count = name.chars().count();
    if count <= letters {
        return name.to_owned();
    }
    format!("…{}", name.chars().skip(count + 1 - letters).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_shortest_parts_that_differ() {
        assert_eq!(apart(&["/x/before/bin/mariadbd", "/x/after/bin/mariadbd"]), ["before", "after"]);
        assert_eq!(apart(&["./old --run", "./new --run"]), ["old", "new"]);
        assert_eq!(apart(&["/x/a/h", "/x/g"]), ["a h", "g"]);
        assert_eq!(apart(&["off", "on"]), ["off", "on"]);
        assert_eq!(apart(&["/x/a/h", "/x/b/h", "/x/c/d/h"]), ["a", "b", "c d"]);
        // One name is a prefix of the other, or both are equal.
        assert_eq!(apart(&["/x/h", "/x/h -v"]), ["/x/h", "/x/h -v"]);
        assert_eq!(apart(&["/x/h", "/x/h"]), ["/x/h", "/x/h"]);
        assert_eq!(apart(&["x x", "x x x"]), ["x x", "x x x"]);
    }
}
