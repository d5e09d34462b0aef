//! Names made shorter.

/// Each name by the part in which it differs from the others: paths and command lines without the parts that all begin
/// and end with alike, `old` and `new` of `./old --run` and `./new --run`. All whole where that leaves nothing of one.
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

/// A name in at most so many letters, the last ones where there are more.
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
        // One is the other's beginning, or both are the same.
        assert_eq!(apart(&["/x/h", "/x/h -v"]), ["/x/h", "/x/h -v"]);
        assert_eq!(apart(&["/x/h", "/x/h"]), ["/x/h", "/x/h"]);
        assert_eq!(apart(&["x x", "x x x"]), ["x x", "x x x"]);
    }
}
