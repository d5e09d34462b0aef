//! The candidates of `tare find`: every combination of placements, memory policies, options and builds, as a study.

use super::{Exit, Problem, ab_sides};
use tare_results::factor;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{Factor, Study};
use tare_text::Value;
use tare_topology::Machine;

/// The argument for all placements of the study, with clients and server on every pair of nodes in addition.
const PLACEMENTS: &str = "placements";
/// The argument for the memory policies of the server.
const MEMORY: &str = "memory";
const PLACEMENT: &str = "placement";
const COMMAND: &str = "command";
/// The levels that [`MEMORY`] stands for.
const POLICIES: [&str; 2] = ["default", "interleave:all"];
/// The built-in study for placements.
const FROM_PLACEMENTS: &str = "first-look";
const FROM_OTHERS: &str = "side-by-side";

/// One argument that says what varies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct What {
    factor: String,
    /// Empty: all levels that exist.
    levels: Vec<String>,
}

/// Parses what varies: `placements`, `memory`, or a factor with its levels.
pub fn what(text: &str) -> Result<What, String> {
    if text == PLACEMENTS || text == MEMORY {
        let levels = if text == MEMORY { POLICIES.map(str::to_owned).to_vec() } else { Vec::new() };
        let factor = if text == MEMORY { MEMORY } else { PLACEMENT };
        return Ok(What { factor: factor.to_owned(), levels });
    }
    let written = text.split_once('=').filter(|(factor, levels)| !factor.is_empty() && !levels.is_empty());
    let (factor, levels) = written.ok_or("expected placements, memory or FACTOR=LEVEL,LEVEL, such as threads=4,8")?;
    // The words of a command and lists of CPUs may contain commas.
    let levels = match factor {
        COMMAND | "client" | "server" | "background" => vec![levels.to_owned()],
        _ => levels.split(',').map(|level| ab_sides::whole_level(factor, level)).collect(),
    };
    Ok(What { factor: factor.to_owned(), levels })
}

/// Parses an option of the engine with its values, the argument of `--option`.
pub fn option(text: &str) -> Result<What, String> {
    match text.split_once('=') {
        Some((name, levels)) if !name.is_empty() && !levels.is_empty() => what(&factor::of_option(text)),
        _ => Err("expected NAME=VALUE,VALUE".to_owned()),
    }
}

/// Parses a server program, the argument of `--binary`.
pub fn binary(text: &str) -> Result<What, String> {
    what(&format!("binary={text}"))
}

/// The study with every combination as a condition, based on the study `named` or on a fitting built-in one.
pub fn study(
    named: Option<&str>,
    requested: &[What],
    machine: &Machine,
    overrides: &Overrides,
    trusted: bool,
) -> Result<Study, Problem> {
    let mut factors: Vec<Factor> = Vec::new();
    for what in requested {
        let value =
            |level: &String| if what.factor == COMMAND { Value::Text(level.clone()) } else { Value::of_word(level) };
        let levels = what.levels.iter().map(value);
        match factors.iter_mut().find(|known| known.name == what.factor) {
            Some(known) => known.levels.extend(levels),
            None => factors.push(Factor { name: what.factor.clone(), levels: levels.collect() }),
        }
    }
    let places = factors.iter().any(|factor| factor.name == PLACEMENT);
    let command = factors.iter().find(|factor| factor.name == COMMAND).and_then(|factor| factor.levels.first());
    let otherwise = if places { FROM_PLACEMENTS } else { FROM_OTHERS };
    let mut study = ab_sides::base(named, ("find", command.cloned()), otherwise, overrides, trusted)?;
    if places && named.is_none() {
        on_nodes(&mut study, machine);
    }
    for factor in &mut factors {
        if factor.name == PLACEMENT && factor.levels.is_empty() {
            factor.levels = placements(&study)?;
        }
        if factor.levels.is_empty() {
            return Err(Problem::new(Exit::Usage, format!("{} has no level", factor.name))
                .expected(format!("{}=LEVEL,LEVEL", factor.name)));
        }
        let twice = factor.levels.iter().enumerate().find(|(place, level)| factor.levels[..*place].contains(level));
        if let Some((_, level)) = twice {
            return Err(Problem::new(Exit::Usage, format!("{}={level} is named twice", factor.name))
                .expected("each candidate once")
                .advice("compare a candidate with itself with: tare ab"));
        }
        study.requested_options.extend(factor::option(&factor.name).map(str::to_owned));
        for level in &factor.levels {
            study.apply(&mut study.base.clone(), &factor.name, level).map_err(|expected| {
                Problem::new(Exit::Usage, format!("{}={level} cannot be a candidate", factor.name)).expected(expected)
            })?;
        }
    }
    let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
    study.decide = None;
    study.compare("find", format!("the best of {}", names.join(" x ")), Vec::new());
    study.factors = factors;
    study.design.skip_identical = true;
    Ok(study)
}

/// The placements that the study varies; if it varies none, all that it names.
fn placements(study: &Study) -> Result<Vec<Value>, Problem> {
    let entries = study.entries();
    let varied = entries.iter().find_map(|entry| entry.iter().find(|factor| factor.name == PLACEMENT));
    let mut levels = varied.map_or(Vec::new(), |factor| factor.levels.clone());
    let more = study.placements.keys().filter(|name| varied.is_none() || name.starts_with(CLIENTS));
    levels.extend(more.map(|name| Value::of_word(name)));
    if levels.is_empty() {
        return Err(Problem::new(Exit::Usage, format!("the study {} names no placements", study.name))
            .expected("[placements.NAME] tables, or the built-in study first-look (no --study)"));
    }
    Ok(levels)
}

/// Prefix of the names of placements on pairs of nodes.
const CLIENTS: &str = "clients-";

/// Adds placements of clients and server on every pair of nodes, as numactl would set them.
fn on_nodes(study: &mut Study, machine: &Machine) {
    let nodes: Vec<usize> = (0..machine.nodes.len()).filter(|node| !machine.nodes[*node].cpus.is_empty()).collect();
    if nodes.len() < 2 {
        return;
    }
    for client in &nodes {
        for server in &nodes {
            let keys = [
                ("client", format!("node:{client}")),
                ("server", format!("node:{server}")),
                ("bind", "set".to_owned()),
                ("pairing", "none".to_owned()),
            ];
            let keys = keys.map(|(key, value)| (key.to_owned(), Value::of_word(&value)));
            study.placements.insert(format!("{CLIENTS}{client}-server-{server}"), keys.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_set_is_a_word_or_a_factor_with_levels() {
        let levels = |text: &str| what(text).unwrap().levels;
        assert_eq!(levels("option.x=ON,OFF"), ["ON", "OFF"]);
        assert_eq!(levels("command=sh -c 'a,b=1'"), ["sh -c 'a,b=1'"]);
        assert_eq!(levels("server=cpus:0-1,4"), ["cpus:0-1,4"]);
        assert!(levels("placements").is_empty());
        assert_eq!(option("x=1,2"), what("option.x=1,2"));
        assert!(binary("./a").unwrap().levels[0].starts_with('/'));
        for wrong in ["", "threads", "threads=", "=1"] {
            assert!(what(wrong).is_err(), "{wrong}");
        }
    }
}
