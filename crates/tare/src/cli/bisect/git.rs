//! The commits between two commits, and source trees, without changes to the user's checkout or repository.

use super::super::{Exit, Problem, interrupt};
use super::request::MOST;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tare_files::{FilesError, Folder, Trust};
use tare_findings::bisect::Commit;

/// Separates the fields of a commit.
const BETWEEN: char = '\u{1f}';
/// Columns of a commit's subject line, and characters, some of which have no width; a longer one is cut.
const SUBJECT: usize = 200;
/// Variables by which git finds the user's repository (`git rev-parse --local-env-vars`), as in a hook or below
/// `git bisect run`. Git in another source tree would change that repository.
pub const OF_REPOSITORY: &[&str] = &[
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// The git directory of the current working directory.
pub fn repository(trust: Trust) -> Result<PathBuf, Problem> {
    let out = git_output(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).map_err(|problem| {
        problem.advice("start it inside the repository; or name builds that are there with --builds")
    })?;
    let found = PathBuf::from(out.trim_end());
    believed(&found, trust)?;
    Ok(found)
}

/// Checks that no other user could have written to a repository: its commits are built, and git runs programs that its
/// configuration names. Git itself looks at the owner alone, and at nothing where `safe.directory` is `*`.
pub fn believed(repository: &Path, trust: Trust) -> Result<(), Problem> {
    let Some(folder) = Folder::open(repository, trust)? else { return Ok(()) };
    let parts = [folder.file("config").map(drop), folder.sub("objects").map(drop), folder.sub("refs").map(drop)];
    // Of anything else that is wrong with them, git has the better message.
    match parts.into_iter().filter_map(Result::err).find(FilesError::is_of_others) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// The good commit and all after it up to the bad one, following first parents: a merge counts as one commit. Commits
/// that do not contain the good one are left out: it was merged from a side branch, and the first commit after it is
/// the merge that brought it to this line.
pub fn line(good: &str, bad: &str) -> Result<Vec<Commit>, Problem> {
    let (from, to) = (commit(good)?, commit(bad)?);
    let leads = |from: &str, to: &str| -> Result<bool, Problem> {
        Ok(git(["merge-base", "--is-ancestor", from, to])?.status.success())
    };
    if !leads(&from, &to)? {
        let advice = match leads(&to, &from)? {
            true => "swap them, to find what made the newer one slower".to_owned(),
            false => "name the commit where both branches part: git merge-base GOOD BAD".to_owned(),
        };
        return Err(Problem::new(Exit::Usage, format!("{good} is not an ancestor of {bad}"))
            .expected("an ancestor of BAD as GOOD")
            .advice(advice));
    }
    let format = format!("--format=%H{BETWEEN}%aI{BETWEEN}%P{BETWEEN}%<({SUBJECT},trunc)%s");
    let show = ["-c", "log.showSignature=false", "log", "--first-parent", format.as_str()];
    let mut line = commits(&git_output(&[&show[..], &["-1", from.as_str()]].concat())?);
    let range = format!("{from}..{to}");
    let most = format!("--max-count={MOST}");
    let mut after = commits(&git_output(&[&show[..], &[most.as_str(), "--reverse", range.as_str()]].concat())?);
    after.drain(..before(&after, |commit| leads(&from, &commit.id))?);
    if let Some(first) = after.first_mut() {
        let mut others = Vec::new();
        for parent in parents(&first.id)? {
            if !leads(&parent, &from)? {
                others.push(parent);
            }
        }
        first.merged = others;
    }
    line.extend(after);
    match line.len() {
        0 | 1 => Err(Problem::new(Exit::Usage, format!("there is no commit between {good} and {bad}"))
            .expected("an older commit GOOD and a newer one BAD")),
        _ => Ok(line),
    }
}

/// The number of commits before the first one for which `holds` is true; it must stay true for later ones.
fn before(line: &[Commit], holds: impl Fn(&Commit) -> Result<bool, Problem>) -> Result<usize, Problem> {
    let (mut low, mut high) = (0, line.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if holds(&line[middle])? { high = middle } else { low = middle + 1 }
    }
    Ok(low)
}

fn parents(of: &str) -> Result<Vec<String>, Problem> {
    let text = git_output(&["rev-list", "--parents", "--max-count=1", of])?;
    Ok(text.split_whitespace().skip(1).map(str::to_owned).collect())
}

/// Puts a commit's sources into a new directory: a clone that shares the repository's objects, so that builds can run
/// git.
pub fn sources(repository: &Path, commit: &str, into: &Path) -> Result<(), Problem> {
    let clone = [OsStr::new("clone"), OsStr::new("--quiet"), OsStr::new("--shared"), OsStr::new("--no-checkout")];
    let ends = [OsStr::new("--template="), OsStr::new("--"), repository.as_os_str(), into.as_os_str()];
    let mut command = elsewhere();
    command.args([&clone[..], &ends[..]].concat());
    done(ended(command)?)?;
    let checkout = ["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false", "checkout", "--quiet"];
    let mut command = elsewhere();
    command.arg("-C").arg(into).args(checkout).args(["--detach", commit]);
    done(ended(command)?).map(drop)
}

fn commit(name: &str) -> Result<String, Problem> {
    let git_output = format!("{name}^{{commit}}");
    let out = git(["rev-parse", "--verify", "--quiet", "--end-of-options", git_output.as_str()])?;
    let id = String::from_utf8_lossy(&out.stdout).trim_end().to_owned();
    match out.status.success() && !id.is_empty() {
        true => Ok(id),
        false => Err(Problem::new(Exit::Usage, format!("{name} is not a commit"))
            .expected("a name that git rev-parse accepts")
            .advice("list commits with: git log --oneline; a shallow clone has few: git fetch --unshallow")),
    }
}

fn commits(text: &str) -> Vec<Commit> {
    let one = |line: &str| {
        let mut fields = line.splitn(4, BETWEEN);
        Some(Commit {
            id: fields.next()?.to_owned(),
            author_date: Some(fields.next()?.to_owned()),
            merged: fields.next()?.split(' ').skip(1).map(str::to_owned).collect(),
            subject: Some(fields.next()?.trim_end().chars().take(SUBJECT).collect()),
        })
    };
    text.lines().filter_map(one).collect()
}

fn git_output(words: &[&str]) -> Result<String, Problem> {
    done(git(words)?)
}

fn git<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Result<Output, Problem> {
    let mut command = program();
    command.args(words);
    ended(command)
}

/// Can be interrupted: git may fetch missing objects from a server that does not answer, or run the user's filters.
fn ended(command: Command) -> Result<Output, Problem> {
    interrupt::output(command).map_err(|e| match e.kind() {
        ErrorKind::Interrupted => interrupt::problem("git was running"),
        _ => missing(e),
    })
}

fn program() -> Command {
    let mut command = Command::new("git");
    command.stdin(Stdio::null());
    command
}

/// Git for another repository than the user's.
fn elsewhere() -> Command {
    let mut command = program();
    for own in OF_REPOSITORY {
        command.env_remove(own);
    }
    command
}

fn missing(e: std::io::Error) -> Problem {
    Problem::new(Exit::Machine, format!("cannot run git: {e}")).advice("install git, or name builds with --builds")
}

fn done(out: Output) -> Result<String, Problem> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match out.status.success() {
        true => Ok(text(&out.stdout)),
        false => Err(Problem::new(Exit::Usage, format!("git failed: {}", text(&out.stderr).trim_end()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_commit_subject_may_contain_separators_and_control_characters() {
        let line = format!("c0ffee{BETWEEN}2026-01-02T03:04:05Z{BETWEEN}a b c{BETWEEN}a {BETWEEN} \u{1b}[2J b  ");
        let found = commits(&format!("{line}\n\nno commit\n"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id.as_str(), found[0].merged.join(" ").as_str()), ("c0ffee", "b c"));
        assert_eq!(found[0].subject.as_deref(), Some("a \u{1f} \u{1b}[2J b"));
        let invisible = format!("c0ffee{BETWEEN}{BETWEEN}{BETWEEN}{}", "\u{200b}".repeat(1 << 20));
        assert_eq!(commits(&invisible)[0].subject.as_ref().map(String::len), Some(3 * SUBJECT));
    }

    proptest! {
        #[test]
        fn each_line_of_git_output_yields_at_most_one_commit(text in "[0-9a-f \u{1f}\\n\\r\\PC]{0,200}") {
            prop_assert!(commits(&text).len() <= text.lines().count());
        }
    }
}
