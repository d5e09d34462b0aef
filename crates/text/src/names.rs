//! Shortens names for display.

/// Each name without the leading and trailing parts that all names share. Parts are the components of paths and the
/// words of command lines: `./old --run` and `./new --run` become `old` and `new`. Several shared parts between those
/// that differ become `…`. All names are returned whole if nothing would remain of one of them.
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
    let differing: Vec<&[String]> = all.iter().map(|parts| &parts[first..parts.len() - last]).collect();
    let named: Vec<String> = differing.iter().map(|own| without_shared(own, &differing)).collect();
    if named.iter().any(String::is_empty) {
        return names.iter().map(|name| name.as_ref().to_owned()).collect();
    }
    named
}

/// The parts of a name, with `…` in place of several that all names share, if all have as many. The first and the last
/// part differ.
fn without_shared(own: &[String], all: &[&[String]]) -> String {
    let same_length = all.iter().all(|other| other.len() == own.len());
    let shared = |at: usize| same_length && all.iter().all(|other| other[at] == own[at]);
    let mut words: Vec<&str> = Vec::new();
    for (at, part) in own.iter().enumerate() {
        match shared(at) && (shared(at - 1) || shared(at + 1)) {
            true if words.last() != Some(&"…") => words.push("…"),
            true => {}
            false => words.push(part),
        }
    }
    words.join(" ")
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
        assert_eq!(apart(&["a 1 x y z 2 b", "a 3 x y z 4 b"]), ["1 … 2", "3 … 4"]);
        assert_eq!(apart(&["1 x 2", "3 x 4"]), ["1 x 2", "3 x 4"]);
        assert_eq!(apart(&["1 x y 2", "3 x y z 4"]), ["1 x y 2", "3 x y z 4"]);
        // One name is a prefix of the other, or both are equal.
        assert_eq!(apart(&["/x/h", "/x/h -v"]), ["/x/h", "/x/h -v"]);
        assert_eq!(apart(&["/x/h", "/x/h"]), ["/x/h", "/x/h"]);
        assert_eq!(apart(&["x x", "x x x"]), ["x x", "x x x"]);
    }
}
