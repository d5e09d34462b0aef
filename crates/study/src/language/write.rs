//! Writes [`Study`] as TOML with every default, for the results directory. Parsing it returns the same study.

use super::decide::Decide;
use super::document::{Source, StudyError};
use super::fields;
use super::parse::{Overrides, parse};
use super::settings::Sampling;
use super::spec::{Factor, NamedKeys, Study};
use super::values::WHERE_POSSIBLE;
use std::path::Path;
use tare_text::{Keyed, Value as Scalar};
use toml::{Table, Value};

pub fn to_toml(study: &Study) -> String {
    let mut root = Table::new();
    root.insert("name".into(), text(&study.name));
    root.insert("title".into(), text(&study.title));
    if let Some(question) = &study.question {
        root.insert("question".into(), text(&question.to_string()));
    }
    for section in ["engine", "workload", "client", "server", "placement", "process", "capture"] {
        let table = section_table(study, section);
        if !table.is_empty() {
            root.insert(section.into(), Value::Table(table));
        }
    }
    if !study.base.machine.is_empty() {
        let levels = study.base.machine.iter().map(|level| (level.setting().name().to_owned(), text(level.text())));
        let where_possible = study.where_possible.then(|| (WHERE_POSSIBLE.to_owned(), text("on")));
        root.insert("machine".into(), Value::Table(levels.chain(where_possible).collect()));
    }
    let sampling =
        Sampling::KEYS.iter().filter_map(|key| Some((key.name.to_owned(), value(&key.get(&study.sampling)?))));
    root.insert("sampling".into(), Value::Table(sampling.collect()));
    root.insert("design".into(), Value::Table(design(study)));
    if let Some(decide) = &study.decide {
        let keys = Decide::KEYS.iter().filter_map(|key| Some((key.name.to_owned(), value(&key.get(decide)?))));
        root.insert("decide".into(), Value::Table(keys.collect()));
    }
    if !study.factors.is_empty() {
        root.insert("factors".into(), Value::Table(factors(&study.factors)));
    }
    if !study.conditions.is_empty() {
        let entries = study.conditions.iter().map(|c| Value::Table(factors(c))).collect();
        root.insert("conditions".into(), Value::Array(entries));
    }
    if !study.enough.is_empty() {
        let entries = study.enough.iter().map(|c| Value::Table(factors(c))).collect();
        root.insert("enough".into(), Value::Array(entries));
    }
    if !study.placements.is_empty() {
        root.insert("placements".into(), Value::Table(named(&study.placements)));
    }
    if !study.builds.is_empty() {
        root.insert("builds".into(), Value::Table(named(&study.builds)));
    }
    root.to_string()
}

fn section_table(study: &Study, section: &str) -> Table {
    let mut table: Table = fields::all()
        .filter(|f| f.section == section)
        .filter_map(|f| Some((f.key.to_owned(), value(&f.get(&study.base)?))))
        .collect();
    if section == "engine" && !study.base.engine.options.is_empty() {
        let options = study.base.engine.options.iter().map(|(k, v)| (k.clone(), text(v))).collect();
        table.insert("options".into(), Value::Table(options));
    }
    if section == "placement" && !study.first_of.is_empty() {
        table.insert("first_of".into(), Value::Array(study.first_of.iter().map(|name| text(name)).collect()));
    }
    table
}

fn design(study: &Study) -> Table {
    let kind: &str = study.design.kind.into();
    let identical = if study.design.skip_identical { "skip" } else { "run" };
    let mut table: Table =
        [("kind".to_owned(), text(kind)), ("identical".to_owned(), text(identical))].into_iter().collect();
    if let Some(factor) = &study.design.ladder {
        table.insert("ladder".to_owned(), text(factor));
    }
    table
}

fn factors(factors: &[Factor]) -> Table {
    factors.iter().map(|f| (f.name.clone(), Value::Array(f.levels.iter().map(value).collect()))).collect()
}

fn named(all: &NamedKeys) -> Table {
    let table = |keys: &Vec<(String, Scalar)>| {
        let mut table = Table::new();
        let mut options = Table::new();
        for (key, level) in keys {
            match key.strip_prefix("options.") {
                Some(option) => options.insert(option.to_owned(), value(level)),
                None => table.insert(key.clone(), value(level)),
            };
        }
        if !options.is_empty() {
            table.insert("options".to_owned(), Value::Table(options));
        }
        Value::Table(table)
    };
    all.iter().map(|(name, keys)| (name.clone(), table(keys))).collect()
}

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

fn value(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::Switch(on) => Value::Boolean(*on),
        Scalar::Whole(number) => Value::Integer(*number),
        Scalar::Number(number) => Value::Float(*number),
        Scalar::Text(written) => text(written),
    }
}

/// Parses the resolved study that a run wrote into this results directory.
pub fn parse_written(text: &str, directory: &Path) -> Result<Study, StudyError> {
    parse(Source { origin: &directory.join("study.toml").display().to_string(), text }, &Overrides::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin::BUILTIN;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};

    fn parsed(text: &str) -> Study {
        parse(Source { origin: "test", text }, &Overrides::default()).unwrap()
    }

    #[test]
    fn a_written_study_parses_to_the_same_study() {
        let own = "name = \"own\"\n[engine]\nname = \"mariadb\"\n[engine.options]\ninnodb_old_blocks_time = 0\n\
                   [workload]\nrate = 2.5\ndistribution = \"zipfian\"\n[process]\naslr = \"off\"\n\
                   [machine]\nthp = \"never\"\n[factors]\nthreads = [1, 2]\n\
                   option.innodb_adaptive_hash_index = [\"ON\", \"OFF\"]\nbuild = [\"a\"]\n\
                   [builds.a]\nname = \"mysql\"\nbinary = \"/x\"\n[builds.a.options]\nmax_connections = 9\n";
        for text in BUILTIN.iter().map(|b| b.text).chain([own]) {
            let study = parsed(text);
            let written = to_toml(&study);
            let mut again = parsed(&written);
            // [quick] was either applied or dropped when a study is written; TOML tables of factors keep their order.
            assert_eq!(again.factors.len(), study.factors.len(), "{written}");
            again.placements.clone_from(&study.placements);
            // A default is written out, and so counts as set.
            again.load_keys.clone_from(&study.load_keys);
            assert_eq!(again.sampling.probe, Some(study.sampling.probe_use()), "{written}");
            again.sampling.probe = study.sampling.probe;
            assert_eq!(again, study, "{written}");
        }
    }
}
