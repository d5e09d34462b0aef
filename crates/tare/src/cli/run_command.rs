//! `tare run --command`: programs without a study file.

use super::Problem;
use clap::Args;
use tare_study::language::document::Source;
use tare_study::language::parse::{Overrides, parse};
use tare_study::language::spec::Study;
use toml::Value;

/// Programs that are measured without a study file.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// Measure a program in place of a study: its words as in a shell, none of which is run for it; repeat it to
    /// compare several
    #[arg(long, value_name = "'PROG ARGS'", conflicts_with_all = ["study", "resume", "engine", "quick", "binary", "option", "trials", "samples"])]
    command: Vec<String>,
    /// With --command: runs of each, in random order
    #[arg(long, value_name = "N", requires = "command", default_value_t = 10)]
    runs: usize,
    /// With --command: runs before each measured one that are thrown away
    #[arg(long, value_name = "N", requires = "command", default_value_t = 0)]
    warmup_runs: usize,
    /// With --command: what runs before each of them, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    prepare: Option<String>,
    /// With --command: what runs after each of them, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    cleanup: Option<String>,
    /// With --command: give the commands to sh -c
    #[arg(long, requires = "command")]
    shell: bool,
}

impl ProgramArgs {
    /// Whether a study is run.
    pub fn is_none(&self) -> bool {
        self.command.is_empty()
    }

    /// The study that they make; none where there are none.
    pub fn study(&self, overrides: &Overrides) -> Option<Result<Study, Problem>> {
        let first = self.command.first()?;
        let text = |text: &str| Value::String(text.to_owned());
        let mut study = format!(
            "name = \"command\"\n[workload]\nname = \"command\"\ncommand = {}\nshell = {}\nwarmup_runs = {}\n",
            text(first),
            self.shell,
            self.warmup_runs
        );
        for (key, line) in [("prepare", &self.prepare), ("cleanup", &self.cleanup)] {
            if let Some(line) = line {
                study.push_str(&format!("{key} = {}\n", text(line)));
            }
        }
        study.push_str(&format!("[sampling]\ntrials = {}\nsamples = 1\nwarmup_s = 0\n", self.runs));
        if self.command.len() > 1 {
            let levels = self.command.iter().map(|command| text(command)).collect();
            study.insert_str(0, "question = \"best command\"\n");
            study.push_str(&format!("[factors]\ncommand = {}\n", Value::Array(levels)));
        }
        Some(parse(Source { origin: "--command", text: &study }, overrides).map_err(|mut e| {
            // Its lines are not those that someone wrote.
            (e.line, e.column) = (0, 0);
            e.into()
        }))
    }
}
