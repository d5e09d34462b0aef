//! Converts TOML to [`Study`]; every mistake is reported with its place, what was expected, and the nearest name.

use super::document::{Place, Places, Source, StudyError};
use super::key::{BUILD, Field, MACHINE, PLACEMENT, WORKLOAD};
use super::settings::{Sampling, Settings};
use super::spec::{Design, Factor, Study};
use super::values::{Target, WHERE_POSSIBLE};
use super::{decide, document, fields};
use std::ops::Range;
use std::path::Path;
use tare_results::factor;
use tare_results::question::{self, Question};
use tare_text::{Keyed, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--quick`: the study's own `[quick]` tables.
    pub quick: bool,
    /// `--article`: the study's `[article]` tables, with the size and settings of a published article.
    pub article: bool,
    pub engine: Option<String>,
    /// `--load`: replaces the study's own load; keys of that load that the new one does not have are dropped.
    pub load: Option<String>,
    /// Settings from options other than `--set`, each with the option's text. `--set` takes precedence.
    pub options: Vec<(String, String)>,
    pub sets: Vec<String>,
    /// `--binary`: programs that become the levels of the factor of that name; empty: the study's own levels apply.
    pub binaries: Vec<String>,
}

const SECTIONS: [&str; 20] = [
    "name",
    "title",
    "question",
    "engine",
    "workload",
    "client",
    "placement",
    "process",
    "capture",
    "machine",
    "sampling",
    "design",
    "decide",
    "factors",
    "conditions",
    "enough",
    "placements",
    "builds",
    "quick",
    "article",
];

/// Parses a study and applies the changes of the command line.
pub fn parse(source: Source<'_>, overrides: &Overrides) -> Result<Study, StudyError> {
    let root = source.table()?;
    let mut parser = Parser::new(source);
    parser.sections(root.get_ref())?;
    if overrides.article {
        let article = root.get_ref().get("article").ok_or_else(|| {
            source.error(0..0, "--article: this study has no settings of an article", "a study with [article] tables")
        })?;
        parser.overlay(article)?;
        parser.study.as_published = true;
    }
    if overrides.quick
        && let Some(quick) = root.get_ref().get("quick")
    {
        parser.overlay(quick)?;
        parser.study.rehearsal = true;
    }
    parser.finish(overrides)
}

const FILE: &str = "file";

pub(super) struct Parser<'a> {
    pub source: Source<'a>,
    pub study: Study,
    pub places: Places,
    /// The command line option that is being read; none while the document is read.
    pub option: Option<String>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self { source, study: Study::default(), places: Places::default(), option: None }
    }

    fn sections(&mut self, root: &DeTable<'_>) -> Result<(), StudyError> {
        for (key, value) in root {
            self.places.tables.insert(key.get_ref().to_string(), value.span());
            match key.get_ref().as_ref() {
                "name" => self.study.name = self.source.scalar("name", value)?.to_string(),
                "title" => self.study.title = self.source.scalar("title", value)?.to_string(),
                "question" => self.study.question = Some(self.question(value)?),
                "placements" => self.named(PLACEMENT, value)?,
                "builds" => self.named(BUILD, value)?,
                "factors" => {
                    let table = self.source.as_table("factors", value)?;
                    self.study.factors = self.factors(table)?;
                }
                "conditions" => self.study.conditions = self.entries("conditions", value)?,
                "enough" => self.study.enough = self.entries("enough", value)?,
                // Also read if it is not used, so that a mistake in it is reported before the first --quick.
                "quick" | "article" => {
                    let kept = self.study.clone();
                    self.overlay(value)?;
                    self.study = kept;
                }
                section if SECTIONS.contains(&section) => {
                    for (key, value) in self.source.as_table(section, value)? {
                        self.key(section, key, value)?;
                    }
                }
                "server" => return Err(self.unknown_key("server", "host", key.span())),
                other => return Err(self.source.unknown(key.span(), "table", other, &SECTIONS)),
            }
        }
        match root.get("name") {
            None => Err(self.source.error(0..0, "the study has no name", "name = \"...\" as its first line")),
            Some(name) if !is_file_name(&self.study.name) => Err(self.source.error(
                name.span(),
                format!("`{}` is not a valid name for a study", self.study.name),
                "letters, digits, - and _",
            )),
            Some(_) => Ok(()),
        }
    }

    fn question(&self, value: &Spanned<DeValue<'_>>) -> Result<Question, StudyError> {
        let words = self.source.scalar("question", value)?.to_string();
        let wrong = || self.source.error(value.span(), format!("`{words}` is not a question"), question::EXPECTED);
        Question::from_words(&words).ok_or_else(wrong)
    }

    /// Applies the keys of `[quick]` or `[article]` over the study's own.
    fn overlay(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), StudyError> {
        for (section, table) in self.source.as_table("quick or article", value)? {
            for (key, value) in self.source.as_table(section.get_ref(), table)? {
                self.key(section.get_ref(), key, value)?;
            }
        }
        Ok(())
    }

    fn key(
        &mut self,
        section: &str,
        key: &Spanned<toml::de::DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), StudyError> {
        let name = key.get_ref().as_ref();
        if section == "engine" && name == "options" {
            for (option, value) in self.source.as_table("engine.options", value)? {
                let level = self.source.scalar(option.get_ref(), value)?;
                self.study.base.engine.options.insert(option.get_ref().to_string(), level.to_string());
            }
            return Ok(());
        }
        if section == "placement" && name == "first_of" {
            let names = self.source.list(name, value)?;
            self.study.first_of = names.into_iter().map(|(name, _)| name.to_string()).collect();
            return Ok(());
        }
        if section == "factors" {
            let found = self.factor(name, value)?;
            self.study.factors.retain(|f| f.name != found.name);
            self.study.factors.push(found);
            return Ok(());
        }
        if let (DeValue::Table(_), "placement", None) = (value.get_ref(), section, fields::find(section, name)) {
            let what = format!("unknown table `placement.{name}`");
            let mut error = self.source.error(key.span(), what, "a named placement, written [placements.NAME]");
            error.nearest = Some(format!("placements.{name}"));
            return Err(error);
        }
        let level = match (section, name) {
            (WORKLOAD, FILE) => self.alongside(self.source.words(name, value)?),
            (WORKLOAD, "settle") | ("engine", "restart") | ("client", "ssh" | "program") => {
                self.arguments(name, value)?
            }
            (WORKLOAD, _) => self.source.words(name, value)?,
            _ => self.source.scalar(name, value)?,
        };
        self.set(section, name, &level, key.span(), value.span())
    }

    /// The path of a file that a study names: relative to the study's own folder.
    fn alongside(&self, path: Value) -> Value {
        match Path::new(self.source.origin).parent() {
            Some(folder) if !folder.as_os_str().is_empty() => {
                Value::Text(folder.join(path.to_string()).to_string_lossy().into_owned())
            }
            _ => path,
        }
    }

    /// A list of arguments as one JSON text; a single text is taken as it is.
    fn arguments(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, StudyError> {
        let words = match value.get_ref() {
            DeValue::Array(_) => self.source.list(name, value)?,
            _ => return self.source.scalar(name, value),
        };
        let words: Vec<String> = words.into_iter().map(|(word, _)| word.to_string()).collect();
        Ok(Value::Text(serde_json::json!(words).to_string()))
    }

    /// Sets one key of one section; used for files, `[quick]` and `--set`.
    pub(crate) fn set(
        &mut self,
        section: &str,
        name: &str,
        level: &Value,
        key_span: Range<usize>,
        span: Range<usize>,
    ) -> Result<(), StudyError> {
        let source = self.source;
        let wrong = |expected: String| source.error(span.clone(), format!("{section}.{name} = {level}"), expected);
        match section {
            "sampling" => {
                let key = Sampling::KEYS.iter().find(|key| key.name == name).ok_or_else(|| {
                    let known: Vec<&str> = Sampling::KEYS.iter().map(|key| key.name).collect();
                    self.source.unknown(key_span, "key of [sampling]", name, &known)
                })?;
                key.set(&mut self.study.sampling, level).map_err(wrong)
            }
            "design" => set_design(&mut self.study.design, name, level).map_err(wrong)?.ok_or_else(|| {
                self.source.unknown(key_span, "key of [design]", name, &["kind", "identical", "ladder"])
            }),
            "decide" => decide::set(&mut self.study.decide, source, name, level, (key_span, span.clone())),
            MACHINE if name == WHERE_POSSIBLE => {
                self.study.where_possible = level.one_of(&["on", "off"]).map_err(wrong)? == "on";
                Ok(())
            }
            _ => {
                let field =
                    fields::find(section, name).ok_or_else(|| self.unknown_key(section, name, key_span.clone()))?;
                self.set_base(field, level).map_err(wrong)?;
                let place = self.place(key_span);
                self.places.keys.push((field, place));
                Ok(())
            }
        }
    }

    /// Sets a key of the base. Keys of loads may precede the name of the load, so they are stored and applied later.
    fn set_base(&mut self, field: Field, level: &Value) -> Result<(), String> {
        if field.is_of_loads() {
            field.check(level)?;
            self.study.load_keys.retain(|(key, _)| key != field.key);
            self.study.load_keys.push((field.key.to_owned(), level.clone()));
        } else {
            field.set(&mut self.study.base, level)?;
        }
        Ok(())
    }

    pub(crate) fn unknown_key(&self, section: &str, name: &str, span: Range<usize>) -> StudyError {
        if let Some((what, expected)) = document::refused_key(section, name) {
            return self.source.error(span, what, expected);
        }
        let mut known: Vec<&str> = fields::all().filter(|f| f.section == section).map(|f| f.key).collect();
        match section {
            "engine" => known.push("options"),
            "placement" => known.push("first_of"),
            MACHINE => {
                known.push(WHERE_POSSIBLE);
                return self.source.unknown(span, "machine setting", name, &known);
            }
            _ if known.is_empty() => return self.source.unknown(span, "table", section, &SECTIONS),
            _ => {}
        }
        self.source.unknown(span, &format!("key of [{section}]"), name, &known)
    }

    /// `[placements.NAME]` or `[builds.NAME]`.
    fn named(&mut self, factor: &str, value: &Spanned<DeValue<'_>>) -> Result<(), StudyError> {
        for (name, table) in self.source.as_table(&format!("{factor}s"), value)? {
            let mut keys = Vec::new();
            for (key, value) in self.source.as_table(name.get_ref(), table)? {
                let word = key.get_ref().as_ref();
                match value.get_ref() {
                    DeValue::Table(options) if (factor, word) == (BUILD, "options") => {
                        for (option, value) in options {
                            let level = self.source.scalar(option.get_ref(), value)?;
                            keys.push((format!("options.{}", option.get_ref()), level));
                        }
                    }
                    _ => {
                        let level = self.source.scalar(word, value)?;
                        let what = format!("{word} = {level}");
                        keys.push(self.named_key(factor, (word, level), what, (key.span(), value.span()))?);
                    }
                }
            }
            self.study.named(factor).insert(name.get_ref().to_string(), keys);
        }
        Ok(())
    }

    /// Checks a key of a named placement or build; an error about its value says `what` is wrong.
    pub(crate) fn named_key(
        &self,
        factor: &str,
        (key, level): (&str, Value),
        what: String,
        (key_span, span): (Range<usize>, Range<usize>),
    ) -> Result<(String, Value), StudyError> {
        let table = if factor == BUILD { "engine" } else { factor };
        let target = Target::of_named(factor, key).ok_or_else(|| self.unknown_key(table, key, key_span))?;
        target.set(&mut Settings::default(), &level).map_err(|expected| self.source.error(span, what, expected))?;
        Ok((key.to_owned(), level))
    }

    fn entries(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<Vec<Factor>>, StudyError> {
        let DeValue::Array(entries) = value.get_ref() else {
            let expected = format!("[[{name}]] before each entry");
            return Err(self.source.error(value.span(), format!("`{name}` is a single table"), expected));
        };
        entries.iter().map(|entry| self.factors(self.source.as_table(name, entry)?)).collect()
    }

    fn factors(&mut self, table: &DeTable<'_>) -> Result<Vec<Factor>, StudyError> {
        let mut factors = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if let ("option", DeValue::Table(options)) = (name, value.get_ref()) {
                for (option, value) in options {
                    factors.push(self.factor(&factor::of_option(option.get_ref()), value)?);
                }
            } else {
                factors.push(self.factor(name, value)?);
            }
        }
        Ok(factors)
    }

    fn factor(&mut self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Factor, StudyError> {
        let mut levels = self.source.list(name, value)?;
        if name == FILE {
            levels.iter_mut().for_each(|(level, _)| *level = self.alongside(level.clone()));
        }
        let placed = levels.iter().map(|(level, span)| (name.to_owned(), level.clone(), Place::At(span.clone())));
        self.places.levels.extend(placed);
        Ok(Factor { name: name.to_owned(), levels: levels.into_iter().map(|(level, _)| level).collect() })
    }

    fn place(&self, span: Range<usize>) -> Place {
        self.option.clone().map_or(Place::At(span), Place::Option)
    }
}

/// The value of design.ladder with which every trial has a server of its own.
const NO_LADDER: &str = "none";

fn set_design(design: &mut Design, name: &str, level: &Value) -> Result<Option<()>, String> {
    match name {
        "kind" => design.kind = level.parsed()?,
        "ladder" => {
            let factor = level.to_string();
            design.ladder = (factor != NO_LADDER).then_some(factor);
        }
        "identical" => design.skip_identical = level.one_of(&["run", "skip"])? == "skip",
        _ => return Ok(None),
    }
    Ok(Some(()))
}

fn is_file_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
