//! `tare slurm`: runs a study as a Slurm job array.

use super::output::{as_is, note, quoted_path};
use super::shard::{Cut, cut};
use super::{Exit, Problem};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::Command;
use tare_results::shards::Sharded;

/// Cut a study into shards and write the Slurm job array that runs them; submit it on request
#[derive(Debug, Args)]
pub(crate) struct SlurmArgs {
    /// Number of machines: one shard and one task of the array each
    #[arg(long, value_name = "N")]
    nodes: usize,
    /// The partition, whose machines should be of one kind
    #[arg(long)]
    partition: Option<String>,
    /// CPUs to ask for on each machine, instead of the whole machine
    #[arg(long, value_name = "CPUS", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    cpus_per_task: Option<u32>,
    /// Submit the script with sbatch
    #[arg(long)]
    submit: bool,
    #[command(flatten)]
    cut: Cut,
}

const SCRIPT: &str = "job.sh";

pub(crate) fn run(args: &SlurmArgs) -> Result<Exit, Problem> {
    let program = std::env::current_exe()
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot find tare's own executable: {e}")))?;
    let partition = args.partition.as_deref().map(|name| one_word("--partition", name)).transpose()?;
    let (sharded, each_s) = cut(&args.cut, args.nodes)?;
    let folder = std::path::absolute(sharded.path()).unwrap_or_else(|_| sharded.path().to_owned());
    for path in [&program, &folder] {
        one_line("a path that the script names", &path.to_string_lossy())?;
    }
    let script = folder.join(SCRIPT);
    sharded.folder().write(SCRIPT, script_text(args, partition, (&sharded, each_s), (&program, &folder)).as_bytes())?;
    let shown = quoted_path(&folder);
    note(&format!(
        "wrote {} for {}; check it, and change it if your cluster needs other settings",
        script.display(),
        tare_text::count(args.nodes, "task")
    ));
    if args.submit {
        as_is(&submit(&script)?)?;
    } else {
        note(&format!("submit it with:\n  sbatch {}", quoted_path(&script)));
    }
    let merge = super::shard::merge(&folder);
    note(&format!("progress:\n  tare show {shown}\nwhen all have ended:\n  {merge}"));
    Ok(Exit::Done)
}

/// The time limit of a shard in multiples of its estimate. When Slurm ends a task, records are kept and a requeued task
/// resumes.
const PATIENCE: f64 = 2.0;
/// Time for starting and writing the report, seconds.
const AROUND_S: f64 = 900.0;

fn script_text(
    args: &SlurmArgs,
    partition: Option<&str>,
    (sharded, each_s): (&Sharded, f64),
    (program, folder): (&Path, &Path),
) -> String {
    let minutes = ((PATIENCE * each_s + AROUND_S) / 60.0).ceil();
    let partition = partition.map(|name| format!("#SBATCH --partition={name}\n")).unwrap_or_default();
    let share = match args.cpus_per_task {
        Some(cpus) => format!(
            "# Part of a machine: other jobs on it disturb the measurement; tare reports that.\n#SBATCH \
             --cpus-per-task={cpus}\n"
        ),
        None => {
            "# The whole machine: other jobs on it would disturb the measurement.\n#SBATCH --exclusive\n".to_owned()
        }
    };
    let (name, last) = (&sharded.plan().study, sharded.count() - 1);
    let (program, folder_word) = (word(program), word(folder));
    format!(
        "#!/bin/bash\n# Written by tare {version}: the study {name} in {count} shards, one task of this array each.\n\
         #SBATCH --job-name=tare-{job}\n#SBATCH --array=0-{last}\n#SBATCH --nodes=1\n#SBATCH --ntasks=1\n{partition}{share}\
         # If its machine fails, a task is requeued and resumes where it stopped.\n#SBATCH --requeue\n\
         # Twice the estimate, plus time for starting and a report.\n#SBATCH --time={minutes:.0}\n\
         #SBATCH --output={logs}\n#SBATCH --open-mode=append\n\
         # tare puts every thread in its place itself, within the CPUs that Slurm gives; a stop is asked for early\n\
         # enough that it can put the machine's settings back.\n#SBATCH --signal=B:TERM@60\nexport SLURM_CPU_BIND=none\n\
         exec {program} run --shard {folder_word} \"$SLURM_ARRAY_TASK_ID\"\n",
        version = env!("CARGO_PKG_VERSION"),
        count = sharded.count(),
        job = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect::<String>(),
        logs = in_option(folder, "slurm-%A-%a.log"),
    )
}

/// A line break would end a line of the script, and the rest would run as a command.
fn one_line<'a>(what: &str, text: &'a str) -> Result<&'a str, Problem> {
    if !text.chars().any(char::is_control) {
        return Ok(text);
    }
    Err(Problem::new(Exit::Usage, format!("{what} contains a line break or another control character: {text:?}"))
        .expected("one line: it becomes part of a script")
        .advice("rename it, or use another folder"))
}

/// Slurm reads the text after a space as a further option.
fn one_word<'a>(what: &str, text: &'a str) -> Result<&'a str, Problem> {
    if !one_line(what, text)?.is_empty() && !text.contains(char::is_whitespace) {
        return Ok(text);
    }
    Err(Problem::new(Exit::Usage, format!("{what} is not a single word: {text:?}"))
        .expected("the name of a partition, or several joined by commas")
        .advice("list the partitions with: sinfo"))
}

/// A file in a folder as a value after `#SBATCH`: sbatch splits the line at blanks, as a shell does, and replaces what
/// follows a `%` in the name of a file.
fn in_option(folder: &Path, name: &str) -> String {
    let mut path = String::from("\"");
    for c in folder.display().to_string().chars() {
        match c {
            '"' | '\\' => path.extend(['\\', c]),
            '%' => path.push_str("%%"),
            c => path.push(c),
        }
    }
    path + "/" + name + "\""
}

fn word(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

fn submit(script: &PathBuf) -> Result<String, Problem> {
    let failed = |what: String| {
        Problem::new(Exit::Machine, what)
            .at(script.display().to_string())
            .advice("the script and the shards are written: submit the script on a host that has sbatch")
    };
    let ended = Command::new("sbatch").arg(script).output().map_err(|e| failed(format!("cannot run sbatch: {e}")))?;
    if !ended.status.success() {
        return Err(failed(format!("sbatch refused: {}", String::from_utf8_lossy(&ended.stderr).trim())));
    }
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn no_value_adds_a_line_or_an_option_to_the_script() {
        assert_eq!(one_word("--partition", "long,short-2").unwrap(), "long,short-2");
        for hostile in ["x\ny", "x\rtouch owned", "x --output=/etc/passwd", "x\ty", "x\u{85}y", "x\u{1b}[2J", "", " "] {
            let problem = one_word("--partition", hostile).unwrap_err();
            assert!(problem.exit == Exit::Usage && !problem.what.chars().any(char::is_control), "{problem}");
        }
        assert!(one_line("a path", "/a folder/of mine").is_ok());
        assert!(one_line("a path", "/a\ntouch owned").is_err());
        let logs = in_option(Path::new("/a b --wrap=x/#1\"\\%j"), "slurm-%A-%a.log");
        assert_eq!(logs, r#""/a b --wrap=x/#1\"\\%%j/slurm-%A-%a.log""#);
    }

    #[test]
    fn a_task_has_at_least_one_cpu() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            _args: SlurmArgs,
        }
        let parsed = |cpus: &str| Line::try_parse_from(["tare", "luck", "--nodes", "2", "--cpus-per-task", cpus]);
        assert!(parsed("1").is_ok() && ["0", "4294967296"].iter().all(|cpus| parsed(cpus).is_err()));
    }
}
