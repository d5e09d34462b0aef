//! Commands as levels of a factor: long ones are called by what tells them apart.

use super::design::Condition;
use std::collections::BTreeSet;

/// The factor whose levels are command lines.
const COMMAND: &str = "command";
/// Letters of a command line that is read at one glance.
const SHORT: usize = 24;

/// Gives the levels their names. Which is which, in words.
pub fn name(conditions: &mut [Condition]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    for level in conditions.iter().filter_map(|condition| condition.levels.get(COMMAND)) {
        if !commands.contains(level) {
            commands.push(level.clone());
        }
    }
    let names = apart(&commands);
    for condition in conditions {
        let Some(level) = condition.levels.get_mut(COMMAND) else { continue };
        if let Some((command, name)) =
            commands.iter().zip(&names).find(|(command, name)| *command == level && command != name)
        {
            let [was, is] = [command, name].map(|level| format!("{COMMAND}={level}"));
            condition.name = condition.name.replacen(&was, &is, 1);
            level.clone_from(name);
        }
    }
    let renamed = commands.iter().zip(&names).filter(|(command, name)| command != name);
    renamed.map(|(command, name)| format!("{name} is `{command}`")).collect()
}

/// Without the words and parts of paths that all begin and end with alike; whole where they are short, or where that
/// leaves no name for one.
fn apart(commands: &[String]) -> Vec<String> {
    let parts = |command: &'_ String| -> Vec<String> {
        command.split(['/', ' ']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = commands.iter().map(parts).collect();
    let Some((one, others)) = all.split_first() else { return Vec::new() };
    let alike = |at: &dyn Fn(&[String]) -> Option<&String>| others.iter().all(|other| at(other) == at(one));
    let most = all.iter().map(Vec::len).min().unwrap_or(0);
    let first = (0..most).take_while(|i| alike(&|parts| parts.get(*i))).count();
    let last = (0..most - first).take_while(|i| alike(&|parts| parts.get(parts.len().checked_sub(i + 1)?))).count();
    let names: Vec<String> = all.iter().map(|parts| parts[first..parts.len() - last].join(" ")).collect();
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let is_name = |name: &String| name.starts_with(char::is_alphabetic) && name.chars().count() <= SHORT;
    let are_short = commands.iter().all(|command| command.chars().count() <= SHORT);
    if names.len() > 1 && distinct && !are_short && names.iter().all(is_name) { names } else { commands.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_called_by_what_tells_them_apart() {
        let names = |commands: &[&str]| apart(&commands.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["./old.sh --run --size 100", "./new.sh --run --size 100"]), ["old.sh", "new.sh"]);
        assert_eq!(names(&["/opt/a/bin/bench --run 10", "/opt/b/bin/bench --run 10"]), ["a", "b"]);
        for whole in [
            ["sleep 0.1", "sleep 0.2"],
            ["/a/long/way/to/a/program -t 1", "/a/long/way/to/a/program -t 2"],
            ["/a/long/way/to/a/program", "/a/long/way/to/a/program --fast"],
        ] {
            assert_eq!(names(&whole), whole);
        }
        assert_eq!(names(&["/a/long/way/to/a/program alone"]), ["/a/long/way/to/a/program alone"]);
    }
}
