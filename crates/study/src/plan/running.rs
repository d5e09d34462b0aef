//! Conditions on a server that is already running: tare sets none of its options, so they cannot differ there.

use super::design::Condition;
use std::collections::BTreeMap;
use tare_engine::same_value;

/// Refuses conditions whose options differ although they measure the same running server.
pub(crate) fn check(conditions: &[Condition]) -> Result<(), String> {
    // The first condition on each server; a restart command of its own may start it in another way.
    let mut servers: Vec<&Condition> = Vec::new();
    for condition in conditions.iter().filter(|condition| condition.settings.engine.running.is_requested()) {
        let running = &condition.settings.engine.running;
        let Some(first) = servers.iter().find(|first| first.settings.engine.running == *running) else {
            servers.push(condition);
            continue;
        };
        let (one, other) = (&first.settings.engine.options, &condition.settings.engine.options);
        if let Some(option) = different(one, other) {
            return Err(format!(
                "option.{option} differs between `{}` and `{}`, which measure the same running server, and tare sets no \
                 option of a running server: leave out socket and host, so that tare starts servers with these options, \
                 or run a server for each value and compare their sockets (socket=PATH) or ports (port=NUMBER) instead",
                first.name, condition.name
            ));
        }
    }
    Ok(())
}

/// The first option that does not have the same value in both.
fn different<'a>(one: &'a BTreeMap<String, String>, other: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let is_same = |option: &str| match (one.get(option), other.get(option)) {
        (Some(one), Some(other)) => same_value(one, other),
        _ => false,
    };
    one.keys().chain(other.keys()).map(String::as_str).find(|option| !is_same(option))
}

#[cfg(test)]
mod tests {
    use super::super::design::conditions;
    use super::*;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};

    fn checked(engine: &str, factors: &str) -> Result<(), String> {
        let text = format!("name = \"s\"\n[engine]\nname = \"mariadb\"\n{engine}\n[factors]\n{factors}\n");
        let study = parse(Source { origin: "test", text: &text }, &Overrides::default()).unwrap();
        check(&conditions(&study).unwrap())
    }

    #[test]
    fn options_of_one_running_server_cannot_differ_between_conditions() {
        let differ = "option.x = [\"on\", 0]";
        let refused = checked("socket = \"/s\"", differ).unwrap_err();
        assert!(refused.starts_with("option.x differs between `option.x=on` and `option.x=0`, which"), "{refused}");
        let again = checked("socket = \"/s\"\nrestart = \"true\"", differ);
        assert!(again.is_err(), "the same command cannot start it in two ways");
        assert_eq!(checked("", differ), Ok(()));
        assert_eq!(checked("socket = \"/s\"", "option.x = [\"on\", 1]\nthreads = [1, 2]"), Ok(()));
    }
}
