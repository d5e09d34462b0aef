//! `tare run --command`: measures programs without a study file.

use super::Problem;
use clap::Args;
use tare_results::question::Question;
use tare_study::language::made::MadeStudy;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{Factor, Study};
use tare_text::Value;

/// Programs that are measured without a study file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring programs instead of a study")]
pub(crate) struct ProgramArgs {
    /// A program with its arguments: split into words as in a shell, but run without one (may be repeated, to compare
    /// several)
    #[arg(long, value_name = "'PROG ARGS'", conflicts_with_all = ["study", "resume", "engine", "quick", "load", "binary", "option",
        "samples"])]
    command: Vec<String>,
    /// Measured runs of each --command, in random order; --trials is the same
    #[arg(long, value_name = "N", requires = "command", conflicts_with = "trials", default_value_t = 10)]
    runs: usize,
    /// Unmeasured runs before each measured one
    #[arg(long, value_name = "N", requires = "command", default_value_t = 0)]
    warmup_runs: usize,
    /// A command to run before each run, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    prepare: Option<String>,
    /// A command to run after each run, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    cleanup: Option<String>,
    /// Give the commands to sh -c
    #[arg(long, requires = "command")]
    shell: bool,
}

impl ProgramArgs {
    pub(crate) fn is_none(&self) -> bool {
        self.command.is_empty()
    }

    /// The study of the given commands; `None` without commands.
    pub(crate) fn study(&self, overrides: &Overrides) -> Option<Result<Study, Problem>> {
        let first = self.command.first()?;
        let text = |text: &String| Value::Text(text.clone());
        let mut values = vec![
            ("workload", "name", "command".into()),
            ("workload", "command", text(first)),
            ("workload", "shell", self.shell.into()),
            ("workload", "warmup_runs", self.warmup_runs.into()),
            ("sampling", "trials", self.runs.into()),
            ("sampling", "samples", 1_usize.into()),
            ("sampling", "warmup_s", 0_usize.into()),
        ];
        for (key, line) in [("prepare", &self.prepare), ("cleanup", &self.cleanup)] {
            values.extend(line.as_ref().map(|line| ("workload", key, text(line))));
        }
        let mut made = MadeStudy { name: "command", origin: "--command", question: None, values, factors: Vec::new() };
        if self.command.len() > 1 {
            made.question = Question::from_words("best command");
            made.factors.push(Factor { name: "command".to_owned(), levels: self.command.iter().map(text).collect() });
        }
        Some(made.study(overrides).map_err(Problem::from))
    }
}
