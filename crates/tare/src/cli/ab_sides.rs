//! The two sides of `tare ab`, and the study that has them as its two conditions.

use super::study_file::StudyText;
use super::{Exit, Problem, trust};
use tare_study::language::made::MadeStudy;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{Factor, SIDE, Study};
use tare_text::Value;

/// One side: a factor and its level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    factor: String,
    level: String,
}

/// Reads a side: a factor, an equals sign, its level.
///
/// # Errors
/// How one is written.
pub fn side(text: &str) -> Result<Side, String> {
    let written = text.split_once('=').filter(|(factor, level)| !factor.is_empty() && !level.is_empty());
    let (factor, level) = written.ok_or_else(|| {
        "expected binary=PATH, build=NAME, option.NAME=VALUE, placement=NAME, 'command=PROGRAM ARGS' or any factor with \
         a level"
            .to_owned()
    })?;
    let mut level = level.to_owned();
    // Trials run in folders of their own.
    if factor == "binary" && level.contains('/') {
        let whole = std::path::absolute(&level).map_err(|e| format!("{level}: {e}"))?;
        level = whole.to_string_lossy().into_owned();
    }
    Ok(Side { factor: factor.to_owned(), level })
}

impl Side {
    fn is(&self, factor: &str) -> bool {
        self.factor == factor
    }

    pub(super) fn value(&self) -> Value {
        // A number written as an option's value stays as it is written.
        if self.is("command") { Value::Text(self.level.clone()) } else { Value::of_word(&self.level) }
    }

    fn factors(&self, side: &str) -> Vec<Factor> {
        let factor = |name: &str, level: Value| Factor { name: name.to_owned(), levels: vec![level] };
        vec![factor(SIDE, side.into()), factor(&self.factor, self.value())]
    }
}

/// The study with the two sides as its conditions, and nothing else that varies. `named` is the one that they are
/// measured on; none: a built-in one that fits them.
///
/// # Errors
/// When the study cannot be read, or a side is none of its levels.
pub fn study(named: Option<&str>, a: &Side, b: &Side, overrides: &Overrides, trusted: bool) -> Result<Study, Problem> {
    let commands = [a, b].map(|side| side.is("command"));
    let mut study = match commands {
        [true, true] => of_commands("ab", &a.value(), overrides)?,
        [false, false] => {
            let places = a.is("placement") || b.is("placement");
            let name = named.unwrap_or(if places { "first-look" } else { "side-by-side" });
            StudyText::read(name, trust::whose(trusted), false)?.parse(overrides)?
        }
        _ => {
            return Err(Problem::new(Exit::Usage, "one side is a command and the other is not")
                .expected("'command=PROGRAM ARGS' for both sides, or for none"));
        }
    };
    "ab".clone_into(&mut study.name);
    study.title = format!("{}={} against {}={}", a.factor, a.level, b.factor, b.level);
    study.question = None;
    study.factors = Vec::new();
    study.conditions = vec![a.factors("a"), b.factors("b")];
    study.design = tare_study::language::spec::Design::default();
    study.sampling.trials = 1;
    study.sampling.target_half_width = None;
    for (name, side) in [("--a", a), ("--b", b)] {
        study.asked_options.extend(side.factor.strip_prefix("option.").map(str::to_owned));
        study.apply(&mut study.base.clone(), &side.factor, &side.value()).map_err(|expected| {
            Problem::new(Exit::Usage, format!("{}={} is no side", side.factor, side.level)).at(name).expected(expected)
        })?;
    }
    Ok(study)
}

/// A study of commands, with one of them.
///
/// # Errors
/// When the command line changes what such a study has not.
pub(super) fn of_commands(name: &'static str, command: &Value, overrides: &Overrides) -> Result<Study, Problem> {
    let values = vec![
        ("workload", "name", "command".into()),
        ("workload", "command", command.clone()),
        ("sampling", "samples", 1_usize.into()),
        ("sampling", "warmup_s", 0_usize.into()),
    ];
    let made = MadeStudy { name, origin: "the command line", question: None, values, factors: Vec::new() };
    Ok(made.study(overrides)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_factor_with_a_level_that_may_hold_more_signs() {
        let found = side("command=env A=1 true").unwrap();
        assert_eq!((found.factor.as_str(), found.level.as_str()), ("command", "env A=1 true"));
        assert!(side("binary=./a").unwrap().level.starts_with('/'));
        for wrong in ["", "binary", "binary=", "=x"] {
            assert!(side(wrong).is_err(), "{wrong}");
        }
    }
}
