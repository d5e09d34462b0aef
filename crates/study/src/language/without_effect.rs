//! Refuses command line settings that have no effect because every condition sets the same key itself.

use super::document::{Place, Source, StudyError};
use super::spec::{BUILD, CommandLineKey, Factor, PLACEMENT, SIDE, Study};
use super::target::Target;
use std::collections::BTreeSet;

/// Keys of `[sampling]` that determine the number of trials.
const COUNTS: [&str; 4] = ["trials", "target_half_width", "budget_s", "within_s"];

/// Refuses them. Must run after the sides of a comparison are known, because they determine the conditions.
pub fn without_effect(study: &Study) -> Result<(), StudyError> {
    let varied: BTreeSet<String> = study.entries().into_iter().flatten().map(|factor| factor.name).collect();
    let refused = |requested: &CommandLineKey, why: &str, instead: String| {
        let what = format!("`{}.{}` would change nothing: {why}", requested.section, requested.key);
        Err(Source { origin: "", text: "" }.wrong(&Place::Option(requested.option.clone()), what, instead))
    };
    for requested in &study.requested {
        let is_varied = requested.section == "factors" && (study.by_rule || !varied.contains(&requested.key));
        if is_varied || (study.by_rule && requested.section == "design") {
            let instead = "sides or levels of this command, or a study with tare run".to_owned();
            return refused(requested, "this command sets what is compared", instead);
        }
        if study.by_rule && requested.section == "sampling" && COUNTS.contains(&requested.key.as_str()) {
            let instead =
                "a time for all trials (--budget, of tare find --within), or a study with tare run".to_owned();
            return refused(requested, "this command adds trials until it is decided", instead);
        }
        let target = Target::of_key(&requested.section, &requested.key);
        if let Some(by) = target.and_then(|target| by_all(study, &target)) {
            return refused(requested, &by.says(), by.instead(requested, study));
        }
    }
    Ok(())
}

/// What sets a key of the base in all conditions.
enum By {
    /// The placement that the base chooses from these.
    FirstOf(Vec<String>),
    Factor(Factor),
}

fn by_all(study: &Study, target: &Target) -> Option<By> {
    let sets = |factor: &Factor| {
        factor.levels.iter().all(|level| {
            let own = study.targets(&factor.name, level);
            own.is_ok_and(|own| own.iter().any(|(own, _)| own == target))
        })
    };
    let names = || study.first_of.iter().map(|name| name.as_str().into()).collect();
    if !study.first_of.is_empty() && sets(&Factor { name: PLACEMENT.to_owned(), levels: names() }) {
        return Some(By::FirstOf(study.first_of.clone()));
    }
    let mut first = None;
    for entry in study.entries() {
        let own = entry.into_iter().find(&sets)?;
        first.get_or_insert(own);
    }
    first.map(By::Factor)
}

impl By {
    fn says(&self) -> String {
        match self {
            Self::FirstOf(_) => "every placement of placement.first_of sets it".to_owned(),
            Self::Factor(factor) => format!("every level of the factor {} sets it", factor.name),
        }
    }

    fn instead(&self, CommandLineKey { key, value, .. }: &CommandLineKey, study: &Study) -> String {
        let factor = match self {
            Self::FirstOf(names) => return format!("placements.NAME.{key}={value}, NAME one of {}", names.join(", ")),
            Self::Factor(factor) => factor,
        };
        let name = &factor.name;
        if name == PLACEMENT || name == BUILD {
            return format!("{name}s.NAME.{key}={value} for one of them, or other levels: factors.{name}=NAME");
        }
        if study.conditions.iter().flatten().any(|own| own.name == SIDE) {
            return format!("sides that leave {name} open, or no such option");
        }
        let listed: Vec<&Factor> = study.conditions.iter().flatten().filter(|own| own.name == *name).collect();
        if listed.is_empty() || listed.iter().any(|own| own.levels.iter().any(|level| level.to_string() == *value)) {
            return format!("factors.{name}={value}, which is the only level then, or other levels of {name}");
        }
        let mut levels: Vec<String> = listed.iter().flat_map(|own| &own.levels).map(ToString::to_string).collect();
        levels.sort();
        levels.dedup();
        format!("factors.{name}=LEVEL, one of those that its conditions have: {}", levels.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Overrides, parse};
    use super::*;

    const STUDY: &str = "name = \"s\"\n[engine.options]\nx = \"1\"\n[factors]\nthreads = [1, 2]\noption.x = [1, 2]\n\
                         build = [\"old\", \"new\"]\nplacement = [\"near\", \"far\"]\nthp = [\"always\", \"never\"]\n\
                         [builds.old]\nname = \"mariadb\"\ncharset = \"latin1\"\noptions.y = 1\n\
                         [builds.new]\nname = \"mysql\"\noptions.y = 2\n\
                         [placements.near]\nclient = \"cpus:0\"\nserver = \"cpus:0\"\n[placements.far]\n\
                         client = \"cpus:1\"\n";
    const LISTED: &str =
        "name = \"s\"\n[[conditions]]\nthreads = [1, 2]\n[[conditions]]\nthreads = 4\nbind = \"set\"\n";
    const FIRST: &str = "name = \"s\"\n[placement]\nfirst_of = [\"a\", \"b\"]\n[placements.a]\nclient = \"cpus:0\"\n\
                         [placements.b]\nclient = \"cpus:1\"\nserver = \"cpus:2\"\n";

    fn found(text: &str, set: &str) -> Result<(), StudyError> {
        let overrides = Overrides { sets: vec![set.to_owned()], ..Overrides::default() };
        without_effect(&parse(Source { origin: "s.toml", text }, &overrides).unwrap())
    }

    #[test]
    fn a_setting_that_every_condition_overrides_is_refused_with_advice() {
        for (text, set, by, instead) in [
            (STUDY, "workload.threads=1", "factor threads", "factors.threads=1"),
            (STUDY, "engine.options.x=3", "factor option.x", "factors.option.x=3"),
            (STUDY, "machine.thp=never", "factor thp", "factors.thp=never"),
            (STUDY, "engine.name=mariadb", "factor build", "builds.NAME.name=mariadb"),
            (STUDY, "engine.options.y=3", "factor build", "builds.NAME.options.y=3"),
            (STUDY, "placement.client=all", "factor placement", "placements.NAME.client=all for one"),
            (LISTED, "workload.threads=4", "factor threads", "factors.threads=4,"),
            (
                LISTED,
                "workload.threads=8",
                "factor threads",
                "factors.threads=LEVEL, one of those that its conditions have: 1, 2, 4",
            ),
            (FIRST, "placement.client=all", "placement.first_of", "placements.NAME.client=all, NAME one of a, b"),
        ] {
            let error = found(text, set).unwrap_err();
            assert_eq!(error.origin, format!("--set {set}"));
            assert!(error.what.contains(by) && error.expected.contains(instead), "{set}: {error:?}");
        }
    }

    #[test]
    fn a_setting_that_the_rule_of_a_command_decides_is_refused() {
        let found = |set: &str| {
            let overrides = Overrides { sets: vec![set.to_owned()], ..Overrides::default() };
            let mut study = parse(Source { origin: "s.toml", text: STUDY }, &overrides).unwrap();
            study.compare("find", String::new(), Vec::new());
            study.factors = vec![Factor { name: "threads".to_owned(), levels: vec![1_usize.into(), 2_usize.into()] }];
            without_effect(&study)
        };
        for (set, why) in [
            ("sampling.trials=5", "adds trials until it is decided"),
            ("sampling.target_half_width=0.01", "adds trials until it is decided"),
            ("factors.threads=4,8", "sets what is compared"),
            ("design.kind=one-at-a-time", "sets what is compared"),
        ] {
            assert!(found(set).unwrap_err().what.contains(why), "{set}");
        }
        found("sampling.sample_s=2").unwrap();
    }

    #[test]
    fn a_setting_that_some_condition_leaves_open_is_accepted() {
        for (text, set) in [
            (STUDY, "engine.options.z=3"),
            (STUDY, "engine.charset=utf8mb4"),
            (STUDY, "placement.server=all"),
            (STUDY, "workload.rows=7"),
            (STUDY, "sampling.trials=7"),
            (LISTED, "placement.bind=set"),
            (FIRST, "placement.server=all"),
            ("name = \"s\"\n", "workload.threads=2"),
        ] {
            found(text, set).unwrap();
        }
    }
}
