//! Names groups of conditions by the levels that only they have.

use std::collections::HashMap;
use tare_findings::factors::words_of;
use tare_results::schema::{Levels, Plan};
use tare_text::{count, list};

/// Maximum conditions listed by name when no levels describe them.
const NAMED: usize = 3;

pub type Named<'p> = (&'p str, &'p Levels);

/// Describes some of all conditions, given by index: by levels that only they have, else by their names.
pub fn which(all: &[Named<'_>], places: &[usize]) -> String {
    let chosen: Vec<Named<'_>> = places.iter().filter_map(|place| all.get(*place).copied()).collect();
    let names = |n: usize| chosen.iter().take(n).map(|(name, _)| (*name).to_owned()).collect::<Vec<String>>();
    let Some((_, first)) = chosen.first() else { return String::new() };
    if chosen.len() == 1 || chosen.len() == all.len() {
        let every = if all.len() == 2 { "both conditions".to_owned() } else { format!("all {} conditions", all.len()) };
        return if chosen.len() == 1 { names(1).concat() } else { every };
    }
    let in_all = |of: &[Named<'_>], factor: &String, level: &String| {
        of.iter().all(|(_, levels)| levels.get(factor) == Some(level))
    };
    let common: Levels = first
        .iter()
        .filter(|(factor, level)| in_all(&chosen, factor, level) && !in_all(all, factor, level))
        .map(|(factor, level)| (factor.clone(), level.clone()))
        .collect();
    let only_they_have = |levels: &Levels| {
        let has_them = |of: &Levels| levels.iter().all(|(factor, level)| of.get(factor) == Some(level));
        !levels.is_empty() && all.iter().filter(|(_, of)| has_them(of)).count() == chosen.len()
    };
    // One level is enough if no other condition has it.
    let alone = common.iter().map(|(factor, level)| Levels::from_iter([(factor.clone(), level.clone())]));
    if let Some(levels) = alone.chain([common.clone()]).find(only_they_have) {
        return format!("{} ({})", words_of(&levels), count(chosen.len(), "condition"));
    }
    if chosen.len() <= NAMED {
        return list(&names(NAMED));
    }
    let more = chosen.len() + 1 - NAMED;
    format!("{} and {}", names(NAMED - 1).join(", "), count(more, "more condition"))
}

/// The conditions of a plan that are not possible on this machine, with the reason, grouped by reason.
pub fn not_realizable(plan: &Plan) -> Vec<(String, &str)> {
    let reasons = plan.conditions.iter().map(|condition| condition.reason.as_deref().filter(|_| !condition.realizable));
    let all = named(plan);
    grouped(reasons).into_iter().map(|(places, reason)| (which(&all, &places), reason)).collect()
}

pub(crate) fn named(plan: &Plan) -> Vec<Named<'_>> {
    plan.conditions.iter().map(|condition| (condition.name.as_str(), &condition.levels)).collect()
}

/// Indexes of the conditions with the same text, in the order of first occurrence; conditions without a text are left
/// out.
pub fn grouped<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Vec<(Vec<usize>, &'t str)> {
    let mut groups: Vec<(Vec<usize>, &str)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (place, text) in texts.enumerate() {
        let Some(text) = text else { continue };
        let group = *known.entry(text).or_insert_with(|| {
            groups.push((Vec::new(), text));
            groups.len() - 1
        });
        groups[group].0.push(place);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_named_by_levels_that_only_they_have() {
        let levels: Vec<Levels> = ["a=1 b=x c=0", "a=1 b=y c=0", "a=2 b=x c=0", "a=2 b=y c=0", "a=3 b=x c=0"]
            .iter()
            .map(|name| tare_results::levels_of(name))
            .collect();
        let names: Vec<String> = levels.iter().map(words_of).collect();
        let all: Vec<Named<'_>> = names.iter().map(String::as_str).zip(&levels).collect();
        assert_eq!(which(&all, &[0, 1]), "a=1 (2 conditions)");
        assert_eq!(which(&all, &[0, 2, 4]), "b=x (3 conditions)");
        assert_eq!(which(&all, &[3]), "a=2 b=y c=0");
        assert_eq!(which(&all, &[0, 3]), "a=1 b=x c=0 and a=2 b=y c=0");
        assert_eq!(which(&all, &[0, 1, 3, 4]), "a=1 b=x c=0, a=1 b=y c=0 and 2 more conditions");
        assert_eq!(which(&all, &[0, 1, 2, 3, 4]), "all 5 conditions");
        // Of several common levels, one that only they have is enough.
        let levels = ["a=1 b=x", "a=1 b=x c=0", "a=2 b=y"].map(tare_results::levels_of);
        let all: Vec<Named<'_>> = ["i", "j", "k"].into_iter().zip(&levels).collect();
        assert_eq!(which(&all, &[0, 1]), "a=1 (2 conditions)");
    }
}
