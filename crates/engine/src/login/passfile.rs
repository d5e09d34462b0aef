//! PostgreSQL's file of passwords: `host:port:database:user:password` a line, `*` for any.

use super::text::{Closed, in_home, read, variable};
use crate::EngineError;
use std::path::PathBuf;

/// The password of the first line that fits; `PGPASSFILE`, or else `~/.pgpass`. A Unix socket counts as localhost.
pub(crate) fn password_of(host: &str, port: u16, database: &str, user: &str) -> Result<Option<String>, EngineError> {
    let Some(path) = variable("PGPASSFILE").map(PathBuf::from).or_else(|| in_home(".pgpass")) else { return Ok(None) };
    let text = read(&path, Closed::ToAll)?.unwrap_or_default();
    Ok(find(&text, [host, &port.to_string(), database, user]))
}

fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let [key @ .., password] = fields.as_slice() else { return None };
        let fits = key.len() == wanted.len() && key.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        fits.then(|| password.clone())
    })
}

/// Fields between colons; a backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.iter_mut().last().into_iter().for_each(|field| field.extend(chars.next())),
            char => fields.iter_mut().last().into_iter().for_each(|field| field.push(char)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# mine\ndb:5432:shop:me:one\n*:*:*:me:t\\:w\\\\o\n*:5433:*:*:three\nbroken\n";
        let of = |wanted| find(text, wanted);
        assert_eq!(of(["db", "5432", "shop", "me"]).as_deref(), Some("one"));
        assert_eq!(of(["localhost", "5432", "shop", "me"]).as_deref(), Some("t:w\\o"));
        assert_eq!(of(["db", "5433", "x", "you"]).as_deref(), Some("three"));
        assert_eq!(of(["db", "5432", "shop", "you"]), None);
    }
}
