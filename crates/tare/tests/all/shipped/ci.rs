//! The jobs of docs/ci.md, run step by step like a runner, in repositories whose later commit is slower, faster or
//! equal. Only programs that need the network or the system are replaced: curl, apt-get, gh.

use super::documented::{succeeds, top, type_it};
use crate::support::{World, busy};

/// The commands of a job's steps, in their order.
fn steps(job: &str) -> Vec<String> {
    let lines: Vec<&str> = job.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut in_script = false;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let item = text.strip_prefix("- ");
        match text {
            "script:" => in_script = true,
            _ if in_script && item.is_none() && indent(line) <= 2 => in_script = false,
            _ => {}
        }
        let run = item.unwrap_or(text).strip_prefix("run: ");
        match run.or(item.filter(|_| in_script && indent(line) == 4)) {
            Some("|") => {
                let block = lines[at + 1..].iter().take_while(|below| indent(below) > indent(line));
                found.push(block.copied().collect::<Vec<_>>().join("\n"));
            }
            Some(command) => found.push(command.to_owned()),
            None => {}
        }
    }
    found
}

/// A repository in this directory: two commits whose `make bench` makes a program that takes so many seconds.
fn repository(world: &World, folder: &str, seconds: [&str; 2]) {
    let commits = seconds.map(|seconds| {
        format!(
            "printf 'bench:\\n\\tprintf \"\\043!/bin/sh\\\\nexec sleep {seconds}\" > bench && chmod 755 bench\\n' > Makefile
             git add Makefile && git -c user.name=me -c user.email=me@here commit --quiet --allow-empty -m '{seconds} s'"
        )
    });
    succeeds(world, &format!("mkdir -p {folder} && cd {folder} && git init --quiet && {}", commits.join("\n")), "here");
}

/// Replacements for programs and services that the jobs need and this machine does not have.
const PLAYED: &str = r#"
play() { printf '#!/bin/sh\n%s\n' "$2" > bin/$1 && chmod 755 bin/$1; }
play sudo 'exec "$@"'
play apt-get 'exit 0'
play jq 'sed "s/.*: \"\(.*\)\"}/\1/"'
play curl 'case "$*" in
    *api/projects/7/uploads) test -s ab/ab.png && echo "{\"markdown\": \"![ab](/uploads/1)\"}" ;;
    *body@comment.md*api/projects/7/merge_requests/3/notes) cat comment.md ;;
    *http://here/tare.deb*) : > tare.deb ;;
    *) exit 9 ;;
    esac'
play gh 'case "$1 $2" in
    "api -X") base64 -d picture | cmp - ab/ab.png && echo https://there/1.png ;;
    "pr comment") test "$3" = http://there/3 && cat "$5" ;;
    *) exit 9 ;;
    esac'
"#;

/// On a busy machine, with a later commit that takes twice, half, or, with a smaller budget, the same time.
#[test]
fn the_documented_ci_jobs_fail_only_if_the_new_commit_is_slower() {
    // Two: less than 0.1 s of CPU time, as of one in a trial of 0.15 s, disturbs no trial.
    let _busy = [busy(), busy()];
    let text = std::fs::read_to_string(top().join("docs/ci.md")).unwrap();
    let blocks = text.split("```yaml").skip(1).map(|block| block.split("```").next().unwrap());
    let jobs: Vec<&str> = blocks.filter(|block| block.contains("tare ab")).collect();
    assert_eq!(jobs.len(), 2);
    let slower = (["0.15", "0.3"], Some("slower than A"));
    // Job, directory of the sources, number of steps, link to the picture, and a commit that is not slower.
    for (job, folder, count, picture, other) in [
        (jobs[0], "after", 5, "(https://there/1.png?raw=true)", (["0.3", "0.15"], Some("faster than A"))),
        (jobs[1], ".", 6, "![ab](/uploads/1)", (["0.15", "0.15"], None)),
    ] {
        for (seconds, verdict) in [slower, other] {
            let world = World::new();
            succeeds(&world, "true", "here");
            succeeds(&world, PLAYED, "here");
            repository(&world, folder, seconds);
            let steps = steps(job);
            assert_eq!(steps.len(), count, "{steps:#?}");
            let (mut printed, mut failed) = (String::new(), Vec::new());
            for step in &steps {
                let step = if verdict.is_none() { step.replace("20min", "4s") } else { step.clone() };
                let set = format!(
                    "set -e; export TARE_DEB=http://here/tare.deb GITHUB_STEP_SUMMARY=summary PR=http://there/3 PICTURE=p \
                     CI_API_V4_URL=http://here/api CI_PROJECT_ID=7 CI_MERGE_REQUEST_IID=3 TARE_TOKEN=x \
                     CI_COMMIT_SHA=$(git -C {folder} rev-parse HEAD) \
                     CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git -C {folder} rev-parse HEAD^)"
                );
                let out = type_it(&world, &format!("{set}\n{step}"));
                printed += &String::from_utf8_lossy(&out.stdout);
                printed += &String::from_utf8_lossy(&out.stderr);
                if !out.status.success() {
                    failed.push(step.contains("tare ab"));
                }
            }
            let expected: &[bool] = if verdict == Some("slower than A") { &[true] } else { &[] };
            assert_eq!(failed, expected, "{printed}");
            assert!(verdict.is_none_or(|words| printed.contains(words)), "{printed}");
            assert!(printed.contains("disturbed"), "no trial is marked: {printed}");
            assert!(printed.contains(picture), "{printed}");
        }
    }
}
