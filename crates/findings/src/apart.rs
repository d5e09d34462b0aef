//! Names of two things that differ in a part of a path or of a command line.

/// Each by the shortest part in which it differs from the other: paths and command lines without what they begin and
/// end with alike, `old` and `new` of `./old --run` and `./new --run`. Whole where that leaves nothing of one.
pub fn apart(a: &str, b: &str) -> [String; 2] {
    let parts = |name: &str| -> Vec<String> {
        name.split(['/', ' ']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (of_a, of_b) = (parts(a), parts(b));
    let first = of_a.iter().zip(&of_b).take_while(|(a, b)| a == b).count();
    let last = of_a.iter().rev().zip(of_b.iter().rev()).take_while(|(a, b)| a == b).count();
    let own = |parts: &[String]| parts.get(first..parts.len().saturating_sub(last)).unwrap_or_default().join(" ");
    let named = [own(&of_a), own(&of_b)];
    if named.iter().any(String::is_empty) { [a.to_owned(), b.to_owned()] } else { named }
}

#[cfg(test)]
mod tests {
    use super::apart;

    #[test]
    fn names_are_the_shortest_parts_that_differ() {
        assert_eq!(apart("/x/before/bin/mariadbd", "/x/after/bin/mariadbd"), ["before", "after"]);
        assert_eq!(apart("./old --run", "./new --run"), ["old", "new"]);
        assert_eq!(apart("/x/a/h", "/x/g"), ["a h", "g"]);
        assert_eq!(apart("off", "on"), ["off", "on"]);
        // One is the other's beginning, or both are the same.
        assert_eq!(apart("/x/h", "/x/h -v"), ["/x/h", "/x/h -v"]);
        assert_eq!(apart("/x/h", "/x/h"), ["/x/h", "/x/h"]);
    }
}
