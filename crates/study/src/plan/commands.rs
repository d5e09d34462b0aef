//! Commands as levels of a factor: long ones are named by the parts in which they differ.

use super::design::Condition;
use std::collections::{BTreeMap, BTreeSet};

/// The factor whose levels are command lines.
const COMMAND: &str = "command";
/// Most characters of a command line that is used whole as a name.
const SHORT: usize = 24;

/// Renames the levels. Returns notes with the command of each name.
pub(crate) fn name(conditions: &mut [Condition]) -> Vec<String> {
    let mut known = BTreeSet::new();
    let levels = conditions.iter().filter_map(|condition| condition.levels.get(COMMAND));
    let commands: Vec<String> = levels.filter(|level| known.insert(*level)).cloned().collect();
    let names = named(&commands);
    let names_of: BTreeMap<&String, &String> = commands.iter().zip(&names).collect();
    for condition in conditions {
        let Some(level) = condition.levels.get_mut(COMMAND) else { continue };
        if let Some((command, name)) = names_of.get_key_value(&&*level).filter(|(command, name)| command != name) {
            let [was, is] = [command, name].map(|level| format!("{COMMAND}={level}"));
            condition.name = condition.name.replacen(&was, &is, 1);
            level.clone_from(name);
        }
    }
    let renamed = commands.iter().zip(&names).filter(|(command, name)| command != name);
    renamed.map(|(command, name)| format!("{name} is `{command}`")).collect()
}

/// Names by the parts in which they differ; the whole commands if they are short, or if one would have no name.
fn named(commands: &[String]) -> Vec<String> {
    let names = tare_text::apart(commands);
    let distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let is_name = |name: &String| name.starts_with(char::is_alphabetic) && name.chars().count() <= SHORT;
    let are_short = commands.iter().all(|command| command.chars().count() <= SHORT);
    if names.len() > 1 && distinct && !are_short && names.iter().all(is_name) { names } else { commands.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_named_by_what_distinguishes_them() {
        let names = |commands: &[&str]| named(&commands.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>());
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
